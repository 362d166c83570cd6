"""Claim: waiting runs that find free slots become running, with a lease and a token, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from rota.core.run import Cause, RunState
from rota.ledger.claimed import ClaimedRun, starts_at_claim
from rota.ledger.events import started, tell
from rota.ledger.limits import Limits, take_slots
from rota.ledger.plans import ends_plainly, hold_free
from rota.ledger.site import Site
from rota.ports.records import (
    JobRecord,
    RunRecord,
    WaitingRecord,
    definition_of,
    encode,
    instant_or_none,
    last_completed_at,
    micros,
)
from rota.ports.store import Transaction

_MOMENT = timedelta(milliseconds=20)


class ClaimPass(NamedTuple):
    """The runs that this worker starts, and when the next waiting one may begin."""

    started: tuple[ClaimedRun, ...]
    next_start: datetime | None


class _Look(NamedTuple):
    rows: Sequence[WaitingRecord]
    is_cut_short: bool


async def claim_waiting(tx: Transaction, now: datetime, site: Site, *, workers: int = 1) -> ClaimPass:
    """Take as many waiting runs as there are free slots, and of each pool no more than a fair share."""
    looks = [await _look(tx, now, pool, site) for (pool,) in await tx.queued_pools()]
    seen = [row for look in looks for row in look.rows]
    # A plan that somebody else holds is about to change; its runs are looked at again in a moment.
    jobs = await hold_free(tx, (row.job_id for row in seen)) if seen else {}
    limits = Limits(await tx.lock_slots() if jobs else (), workers=workers)
    chosen = _choose(now, seen, jobs, limits, site)
    started = await _start(tx, now, chosen, jobs, limits, site) if chosen else ()
    if chosen and any(look.is_cut_short for look in looks):
        # The first of a crowd may block all others that were looked at; those behind them are still to be seen.
        return ClaimPass(started, now)
    has_left_some = workers > 1 and 0 < len(chosen) < len(seen)
    if has_left_some or any(row.job_id not in jobs for row in seen):
        return ClaimPass(started, now + _MOMENT)
    (next_start,) = await tx.next_start(now=micros(now))
    return ClaimPass(started, instant_or_none(next_start))


async def _look(tx: Transaction, now: datetime, pool: str, site: Site) -> _Look:
    """The runs of a pool that may start, as far as there could be room for them."""
    free = next((slot.size - slot.used for slot in await tx.pool_slots(name=pool) if slot.size is not None), 0)
    if free <= 0:
        return _Look((), is_cut_short=False)
    # Runs of one job that must not overlap come together; some look-ahead finds those behind them.
    most = 4 * min(free, site.settings.claim_batch) + 16
    rows = await tx.waiting_runs(pool=pool, now=micros(now), most=most)
    return _Look(rows, len(rows) == most)


def _choose(
    now: datetime, seen: Sequence[WaitingRecord], jobs: Mapping[str, JobRecord], limits: Limits, site: Site
) -> list[WaitingRecord]:
    chosen: list[WaitingRecord] = []
    busy = {job.id for job in jobs.values() if job.live_state == RunState.RUNNING}
    for row in seen:
        job = jobs.get(row.job_id)
        is_blocked = job is None or (row.job_id in busy and not row.may_overlap) or _is_paused(now, job, row)
        if len(chosen) < site.settings.claim_batch and not is_blocked and limits.take(row):
            chosen.append(row)
            busy.add(row.job_id)
    return chosen


def _is_paused(now: datetime, job: JobRecord, row: WaitingRecord) -> bool:
    return row.cause != Cause.MANUAL and job.paused_until is not None and job.paused_until > micros(now)


async def _start(
    tx: Transaction,
    now: datetime,
    chosen: Sequence[WaitingRecord],
    jobs: Mapping[str, JobRecord],
    limits: Limits,
    site: Site,
) -> tuple[ClaimedRun, ...]:
    ids = [row.run_id for row in chosen]
    runs = {run.id: run for run in await tx.runs_by_id(ids=ids)}
    at = micros(now)
    (token,) = await tx.insert_lease(worker=site.worker, now=at, run_ids=encode(ids))
    claimed = [_claimed(runs[run_id], jobs[runs[run_id].job_id], token) for run_id in ids]
    await tx.claim_runs(
        claimed=[
            (run.id, at if run.is_started else None, int(ends_plainly(jobs[run.job_id], run.definition)))
            for run in claimed
        ],
        now=at,
        worker=site.worker,
        token=token,
    )
    await tx.leave_queue(gone=[row.key for row in chosen])
    await tx.claim_plans(claimed=[(run.job_id, run.id, last_completed_at(jobs[run.job_id])) for run in claimed])
    await tell(tx, now, site, started((run.job, run.id) for run in claimed))
    await take_slots(tx, limits)
    return tuple(claimed)


def _claimed(run: RunRecord, job: JobRecord, token: int) -> ClaimedRun:
    definition = definition_of(job.definition)
    return ClaimedRun(
        run.id,
        run.job_id,
        run.job,
        definition,
        token,
        Cause(run.cause),
        run.attempt,
        instant_or_none(run.due_at),
        run.trace_id or "",
        starts_at_claim(definition),
        run.input,
    )
