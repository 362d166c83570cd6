"""The doctor looks at what moves: workers, plans, runs, the queue, and jobs that keep failing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from rota.core.duration import format_duration
from rota.ledger.site import Site
from rota.operations.health.findings import Finding, Findings, failure, found, ok, warning
from rota.operations.health.jobs import Patient
from rota.operations.waiting import waits_for
from rota.ports.records import (
    AgentRecord,
    FleetRecord,
    JobRecord,
    RunRecord,
    SlotRecord,
    WorkerRecord,
    definition_of,
    instant,
    micros,
)
from rota.ports.store import Transaction

_PATIENCE = timedelta(minutes=1)
_LONG_WAIT = timedelta(hours=1)
_KEEPS_FAILING = 5
_LOOKED_AT = 50
_BATCH = 1_000
# A dead worker is found by the others within this time.
_RESOLVED_WITHIN = timedelta(seconds=65)
_STREAKS = ("failures in a row", "took its worker down")


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in the database that the doctor looks at."""

    now: datetime
    records: Sequence[JobRecord]
    workers: Sequence[WorkerRecord]
    """Those that have not ended."""
    running: Sequence[RunRecord]
    depths: Sequence[tuple[str, int, int]]
    slots: Sequence[SlotRecord]
    fleets: Sequence[FleetRecord]
    agents: Sequence[AgentRecord]

    @property
    def live(self) -> list[WorkerRecord]:
        return [worker for worker in self.workers if instant(worker.lease_until) > self.now]


async def read_state(site: Site) -> State:
    now = site.clock.now()
    records: list[JobRecord] = []

    async def page(tx: Transaction) -> list[JobRecord]:
        return await tx.jobs(after=records[-1].name if records else "", most=_BATCH)

    while batch := await site.store.read(page):
        records += batch

    async def body(tx: Transaction) -> State:
        workers = await tx.live_workers()
        leases = [lease for worker in workers for lease in await tx.leases_of(worker=worker.id)]
        ids = [run_id for lease in leases for run_id in msgspec.json.decode(lease.run_ids, type=list[str])]
        return State(
            now=now,
            records=records,
            workers=workers,
            running=[run for run in await tx.runs_by_id(ids=ids) if run.state == "running"] if ids else [],
            depths=await tx.queue_depths(),
            slots=await tx.slots(),
            fleets=await tx.fleets(),
            agents=await tx.agents(),
        )

    return await site.store.read(body)


def check_workers(state: State, jobs: Sequence[Patient]) -> Findings:
    """Whether anybody is there to do the work."""
    if state.live:
        return ok("workers", f"Alive: {', '.join(worker.id for worker in state.live)}.")
    planned = [instant(job.record.next_run_at) for job in jobs if job.record.next_run_at is not None]
    due, waiting = sum(at <= state.now for at in planned), sum(depth for *_, depth in state.depths)
    if due or waiting:
        message = f"No worker is alive; jobs that are due: {due}, runs that wait: {waiting}."
        return (failure("workers", message, "Start one: rota up"),)
    if planned:
        message = f"No worker is alive; the next job is due at {min(planned).isoformat(timespec='seconds')}."
        return (warning("workers", message, "Start one: rota up"),)
    return ok("workers", "No worker is alive, and nothing is planned.")


def check_dead_workers(state: State) -> Findings:
    """Whether workers are gone that nobody has cleaned up after."""
    faults = [
        warning(
            "dead_workers",
            f"Nothing was heard of {worker.id} (process {worker.pid} on {worker.host}) since "
            f"{instant(worker.beat_at).isoformat(timespec='seconds')}, and what it held is not resolved.",
            "A worker that starts does it: rota up",
        )
        for worker in state.workers
        if instant(worker.lease_until) + _RESOLVED_WITHIN < state.now
    ]
    return found("dead_workers", faults, well="No dead worker is left.")


def check_overdue(state: State, jobs: Sequence[Patient]) -> Findings:
    """Whether due times pass although a worker is alive."""
    late = [
        job
        for job in jobs
        if state.live and job.record.next_run_at is not None and instant(job.record.next_run_at) < state.now - _PATIENCE
    ]
    faults = [
        failure(
            "overdue",
            f"{job.label} was due at {instant(job.record.next_run_at or 0).isoformat(timespec='seconds')}, "
            "and nobody has fired it.",
            "Look for errors in the log of the engine, then restart it: rota up",
        )
        for job in late
    ]
    return found("overdue", faults, well="No due time has been passed over.")


