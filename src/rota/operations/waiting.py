"""Why a run still waits, a sentence each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rota.core.run import Cause, RunState
from rota.ledger.site import Site
from rota.ports.records import JobRecord, RunRecord, SlotRecord, WaitingRecord, instant, micros
from rota.ports.store import Transaction


async def waits_for(site: Site, run: RunRecord) -> tuple[str, ...]:
    """What keeps a queued run from starting; nothing for one that does not wait."""
    now = site.clock.now()
    found = await site.store.read(lambda tx: reasons_to_wait(tx, now, [run.id]))
    return found.get(run.id, ())


async def reasons_to_wait(tx: Transaction, now: datetime, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What keeps each of these runs from starting, by their ids; those that do not wait are left out."""
    rows = await tx.queue_of_runs(ids=run_ids)
    jobs = {job.id: job for job in await tx.jobs_by_id(ids=sorted({row.job_id for row in rows}))} if rows else {}
    if not jobs:
        return {}
    slots = await tx.slots()
    of_all = () if await tx.live_workers() else ("no worker is there to do it. Start one: rota up",)
    return {
        row.run_id: (*_of_job(now, row, jobs[row.job_id]), *_of_limits(row, slots), *of_all)
        for row in rows
        if row.job_id in jobs
    }


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
