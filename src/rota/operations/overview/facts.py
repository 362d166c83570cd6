"""What the overview is made of, in one look at the store. It costs as much as there is wrong, however many jobs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from rota.operations.waiting import reasons_to_wait
from rota.ports.glances import FailingRecord, HeldRecord, LateRecord, MarkRecord, MissedRecord, SilentRecord
from rota.ports.records import JobRecord, SlotRecord, WorkerRecord, instant, micros
from rota.ports.store import Transaction

LONG_WAIT = timedelta(hours=1)
_PATIENCE = timedelta(minutes=1)
_LOST_IS_SHOWN = timedelta(hours=1)
_LOOKED_AT = 1_000
_COMING = 10
_WAITING = 200


class LongWait(msgspec.Struct, frozen=True):
    """A run that has waited for long."""

    run_id: str
    job: str
    since: datetime
    why: tuple[str, ...]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in the database that the overview looks at."""

    now: datetime
    counts: tuple[int, int, int]
    """Jobs, paused ones, failing ones."""
    depths: Sequence[tuple[str, int, int]]
    slots: Sequence[SlotRecord]
    workers: Sequence[WorkerRecord]
    """Those that have not ended."""
    lost: Sequence[WorkerRecord]
    """Those that vanished a short while ago, and that others have cleaned up after."""
    next_wake: datetime | None
    coming: Sequence[JobRecord]
    late: Sequence[LateRecord]
    missed: Sequence[MissedRecord]
    missed_runs: Mapping[str, MarkRecord]
    failing: Sequence[FailingRecord]
    silent: Sequence[SilentRecord]
    held: Sequence[HeldRecord]
    waiting: Sequence[LongWait]

    @property
    def has_live_worker(self) -> bool:
        return any(instant(worker.lease_until) > self.now for worker in self.workers)


async def read_facts(tx: Transaction, now: datetime) -> Facts:
    missed = await tx.missed_jobs(most=_LOOKED_AT)
    (next_wake,) = await tx.next_wake()
    return Facts(
        now=now,
        counts=await tx.job_counts(now=micros(now)),
        depths=await tx.queue_depths(),
        slots=await tx.slots(),
        workers=await tx.live_workers(),
        lost=await tx.lost_workers(since=micros(now - _LOST_IS_SHOWN), most=_LOOKED_AT),
        next_wake=None if next_wake is None else instant(next_wake),
        coming=await tx.coming_jobs(most=_COMING),
        late=await tx.late_jobs(before=micros(now - _PATIENCE), most=_LOOKED_AT),
        missed=missed,
        missed_runs=await _marks(tx, [one.run_id for one in missed]),
        failing=await tx.failing_jobs(most=_LOOKED_AT),
        silent=await tx.silent_runs(most=_LOOKED_AT),
        held=await tx.held_runs(most=_LOOKED_AT),
        waiting=await _long_waits(tx, now),
    )


async def _marks(tx: Transaction, ids: Sequence[str]) -> dict[str, MarkRecord]:
    return {mark.id: mark for mark in await tx.marks_by_id(ids=ids)} if ids else {}


async def _long_waits(tx: Transaction, now: datetime) -> list[LongWait]:
    since = dict(await tx.long_waiting(before=micros(now - LONG_WAIT), most=_WAITING))
    if not since:
        return []
    why = await reasons_to_wait(tx, now, sorted(since))
    marks = await _marks(tx, sorted(since))
    return [
        LongWait(run_id, marks[run_id].job, instant(at), why.get(run_id, ()))
        for run_id, at in since.items()
        if run_id in marks
    ]
