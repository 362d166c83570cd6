"""Why a run still waits, a sentence each."""

from __future__ import annotations

from datetime import datetime

from rota.core.run import Cause, RunState
from rota.ledger.site import Site
from rota.ports.records import JobRecord, RunRecord, SlotRecord, WaitingRecord, instant, micros
from rota.ports.store import Transaction


async def waits_for(site: Site, run: RunRecord) -> tuple[str, ...]:
    """What keeps a queued run from starting; nothing for one that does not wait."""
    now = site.clock.now()

    async def body(tx: Transaction) -> tuple[str, ...]:
        rows = await tx.queue_of_runs(ids=[run.id])
        jobs = await tx.jobs_by_id(ids=[run.job_id])
        if not rows or not jobs:
            return ()
        reasons = (*_of_job(now, rows[0], jobs[0]), *_of_limits(rows[0], await tx.slots()))
        if not await tx.live_workers():
            return (*reasons, "no worker is there to do it. Start one: rota up")
        return reasons

    return await site.store.read(body)


def _of_job(now: datetime, row: WaitingRecord, job: JobRecord) -> tuple[str, ...]:
    reasons = []
    if row.is_held:
        reasons.append("held: it waits to be approved")
    if row.start_after > micros(now):
        reasons.append(f"not before {instant(row.start_after).isoformat(timespec='seconds')}")
    if job.live_state == RunState.RUNNING and not row.may_overlap:
        reasons.append(f"already_running: {job.live_run} of the same job is under way")
    if row.cause != Cause.MANUAL and job.paused_until is not None and job.paused_until > micros(now):
        reasons.append("paused: the job is")
    return tuple(reasons)


def _of_limits(row: WaitingRecord, slots: list[SlotRecord]) -> tuple[str, ...]:
    mine = {("pool", row.pool), ("agent", row.agent), ("key", row.concurrency_key), ("all", "")}
    full = [slot for slot in slots if (slot.scope, slot.name) in mine and slot.size is not None]
    return tuple(
        f"at_capacity: {slot.used} of {slot.size} runs of {_name(slot)} are under way"
        for slot in full
        if slot.size is not None and slot.used >= slot.size
    )


def _name(slot: SlotRecord) -> str:
    return "all jobs together" if slot.scope == "all" else f"the {slot.scope} {slot.name}"
