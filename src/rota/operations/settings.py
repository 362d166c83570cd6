"""Settings: how a Rota is set up, and where each setting comes from. Here one only looks at them."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import unquote, urlsplit

import msgspec

import rota
from rota.core.duration import format_duration
from rota.ledger.site import Settings, Site
from rota.operations.inputs import Instant
from rota.operations.limits import LimitView, list_limits
from rota.operations.premises import Premises
from rota.operations.tokens import list_tokens
from rota.ports.records import AgentRecord, FleetRecord, instant
from rota.ports.store import Transaction

DEFAULT = "default"


class SettingView(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of the engine. ``origin`` is ``default``, the name of the fleet file, or ``environment`` and a name."""

    name: str
    value: str | int | None
    default: str | int | None
    origin: str


class FleetFileView(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet file as it was last applied, and what there is of it now."""

    name: str
    file: str
    description: str
    timezone: str
    checksum: str
    applied_at: Instant
    jobs: int
    agents: int


class SettingsView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one may have set, here or elsewhere."""

    version: str
    database: str
    """Without the password."""
    store: str
    settings: tuple[SettingView, ...]
    fleets: tuple[FleetFileView, ...]
    limits: tuple[LimitView, ...]
    tokens: int
    """How many tokens are valid."""


async def show_settings(site: Site, *, premises: Premises) -> SettingsView:
    """The settings of the engine and where each comes from, the fleet files that were applied, and the limits."""

    async def body(tx: Transaction) -> tuple[list[FleetRecord], list[AgentRecord], dict[str, int]]:
        return await tx.fleets(), await tx.agents(), dict(await tx.jobs_by_fleet())

    fleets, agents, jobs = await site.store.read(body)
    return SettingsView(
        version=rota.__version__,
        database=without_password(premises.database),
        store=site.store.name,
        settings=_settings(site.settings, premises),
        fleets=tuple(_fleet(fleet, agents, jobs) for fleet in fleets),
        limits=(await list_limits(site)).items,
        tokens=sum(token.is_valid for token in (await list_tokens(site)).items),
    )


def without_password(database: str) -> str:
    """Where the store is, as anybody may know it."""
    if "://" not in database:
        return database
    hidden = database.partition("://")[0] + "://…"
    try:
        parts = urlsplit(database)
    except ValueError:
        return hidden
    who, at, place = parts.netloc.rpartition("@")
    # A sign that should have been encoded ends the host early: then a part of the password lies elsewhere.
    if parts.fragment or (not at and "@" in parts.path + parts.query):
        return hidden
    query = "&".join(pair for pair in parts.query.split("&") if not _is_secret(pair))
    return f"{parts.scheme}://{who.partition(':')[0]}{at}{place}{parts.path}" + (f"?{query}" if query else "")


def _is_secret(pair: str) -> bool:
    """PostgreSQL also takes ``password`` and ``sslpassword`` behind the question mark."""
    return "pass" in unquote(pair.partition("=")[0]).lower()


def _settings(settings: Settings, premises: Premises) -> tuple[SettingView, ...]:
    defaults = Settings()
    return tuple(
        SettingView(
            name=name,
            value=_shown(getattr(settings, name)),
            default=_shown(getattr(defaults, name)),
            origin=premises.origins.get(name, DEFAULT),
        )
        for name in Settings.__struct_fields__
    )


def _shown(value: timedelta | int | None) -> str | int | None:
    return format_duration(value) if isinstance(value, timedelta) else value


def _fleet(fleet: FleetRecord, agents: list[AgentRecord], jobs: dict[str, int]) -> FleetFileView:
    return FleetFileView(
        name=fleet.name,
        file=fleet.file,
        description=fleet.description,
        timezone=fleet.timezone,
        checksum=fleet.checksum,
        applied_at=instant(fleet.applied_at),
        jobs=jobs.get(fleet.name, 0),
        agents=sum(agent.fleet == fleet.name for agent in agents),
    )