def check_long_runs(state: State) -> Findings:
    """Whether runs go on beyond their timeout."""
    timeouts = {record.id: definition_of(record.definition).timeout for record in state.records}
    faults = []
    for run in state.running:
        timeout = timeouts.get(run.job_id)
        if timeout is None or run.started_at is None or instant(run.started_at) + timeout + _PATIENCE >= state.now:
            continue
        message = f"{run.id} of {run.job} runs for {_since(state.now, run.started_at)}, beyond its timeout of "
        cure = f"End it: rota run cancel {run.id}"
        faults.append(warning("long_runs", f"{message}{format_duration(timeout)}.", cure))
    return found("long_runs", faults, well="No run goes on beyond its timeout.")


async def check_queue(site: Site, state: State) -> Findings:
    """What has waited for long, and for what."""
    faults = []
    for run in await _long_waiting(site, state):
        reasons = await waits_for(site, run)
        why = "; ".join(reasons) or "nothing that could be told"
        waited = _since(state.now, run.queued_at or run.requested_at)
        message = f"{run.id} of {run.job} has waited {waited}, for this: {why}"
        cure = f"See more: rota why {run.id}. End it: rota run cancel {run.id}"
        faults.append(warning("queue", f"{message.rstrip('.')}.", cure))
    return found("queue", faults, well="No run has waited for long.")


async def _long_waiting(site: Site, state: State) -> list[RunRecord]:
    before = micros(state.now - _LONG_WAIT)
    ids = [record.id for record in state.records] if state.depths else []

    async def body(tx: Transaction) -> list[RunRecord]:
        rows = [
            row
            for first in range(0, len(ids), _BATCH)
            for row in await tx.queue_of_jobs(ids=ids[first : first + _BATCH])
            if row.start_after <= before
        ]
        rows.sort(key=lambda row: row.start_after)
        runs = await tx.runs_by_id(ids=[row.run_id for row in rows[:_LOOKED_AT]]) if rows else []
        return [run for run in runs if (run.queued_at or run.requested_at) <= before]

    return await site.store.read(body)


def check_failing(state: State, jobs: Sequence[Patient]) -> Findings:
    """Which jobs keep failing, or were paused because they did."""
    faults = [fault for job in jobs if (fault := _failing(state.now, job)) is not None]
    return found("failing_jobs", faults, well="No job keeps failing.")


def _failing(now: datetime, job: Patient) -> Finding | None:
    record, name = job.record, job.record.name
    note = record.pause_note or ""
    if record.paused_until is not None and record.paused_until > micros(now) and any(one in note for one in _STREAKS):
        cure = f"See why: rota runs {name}. When it is cured: rota job resume {name}"
        return warning("failing_jobs", f"{job.label} is paused: {note}.", cure)
    if record.failure_count < _KEEPS_FAILING:
        return None
    error = f", at last: {record.last_error}" if record.last_error else ""
    cure = f"See its runs: rota runs {name}. Then the output of one: rota logs RUN"
    return warning("failing_jobs", f"{job.label} has failed {record.failure_count} times in a row{error}.", cure)


def check_agents(state: State) -> Findings:
    """Which agents have nothing to do."""
    owners = {record.agent for record in state.records}
    files = {fleet.name: fleet.file for fleet in state.fleets}
    faults = [
        warning(
            "agents",
            f"The agent {agent.name} ({files.get(agent.fleet, agent.fleet)}:{agent.line}) has no jobs.",
            f"Give it schedules, or take it out; then: rota apply {files.get(agent.fleet, 'rota.yaml')}",
        )
        for agent in state.agents
        if agent.name not in owners
    ]
    return found("agents", faults, well="Every agent has jobs.")


def check_pools(state: State) -> Findings:
    """Whether runs wait in a pool that lets none of them start."""
    waiting: Counter[str] = Counter()
    for pool, _, depth in state.depths:
        waiting[pool] += depth
    sizes = {slot.name: slot.size for slot in state.slots if slot.scope == "pool"}
    faults = [
        failure(
            "pools",
            f"{depth} runs wait in the pool {pool}, which lets none start: "
            + ("it has no size." if sizes.get(pool) is None else "its size is 0."),
            f"Give it a size: rota pool set {pool} 1",
        )
        for pool, depth in waiting.items()
        if not sizes.get(pool)
    ]
    return found("pools", faults, well="Every pool with waiting runs lets some start.")


def _since(now: datetime, at: int) -> str:
    minutes = timedelta(minutes=1)
    return format_duration((now - instant(at)) // minutes * minutes)
