"""The timeline: runs past and due times to come, a lane for each job that is worth a look."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from rota.core.job import JobState, job_status
from rota.errors import ScheduleError
from rota.ledger.site import Site
from rota.operations.foreseeing import due_times_of
from rota.operations.inputs import Few, Instant, Name
from rota.operations.views import RunMark, run_mark
from rota.ports.glances import MarkRecord
from rota.ports.records import JobRecord, first_id, job_state, micros
from rota.ports.store import Transaction

BACK, AHEAD, LONGEST = timedelta(hours=6), timedelta(hours=2), timedelta(days=14)
_RUNS, _DUE = 200, 100
# A window far ahead must not be reached one decision at a time.
_DUE_LOOKED_AT = 500
# Of the runs that began before the window, the latest may reach into it.
_REACHING = 3
_LOOKED_AT = 5_000
_RUNNING = 2_000
_FIRST = "run_0"


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """A job within the window."""

    job: str
    agent: str | None
    status: str
    runs: tuple[RunMark, ...]
    """The oldest first."""
    due: tuple[Instant, ...]
    """Due times to come."""
    is_cut: bool
    """Whether there are more runs or due times than are shown."""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The lanes within a window; what runs comes first, then what fails, then what ran last, then what is due next."""

    begin: Instant
    now: Instant
    end: Instant
    lanes: tuple[Lane, ...]
    left_out: int
    """Jobs that are asked for and not shown."""


class Window(NamedTuple):
    begin: datetime
    now: datetime
    end: datetime

    @property
    def ids(self) -> tuple[str, str]:
        """Where the ids of the runs that were put on record within it begin and end."""
        return first_id(self.begin), first_id(self.end)


class _Wanted(NamedTuple):
    agent: str | None
    contains: str | None
    most: int


class _Seen(NamedTuple):
    """What a look at the store has found."""

    total: int
    records: Sequence[JobRecord]
    marks: Mapping[str, Sequence[MarkRecord]]


class Worth(msgspec.Struct, kw_only=True):
    """Why a job is worth a look."""

    job_id: str
    is_running: bool = False
    is_failing: bool = False
    last_run: str = ""
    next_at: int | None = None


async def show_timeline(
    site: Site,
    *,
    begin: Instant | None = None,
    end: Instant | None = None,
    agent: Name | None = None,
    contains: Name | None = None,
    lanes: Few = 30,
) -> Timeline:
    """Runs past and due times to come, a lane for each job that is worth a look.

    Without a window it is from 6 hours ago to 2 hours ahead; it is never longer than 14 days.
    """
    window = window_of(site.clock.now(), begin, end)
    wanted = _Wanted(agent, contains.lower() if contains else None, lanes)

    async def body(tx: Transaction) -> _Seen:
        (total,) = await tx.lane_count(agent=wanted.agent, contains=wanted.contains)
        # Jobs that ran and are gone are among them, and take nobody's place.
        worth = [one.job_id for one in in_order(await _worth(tx, window, wanted))[: 2 * lanes]]
        found = {record.id: record for record in (await tx.jobs_by_id(ids=worth) if worth else ())}
        records = [found[job_id] for job_id in worth if job_id in found][:lanes]
        return _Seen(total, records, await _marks(tx, window, [record.id for record in records]))

    seen = await site.store.read(body)
    # Nobody else reads a file of SQLite during a read, and the loop has others to serve.
    return await asyncio.to_thread(_timeline, window, seen)


def window_of(now: datetime, begin: datetime | None, end: datetime | None) -> Window:
    """The stretch of time that is meant; what is not given follows from the other end, or from now."""
    first = begin or (now - BACK if end is None or end > now - BACK else end - BACK - AHEAD)
    last = end or min(max(now, first) + AHEAD, first + LONGEST)
    if first >= last:
        example = (first + BACK).isoformat(timespec="minutes")
        raise ScheduleError(field="end", value=last.isoformat(), expected="a time after begin", example=example)
    if last - first > LONGEST:
        example = (first + LONGEST).isoformat(timespec="minutes")
        raise ScheduleError(
            field="end", value=last.isoformat(), expected="at most 14 days after begin", example=example
        )
    return Window(first.astimezone(UTC), now, last.astimezone(UTC))


