"""Claim: waiting runs that find free slots become running, with a lease and a token, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from rota.core.run import Cause
from rota.ledger.claimed import ClaimedRun, starts_at_claim
from rota.ledger.limits import Limits
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


class ClaimPass(NamedTuple):
    """The runs that this worker starts, and when the next waiting one may begin."""

    started: tuple[ClaimedRun, ...]
    next_start: datetime | None


async def claim_waiting(tx: Transaction, now: datetime, site: Site) -> ClaimPass:
    """Take as many waiting runs as there are free slots."""
    limits = Limits(await tx.lock_slots())
    chosen: list[WaitingRecord] = []
    for (pool,) in await tx.queued_pools(now=micros(now)):
        chosen += await _choose(tx, now, pool, limits, site)
    started = await _start(tx, now, chosen, limits, site) if chosen else ()
    (next_start,) = await tx.next_start(now=micros(now))
    return ClaimPass(started, instant_or_none(next_start))


async def _choose(tx: Transaction, now: datetime, pool: str, limits: Limits, site: Site) -> list[WaitingRecord]:
    chosen: list[WaitingRecord] = []
    jobs: set[str] = set()
    most = min(limits.free(pool), site.settings.claim_batch)
    if not most:
        return chosen
    # Runs of one job that must not overlap come together; some look-ahead finds those behind them.
    for row in await tx.waiting_runs(pool=pool, now=micros(now), most=4 * most + 16):
        is_blocked = row.job_id in jobs and not row.may_overlap
        if len(chosen) < most and not is_blocked and limits.take(row):
            chosen.append(row)
            jobs.add(row.job_id)
    return chosen


async def _start(
    tx: Transaction, now: datetime, chosen: Sequence[WaitingRecord], limits: Limits, site: Site
) -> tuple[ClaimedRun, ...]:
    ids = [row.run_id for row in chosen]
    runs = {run.id: run for run in await tx.runs_by_id(ids=ids)}
    jobs = {job.id: job for job in await tx.jobs_by_id(ids=sorted({row.job_id for row in chosen}))}
    (token,) = await tx.next_token()
    claimed = [_claimed(runs[run_id], jobs[runs[run_id].job_id], token) for run_id in ids]
    at = micros(now)
    await tx.claim_runs(
        claimed=[(run.id, at if run.is_started else None) for run in claimed],
        now=at,
        worker=site.worker,
        token=token,
    )
    await tx.leave_queue(gone=[row.key for row in chosen])
    await tx.claim_plans(claimed=[(run.job_id, run.id, last_completed_at(jobs[run.job_id])) for run in claimed])
    await tx.insert_lease(token=token, worker=site.worker, now=at, run_ids=encode(ids))
    await tx.take_slots(taken=limits.taken())
    return tuple(claimed)


def _claimed(run: RunRecord, job: JobRecord, token: int) -> ClaimedRun:
    definition = definition_of(job.definition)
    return ClaimedRun(
        run.id,
        run.job_id,
        run.job,
        job.version,
        definition,
        token,
        Cause(run.cause),
        run.attempt,
        instant_or_none(run.due_at),
        run.trace_id or "",
        starts_at_claim(definition),
        run.input,
    )
