"""The whole examination, on every database."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from rota.app import system_now
from rota.core.definition import CommandAction
from rota.operations.health import state
from rota.operations.health.doctor import Examination, Status, check_up
from rota.operations.health.findings import found, named, warning
from rota.operations.health.jobs import Patient
from rota.operations.health.state import State
from rota.ports.store import Store
from rota.testing import HandCranked
from tests.operations.ward import job, premises, save, site_of, sql

pytestmark = pytest.mark.anyio

CHECKS = {
    *("clock", "database_version", "tables", "damage", "contradictions", "file_modes", "disk", "port"),
    *("zone_data", "environment", "zones", "parents", "folders", "programs", "python", "secrets", "fleet_files"),
    *("workers", "dead_workers", "overdue", "long_runs", "queue", "failing_jobs", "agents", "pools"),
}


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    for name in [name for name in os.environ if name.startswith("ROTA_")]:
        monkeypatch.delenv(name)


async def test_everything_is_looked_at_and_nothing_is_wrong_with_a_healthy_rota(store: Store, tmp_path: Path) -> None:
    site = site_of(store, system_now())
    await save(site, job("hello", "every 5m first after"))
    hand = HandCranked(store, site.clock)  # type: ignore[arg-type] # it is a fake one
    await hand.open()
    examination = await check_up(site, premises=premises(tmp_path, port=0))
    unwell = [finding for finding in examination.findings if finding.status is not Status.OK]
    assert [finding for finding in unwell if finding.check != "disk"] == []
    assert {finding.check for finding in examination.findings} == CHECKS


async def test_faults_are_found_together(store: Store, tmp_path: Path) -> None:
    site = site_of(store, system_now())
    await save(site, job("lost", "every 5m", action=CommandAction(argv=("no-such-program",))))
    await sql(store, "INSERT INTO slots VALUES ('pool', 'ghost', 1, 3)")
    (tmp_path / "token").touch()
    (tmp_path / "token").chmod(0o644)
    examination = await check_up(site, premises=premises(tmp_path, port=0))
    unwell = {one.check: one.status for one in examination.findings if one.status is not Status.OK}
    unwell.pop("disk", None)
    assert unwell == {
        "contradictions": Status.FAILURE,
        "file_modes": Status.FAILURE,
        "programs": Status.WARNING,
        "workers": Status.FAILURE,
    }


async def test_an_examination_can_be_sent(store: Store, tmp_path: Path) -> None:
    examination = await check_up(site_of(store, system_now()), premises=premises(tmp_path, port=0))
    assert msgspec.json.decode(msgspec.json.encode(examination), type=Examination) == examination


async def test_the_rest_is_looked_at_when_one_check_stumbles(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(state: State, jobs: list[Patient]) -> None:  # noqa: ARG001
        raise RuntimeError("the lamp went out")

    monkeypatch.setattr(state, "check_workers", stumble)
    examination = await check_up(site_of(store, system_now()), premises=premises(tmp_path, port=0))
    (stumbled,) = [one for one in examination.findings if one.check == "workers"]
    assert (stumbled.status, stumbled.message) == (
        Status.FAILURE,
        "This could not be looked at: RuntimeError: the lamp went out.",
    )
    assert "pools" in {one.check for one in examination.findings}


async def test_a_database_without_jobs_is_told_and_the_machine_is_looked_at_all_the_same(
    store: Store, tmp_path: Path
) -> None:
    await sql(store, "DROP TABLE jobs")
    examination = await check_up(site_of(store, system_now()), premises=premises(tmp_path, port=0))
    failed = {one.check for one in examination.findings if one.status is Status.FAILURE}
    assert {"tables", "state"} <= failed
    assert "file_modes" in {one.check for one in examination.findings}


def test_many_faults_of_one_kind_are_cut_and_counted() -> None:
    many = [warning("x", f"{number}.", "Do it.") for number in range(14)]
    shown = found("x", many, well="")
    assert len(shown) == 11
    assert shown[-1].message == "4 more like these."
    assert named(["a", "b", "a"]) == "a, b"
    assert named("abcde") == "a, b, c and 2 more"
