"""Backfill: the due times of a stretch of the past are run after all, those that ran already left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from rota.core.duration import format_duration
from rota.core.job import Timing
from rota.core.quiet import quiet_end
from rota.core.run import Cause, RunState
from rota.core.schedule import Every, Once, Wall, due_times, once_instant, stagger_offset
from rota.errors import ConflictError, ScheduleError
from rota.ledger.events import inserted, tell
from rota.ledger.plans import hold_one
from rota.ledger.rows import queue_row, run_row
from rota.ledger.site import Site
from rota.operations.auditing import Change, put_on_record
from rota.operations.inputs import Instant, Name, PerMinute
from rota.operations.jobs import find_job
from rota.operations.views import Page, RunView, run_view
from rota.ports.records import JobRecord, definition_of, instant, micros
from rota.ports.store import Transaction

MOST = 10_000
PER_MINUTE = 60
# A due time that came to nothing, or that somebody ended, is open to be run after all.
_OPEN = frozenset({RunState.MISSED, RunState.SKIPPED, RunState.CANCELLED})


class BackfillPreview(msgspec.Struct, frozen=True, kw_only=True):
    """How many due times a stretch has, and how many of them are left to run."""

    job: str
    begin: Instant
    end: Instant
    due: int
    already_ran: int
    to_run: int
    first: Instant | None
    last: Instant | None
    takes: str
    """How long the starts are spread over, such as ``5m``."""


class Backfill(BackfillPreview, frozen=True, kw_only=True):
    run_ids: tuple[str, ...]


class _Range(msgspec.Struct, frozen=True):
    due: tuple[datetime, ...]
    left: tuple[datetime, ...]


async def preview_backfill(
    site: Site, *, job: Name, begin: Instant, end: Instant, per_minute: PerMinute = PER_MINUTE
) -> BackfillPreview:
    """Count what a backfill would run. ``begin`` belongs to the stretch, ``end`` does not."""
    record = await find_job(site, job)
    found = await site.store.read(lambda tx: _range(tx, site, record, begin, end))
    return BackfillPreview(**_fields(record, begin, end, found, per_minute))  # type: ignore[arg-type]


async def start_backfill(
    site: Site, *, job: Name, begin: Instant, end: Instant, per_minute: PerMinute = PER_MINUTE
) -> Backfill:
    """Ask for a run of each due time in a stretch that has not run. They wait behind all other work."""
    record, now = await find_job(site, job), site.clock.now()

    async def body(tx: Transaction) -> Backfill:
        held = await hold_one(tx, record.id)
        _refuse_proposed(held)
        found = await _range(tx, site, held, begin, end)
        ids = tuple(site.entropy.ids("run", now, len(found.left)))
        await _enqueue(tx, now, site, held, tuple(zip(ids, found.left, strict=True)), per_minute)
        fields = _fields(held, begin, end, found, per_minute)
        after = {"from": begin, "to": end, "runs": len(ids)}
        change = Change(
            operation="backfill.start", subject=held.name, event="backfill.started", after=after, job=held.name
        )
        await put_on_record(tx, now, site, change)
        return Backfill(**fields, run_ids=ids)  # type: ignore[arg-type]

    return await site.store.write(body)


def _refuse_proposed(record: JobRecord) -> None:
    """Whoever may propose must not have it run before somebody who may accept has looked at it."""
    if record.is_proposed:
        raise ConflictError(f"{record.name} is only proposed. Accept it: rota job accept {record.name}")


async def backfill_progress(site: Site, run_ids: Sequence[str]) -> Page[RunView]:
    """Where the runs of a backfill stand."""
    rows = await site.store.read(lambda tx: tx.runs_by_id(ids=run_ids))
    return Page(tuple(run_view(row) for row in rows))


async def _enqueue(
    tx: Transaction,
    now: datetime,
    site: Site,
    record: JobRecord,
    wanted: Sequence[tuple[str, datetime]],
    per_minute: int,
) -> None:
    if not wanted:
        return
    gap = timedelta(minutes=1) / per_minute
    starts = [now + gap * index for index in range(len(wanted))]
    rows = [
        run_row(
            run_id,
            record,
            now=now,
            cause=Cause.BACKFILL,
            due_at=micros(at),
            start_after=micros(start),
            trace_id=site.entropy.hex(32),
        )
        for (run_id, at), start in zip(wanted, starts, strict=True)
    ]
    await tx.insert_runs(new=rows)
    await tx.enqueue(
        new=[
            queue_row(run_id, record, cause=Cause.BACKFILL, start_after=start)
            for (run_id, _), start in zip(wanted, starts, strict=True)
        ]
    )
    await tell(tx, now, site, inserted(rows))
    await tx.ring()


async def _range(tx: Transaction, site: Site, record: JobRecord, begin: datetime, end: datetime) -> _Range:
    if end <= begin:
        raise ScheduleError(
            field="end", value=end.isoformat(), expected="a time after the begin", example="2026-12-01T09:00"
        )
    if end > site.clock.now():
        raise ScheduleError(
            field="end", value=end.isoformat(), expected="a time that has passed", example="2026-11-01T00:00"
        )
    due = _due_times(record, begin, end)
    ran = {
        instant(run.due_at)
        for run in await tx.runs_due(job_id=record.id, begin=micros(begin), end=micros(end))
        if run.due_at is not None and run.state not in _OPEN
    }
    return _Range(due, tuple(at for at in due if at not in ran))


def _due_times(record: JobRecord, begin: datetime, end: datetime) -> tuple[datetime, ...]:
    definition = definition_of(record.definition)
    due: list[datetime] = []
    for at in _all_due(definition.timing, record.name, begin):
        if at >= end:
            break
        if len(due) == MOST:
            raise ConflictError(f"More than {MOST} due times lie between {begin} and {end}. Take a shorter stretch.")
        if at >= begin and quiet_end(at, definition.timing.quiet, definition.timing.zone) is None:
            due.append(at)
    return tuple(due)


def _all_due(timing: Timing, name: str, begin: datetime) -> Iterator[datetime]:
    match timing.schedule:
        case Once():
            return iter((once_instant(timing.schedule, timing.zone),))
        case schedule if isinstance(schedule, Wall):
            offset = stagger_offset(name, timing.stagger) if timing.stagger else timedelta()
            before = begin - offset - timedelta(microseconds=1)
            return (at + offset for at in due_times(schedule, before, timing.zone))
        case Every():
            raise ConflictError(
                f"{name} is an interval: it counts from the run before, so it has no due times in the past. "
                f"Run it now: rota job run {name}"
            )
        case _:
            raise ConflictError(f"{name} has no due times of its own, so there is nothing to backfill.")


def _in_words(wait: timedelta) -> str:
    seconds = timedelta(seconds=1)
    return format_duration(wait // seconds * seconds) if wait >= seconds else "0s"


def _fields(record: JobRecord, begin: datetime, end: datetime, found: _Range, per_minute: int) -> dict[str, object]:
    return {
        "job": record.name,
        "begin": begin,
        "end": end,
        "due": len(found.due),
        "already_ran": len(found.due) - len(found.left),
        "to_run": len(found.left),
        "first": found.left[0] if found.left else None,
        "last": found.left[-1] if found.left else None,
        "takes": _in_words(timedelta(minutes=1) / per_minute * max(0, len(found.left) - 1)),
    }
