"""Where the doctor's patients lie: jobs on a real store, and short ways to make them ill."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import asyncpg

from rota.core.definition import Action, CommandAction, Definition, define
from rota.core.job import Timing
from rota.core.schedule import parse_schedule
from rota.ledger.jobs import Placed, add_jobs
from rota.ledger.site import Site
from rota.operations.health.findings import Findings, Status
from rota.operations.health.jobs import Patient, patients
from rota.operations.health.state import State, read_state
from rota.operations.premises import Premises
from rota.ports.records import Origin
from rota.ports.store import Store
from rota.testing import FakeClock, SeededEntropy

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def site_of(store: Store, now: datetime = NOW) -> Site:
    return Site(store=store, clock=FakeClock(now), entropy=SeededEntropy(1), worker="wrk_1")


def job(name: str, line: str = "manual", *, action: Action | None = None, **fields: object) -> Definition:
    schedule = parse_schedule(line, now=NOW)
    zone = str(fields.pop("zone", "UTC"))
    return define(name, Timing(schedule=schedule, zone=zone), action or CommandAction(argv=("true",)), **fields)


async def save(site: Site, *definitions: Definition, file: str = "") -> None:
    origin = Origin(file=file, line=7) if file else None
    placed = [Placed(one, "home" if file else None, origin) for one in definitions]
    await site.store.write(lambda tx: add_jobs(tx, site.clock.now(), site, placed))


async def examined(site: Site) -> tuple[State, Sequence[Patient]]:
    state = await read_state(site)
    return state, patients(state.records)


async def sql(store: Store, *statements: str) -> None:
    """Change rows behind the program's back."""
    database = store.database  # type: ignore[attr-defined] # what is behind the contract
    if store.name == "sqlite":
        connection = apsw.Connection(str(database.path))
        for statement in statements:
            connection.execute(statement)
        connection.close()
        return
    server = await asyncpg.connect(database.url)
    for statement in statements:
        await server.execute(statement)
    await server.close()


def premises(folder: Path, **given: object) -> Premises:
    places = {
        "database": str(folder / "rota.db"),
        "token_file": str(folder / "token"),
        "log_folder": str(folder / "log"),
    }
    return Premises(**(places | given))  # type: ignore[arg-type]


def is_well(findings: Findings) -> bool:
    return [finding.status for finding in findings] == [Status.OK]


def only(findings: Findings, status: Status) -> str:
    """The message of the one fault, which has a cure."""
    (finding,) = findings
    assert finding.status is status, finding
    assert finding.cure
    assert finding.message.endswith(".")
    return finding.message