async def _worth(tx: Transaction, window: Window, wanted: _Wanted) -> list[Worth]:
    """Jobs that could be worth a look, each found by what makes it so, and never all there are."""
    found: dict[str, Worth] = {}
    asked = wanted._asdict()
    ids = [run_id for lease in await tx.leases() for run_id in msgspec.json.decode(lease.run_ids, type=list[str])]
    for job_id, run_id in await tx.running_lanes(ids=ids[-_RUNNING:], **asked) if ids else ():
        found[job_id] = Worth(job_id=job_id, is_running=True, last_run=run_id)
    for job_id, _ in await tx.failing_lanes(**asked):
        _of(found, job_id).is_failing = True
    since, before = window.ids
    for job_id, run_id in await tx.busy_lanes(since=since, before=before, looked_at=_LOOKED_AT, **asked):
        worth = _of(found, job_id)
        worth.last_run = max(worth.last_run, run_id)
    for job_id, at in await tx.coming_lanes(before=micros(window.end), **asked):
        _of(found, job_id).next_at = at
    for (job_id,) in await tx.named_lanes(**asked):
        _of(found, job_id)
    return list(found.values())


def _of(found: dict[str, Worth], job_id: str) -> Worth:
    return found.setdefault(job_id, Worth(job_id=job_id))


def in_order(found: Iterable[Worth]) -> list[Worth]:
    """What runs, then what fails, then what ran last, then what is due next."""
    by_next = sorted(found, key=lambda one: (one.next_at is None, one.next_at or 0, one.job_id))
    by_last = sorted(by_next, key=lambda one: one.last_run, reverse=True)
    return sorted(by_last, key=lambda one: (not one.is_running, not one.is_failing))


async def _marks(tx: Transaction, window: Window, ids: Sequence[str]) -> dict[str, list[MarkRecord]]:
    """The runs of each job, the latest first, with one more than are shown."""
    if not ids:
        return {}
    since, before = window.ids
    found = await tx.latest_marks(ids=ids, since=since, before=before, most=_RUNS + 1)
    earlier = await tx.latest_marks(ids=ids, since=_FIRST, before=since, most=_REACHING)
    marks: dict[str, list[MarkRecord]] = {}
    for mark in (*found, *(one for one in earlier if _reaches(one, window))):
        marks.setdefault(mark.job_id, []).append(mark)
    return marks


def _reaches(mark: MarkRecord, window: Window) -> bool:
    return mark.ended_at is None or mark.ended_at > micros(window.begin)


def _timeline(window: Window, seen: _Seen) -> Timeline:
    lanes = tuple(_lane(window, record, seen.marks.get(record.id, ())) for record in seen.records)
    left_out = max(0, seen.total - len(lanes))
    return Timeline(begin=window.begin, now=window.now, end=window.end, lanes=lanes, left_out=left_out)


def _lane(window: Window, record: JobRecord, marks: Sequence[MarkRecord]) -> Lane:
    state = job_state(record)
    due, is_cut = _due(window, state)
    return Lane(
        job=record.name,
        agent=record.agent,
        status=job_status(window.now, state).value,
        runs=tuple(run_mark(mark) for mark in reversed(marks[:_RUNS])),
        due=due,
        is_cut=is_cut or len(marks) > _RUNS,
    )


def _due(window: Window, state: JobState) -> tuple[tuple[datetime, ...], bool]:
    """The due times to come within the window, and whether there may be more than are looked at."""
    due: list[datetime] = []
    times = due_times_of(window.now, state, begin=window.begin) if window.end >= window.now else ()
    for looked_at, at in enumerate(times):
        if at > window.end:
            break
        if len(due) == _DUE or looked_at == _DUE_LOOKED_AT:
            return tuple(due), True
        if at >= window.begin:
            due.append(at)
    return tuple(due), False
