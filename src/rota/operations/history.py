"""The history of a job: its latest runs, how long they take, and the years before and after now, day by day."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from math import ceil
from statistics import median
from typing import NamedTuple

import msgspec

from rota.core.run import FAILURES, RunState
from rota.ledger.site import Site
from rota.operations.inputs import Instant, Name
from rota.operations.jobs import find_job
from rota.operations.planned import PlannedDay, day_begins, day_of, planned_days
from rota.operations.views import RunMark, run_mark
from rota.ports.glances import MarkRecord
from rota.ports.records import JobRecord, definition_of, first_id, job_state
from rota.ports.store import Transaction

_RUNS, _DAYS = 100, 365
_FIRST, _LAST = "run_0", "run_z"
_SLOW = 0.95
_SECOND = 1e6


class DayTally(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the runs that were put on record on a day, those that are no longer kept included."""

    day: str
    succeeded: int = 0
    failed: int = 0
    """Failures of every kind."""
    skipped: int = 0
    missed: int = 0
    cancelled: int = 0
    seconds: float = 0.0
    """How long they took together."""


class JobHistory(msgspec.Struct, frozen=True, kw_only=True):
    job: str
    runs: tuple[RunMark, ...]
    """The latest 100, the newest first."""
    typical: float | None
    """Seconds that a success among them takes: half take longer."""
    slow: float | None
    """Seconds that one in twenty of them exceeds."""
    days: tuple[DayTally, ...]
    """The past year on the clock of the job's zone; only days with something."""
    planned: tuple[PlannedDay, ...]
    """The coming year, as things stand; only days with a due time."""
    planned_until: Instant
    """How far was looked: a job that is due very often is not looked at to the end."""


class Alike(NamedTuple):
    """Runs of one day that ended alike."""

    day: str
    state: str
    runs: int
    seconds: float


class _Seen(NamedTuple):
    marks: Sequence[MarkRecord]
    counts: Sequence[Alike]


async def show_history(site: Site, *, job: Name) -> JobHistory:
    """The latest runs of a job, how long they take, and the days of the past and the coming year."""
    record, now = await find_job(site, job), site.clock.now()
    zone = definition_of(record.definition).timing.zone
    days = past_days(day_of(now, zone))
    spans = [
        (day.isoformat(), first_id(day_begins(day, zone)), first_id(day_begins(day + timedelta(days=1), zone)))
        for day in days
    ]

    async def body(tx: Transaction) -> _Seen:
        marks = await tx.latest_marks(ids=[record.id], since=_FIRST, before=_LAST, most=_RUNS)
        kept = await tx.runs_by_day(job_id=record.id, span=spans)
        gone = await tx.tallies_of(job_id=record.id, since=spans[0][0])
        counts = [Alike(day, state, count, max(0, length) / _SECOND) for day, state, count, length in kept]
        return _Seen(marks, [*counts, *(Alike(*row) for row in gone)])

    seen = await site.store.read(body)
    return await asyncio.to_thread(_history, now, record, seen)


def past_days(today: date) -> list[date]:
    return [today - timedelta(days=back) for back in range(_DAYS - 1, -1, -1)]


def _history(now: datetime, record: JobRecord, seen: _Seen) -> JobHistory:
    planned = planned_days(now, job_state(record))
    typical, slow = lengths_of(seen.marks)
    return JobHistory(
        job=record.name,
        runs=tuple(run_mark(mark) for mark in seen.marks),
        typical=typical,
        slow=slow,
        days=tallied(seen.counts),
        planned=planned.days,
        planned_until=planned.until,
    )


def lengths_of(marks: Iterable[MarkRecord]) -> tuple[float | None, float | None]:
    """The seconds that half of the successes take at most, and those that 95 of 100 do."""
    lengths = sorted(
        max(0, mark.ended_at - mark.started_at) / _SECOND
        for mark in marks
        if mark.state == RunState.SUCCEEDED and mark.started_at is not None and mark.ended_at is not None
    )
    return (median(lengths), lengths[ceil(_SLOW * len(lengths)) - 1]) if lengths else (None, None)


def tallied(counts: Iterable[Alike]) -> tuple[DayTally, ...]:
    """Days in order, each with what became of its runs."""
    days: dict[str, dict[str, float]] = {}
    for one in counts:
        day = days.setdefault(one.day, {})
        word = "failed" if one.state in FAILURES else one.state
        day[word] = day.get(word, 0) + one.runs
        day["seconds"] = day.get("seconds", 0.0) + one.seconds
    return tuple(DayTally(day=day, **sums) for day, sums in sorted(days.items()))  # type: ignore[arg-type] # counts are whole
