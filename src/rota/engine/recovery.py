"""Recovery: what a dead worker held is resolved. A start on record makes a run lost; without one it waits again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime

import msgspec

from rota.core.run import Cause, RunState
from rota.core.settlement import outcome_of_abandoned
from rota.ledger.limits import freed
from rota.ledger.rows import queue_row
from rota.ledger.settling import Ending, Settling
from rota.ledger.site import Site
from rota.log import log
from rota.ports.machine import Machine
from rota.ports.records import (
    LeaseRecord,
    RunRecord,
    WorkerRecord,
    instant_or_none,
    micros,
    run_of,
)
from rota.ports.store import Transaction


async def recover_lapsed(site: Site, machine: Machine, now: datetime) -> int:
    """Resolve the runs of workers whose lease has lapsed; how many there were."""
    workers = await site.store.read(lambda tx: tx.live_workers())
    lapsed = [worker for worker in workers if worker.lease_until < micros(now) and worker.id != site.worker]
    return sum([await _bury(site, machine, worker) for worker in lapsed])


async def recover_orphans(site: Site, machine: Machine) -> int:
    """At the start: workers of this machine whose process is gone need no lease to lapse."""
    workers = await site.store.read(lambda tx: tx.live_workers())
    gone = [worker for worker in workers if worker.id != site.worker and _is_gone(worker, machine)]
    return sum([await _bury(site, machine, worker) for worker in gone])


def _is_gone(worker: WorkerRecord, machine: Machine) -> bool:
    if worker.host != machine.host:
        return False
    return worker.boot_id != machine.boot_id or not machine.is_alive(worker.pid, worker.process_started_at)


async def _bury(site: Site, machine: Machine, worker: WorkerRecord) -> int:
    """End what the worker's runs have left on this machine, then settle them."""
    if (worker.host, worker.boot_id) == (machine.host, machine.boot_id):
        for run in await site.store.read(lambda tx: _held_runs(tx, worker.id)):
            await asyncio.to_thread(machine.end_leftovers, run.id, run.token or 0)
    now = site.clock.now()
    resolved = await site.store.write(lambda tx: _settle_all(tx, now, site, worker.id))
    log("worker.lost", level=logging.WARNING, worker=worker.id, runs=len(resolved))
    for run in resolved:
        event = "run.requeued" if run.started_at is None else "run.lost"
        log(event, level=logging.WARNING, run_id=run.id, job_id=run.job_id, job=run.job, trace_id=run.trace_id)
    return len(resolved)


async def _held_runs(tx: Transaction, worker_id: str) -> list[RunRecord]:
    tokens = _tokens(await tx.leases_of(worker=worker_id))
    return [run for run in await tx.runs_by_id(ids=sorted(tokens)) if _is_held(run, tokens)]


async def _settle_all(tx: Transaction, now: datetime, site: Site, worker_id: str) -> Sequence[RunRecord]:
    """Everything a worker held goes through the same function as any other end."""
    if await tx.lock_worker(id=worker_id) is None:
        return ()
    leases = await tx.leases_of(worker=worker_id)
    tokens = _tokens(leases)
    runs = [run for run in await tx.lock_runs(ids=sorted(tokens)) if _is_held(run, tokens)]
    await _requeue(tx, now, [run for run in runs if run.started_at is None])
    endings = [Ending(run, outcome) for run in runs if (outcome := outcome_of_abandoned(run_of(run))) is not None]
    settling = Settling(now, site)
    await settling.settle(tx, endings)
    await settling.write(tx)
    if runs:
        await tx.free_slots(freed=freed(runs))
        await tx.drop_unused_keys()
    if leases:
        await tx.delete_leases(gone=[(lease.token,) for lease in leases])
    await tx.lose_worker(id=worker_id, now=micros(now))
    await tx.ring()
    return runs


def _tokens(leases: Sequence[LeaseRecord]) -> dict[str, int]:
    """The runs that leases speak of, with the token that each must still have."""
    return {run_id: lease.token for lease in leases for run_id in msgspec.json.decode(lease.run_ids, type=list[str])}


def _is_held(run: RunRecord, tokens: dict[str, int]) -> bool:
    return run.state == RunState.RUNNING and run.token == tokens[run.id]


async def _requeue(tx: Transaction, now: datetime, runs: Sequence[RunRecord]) -> None:
    if not runs:
        return
    jobs = {job.id: job for job in await tx.jobs_by_id(ids=sorted({run.job_id for run in runs}))}
    kept = [run for run in runs if run.job_id in jobs]
    await tx.requeue_runs(ids=[run.id for run in kept])
    await tx.enqueue(
        new=[
            queue_row(
                run.id,
                jobs[run.job_id],
                cause=Cause(run.cause),
                start_after=instant_or_none(run.start_after) or instant_or_none(run.due_at) or now,
            )
            for run in kept
        ]
    )
