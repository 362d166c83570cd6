"""Jobs for the tests of the engine, and short ways to see what became of them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from rota.core.definition import CommandAction, Definition, define
from rota.core.job import Timing
from rota.core.run import RunState
from rota.core.schedule import parse_schedule
from rota.core.settlement import Outcome
from rota.ledger.jobs import Edit, Placed, add_jobs, edit_jobs
from rota.operations import jobs
from rota.ports.records import JobRecord, RunRecord, instant
from rota.testing import HandCranked

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
OK = Outcome(state=RunState.SUCCEEDED)
FAILED = Outcome(state=RunState.FAILED, reason="exit", error="exit code 1", exit_code=1)


def job(name: str, line: str = "every 5m", *, timing: dict[str, object] | None = None, **fields: object) -> Definition:
    """A definition by its schedule as one line; fields of the timing apart."""
    schedule = parse_schedule(line, now=datetime.fromisoformat("2026-03-02T10:00+00:00"))
    return define(name, Timing(schedule=schedule, **(timing or {})), CommandAction(argv=("true",)), **fields)


async def save(hand: HandCranked, *definitions: Definition, slots: int = 100) -> None:
    new = [Placed(one) for one in definitions]
    await hand.site.store.write(lambda tx: add_jobs(tx, hand.clock.now(), hand.site, new))
    for pool in {definition.pool for definition in definitions}:
        await hand.site.store.write(lambda tx, pool=pool: tx.size_slot(scope="pool", name=pool, size=slots))


async def runs_of(hand: HandCranked, name: str) -> list[RunRecord]:
    """The runs of a job, oldest first."""
    record = await record_of(hand, name)
    found = await hand.site.store.read(lambda tx: tx.runs_of_job(job_id=record.id, before="run_z", most=10_000))
    return found[::-1]


async def record_of(hand: HandCranked, name: str) -> JobRecord:
    return await jobs.find_job(hand.site, name)


async def change_definition(hand: HandCranked, name: str, definition: Definition) -> None:
    edit = Edit(await record_of(hand, name), Placed(definition))
    await hand.site.store.write(lambda tx: edit_jobs(tx, hand.clock.now(), hand.site, [edit]))


async def states(hand: HandCranked, name: str) -> Counter[str]:
    return Counter(run.state if not run.reason else f"{run.state}: {run.reason}" for run in await runs_of(hand, name))


def clocks(runs: list[RunRecord]) -> list[str]:
    """When runs were due, on the clock."""
    return [f"{instant(run.due_at):%H:%M}" for run in runs if run.due_at is not None]


async def used_slots(hand: HandCranked) -> int:
    return sum(slot.used for slot in await hand.site.store.read(lambda tx: tx.slots()))
