"""How a Rota is set up, and where each setting comes from."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from rota.ledger.site import Settings, Site, setting_origins, settings_from
from rota.operations import fleets, limits, tokens
from rota.operations.fleets import FleetText
from rota.operations.settings import SettingView, show_settings, without_password
from rota.ports.caller import Role
from tests.operations.ward import premises

pytestmark = pytest.mark.anyio

FLEET = """\
fleet: {name: home, description: At home, timezone: Europe/Berlin}
engine: {poll: 10s, drain: 5s}
pools: {gpu: 2}
agents:
  coder:
    command: ["true"]
    schedules:
      nightly: {cron: "0 3 * * *"}
jobs:
  hello: {every: 5m, command: ["true"]}
"""
ENVIRONMENT = {"ROTA_DRAIN": "1m", "ROTA_MAX_CONCURRENT": "9", "ROTA_DB": "elsewhere", "HOME": "/root"}


async def test_every_setting_has_its_value_its_default_and_its_origin(site: Site, tmp_path: Path) -> None:
    given = {"poll": timedelta(seconds=10), "drain": timedelta(seconds=5)}
    here = msgspec.structs.replace(site, settings=settings_from(ENVIRONMENT, given))
    origins = setting_origins(ENVIRONMENT, given, "rota.yaml")
    found = await show_settings(here, premises=premises(tmp_path, origins=origins))
    by_name = {one.name: one for one in found.settings}
    assert tuple(by_name) == Settings.__struct_fields__
    assert by_name["poll"] == SettingView(name="poll", value="10s", default="30s", origin="rota.yaml")
    assert by_name["drain"] == SettingView(name="drain", value="1m", default="30s", origin="environment ROTA_DRAIN")
    assert by_name["max_concurrent"] == SettingView(
        name="max_concurrent", value=9, default=None, origin="environment ROTA_MAX_CONCURRENT"
    )
    assert by_name["scan"] == SettingView(name="scan", value="5s", default="5s", origin="default")
    assert {one.origin for one in found.settings if one.value == one.default} == {"default"}


async def test_fleets_limits_and_tokens_are_counted(site: Site, tmp_path: Path) -> None:
    await fleets.apply_file(site, source=FleetText(text=FLEET, file="/srv/rota.yaml", timezone="UTC"))
    await limits.set_limit(site, name="local", size=4)
    made = [await tokens.create_token(site, name=name, role=Role.READ) for name in ("a", "b")]
    await tokens.revoke_token(site, token=made[0].id)
    found = await show_settings(site, premises=premises(tmp_path))
    (fleet,) = found.fleets
    assert (fleet.name, fleet.file, fleet.description, fleet.timezone) == (
        *("home", "/srv/rota.yaml", "At home", "Europe/Berlin"),
    )
    assert (fleet.jobs, fleet.agents, fleet.applied_at) == (2, 1, site.clock.now())
    assert {(one.scope, one.name): one.size for one in found.limits}["pool", "gpu"] == 2
    assert (found.tokens, found.store) == (1, site.store.name)
    assert found.database == str(tmp_path / "rota.db")


@pytest.mark.parametrize(
    ("database", "shown"),
    [
        ("/srv/rota.db", "/srv/rota.db"),
        ("a@b:c.db", "a@b:c.db"),
        ("postgresql://rota@db/rota", "postgresql://rota@db/rota"),
        ("postgresql://rota:secret@db:5432/rota", "postgresql://rota@db:5432/rota"),
        ("postgres://rota:se:cr@et@db/rota?sslmode=require", "postgres://rota@db/rota?sslmode=require"),
        ("postgresql://:secret@/rota?host=/run/pg", "postgresql://@/rota?host=/run/pg"),
        ("postgresql://db/rota?user=rota&password=secret", "postgresql://db/rota?user=rota"),
        ("postgresql://db/rota?password=secret&user=rota&sslpassword=secret", "postgresql://db/rota?user=rota"),
        ("postgresql://db/rota?p%61ssword=secret", "postgresql://db/rota"),
        ("postgresql://a:secret@one:1,two:2/rota", "postgresql://a@one:1,two:2/rota"),
        ("postgresql://a:secret@[::1/rota", "postgresql://…"),
        ("postgresql://a:se#secret@db/rota", "postgresql://…"),
        ("postgresql://a:se/secret@db/rota", "postgresql://…"),
        ("postgresql://a:se?secret@db/rota", "postgresql://…"),
    ],
)
def test_a_password_is_never_shown(database: str, shown: str) -> None:
    assert without_password(database) == shown
    assert "secret" not in without_password(database)
