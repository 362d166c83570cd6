"""Upkeep: waiting that has lasted too long ends, runs and machine are looked at, and old rows go."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta
from functools import partial

import msgspec

from rota.core.liveness import Evidence, Liveness, LivenessState, assess
from rota.core.run import FAILURES, LIVE, Run, RunState
from rota.core.settlement import outcome_of_liveness, outcome_of_waiting
from rota.engine.tallies import keep_count
from rota.engine.work import Held, Workbench
from rota.ledger.events import Event, tell
from rota.ledger.record import end_waiting
from rota.ledger.site import Site
from rota.log import log
from rota.ports.machine import Machine, Vitals
from rota.ports.records import RunRecord, WaitingRecord, definition_of, encode, micros, run_of
from rota.ports.store import Transaction

BATCH = 500
KEPT_PER_JOB = 100
_SUCCESSES = sorted(frozenset(RunState) - FAILURES - LIVE)
KEEP_SUCCESSES, KEEP_FAILURES = timedelta(days=30), timedelta(days=90)
KEEP_KEYS, KEEP_SNAPSHOTS = timedelta(days=7), timedelta(days=7)
KEEP_TALLIES = timedelta(days=400)
KEEP_EVENTS, KEEP_WORKERS, KEEP_AUDIT = timedelta(days=7), timedelta(days=30), timedelta(days=400)
_CONTEXT = 2_000


async def expire_waiting(site: Site) -> int:
    """End runs whose ``queue_timeout`` is over; how many."""
    now = site.clock.now()

    async def body(tx: Transaction) -> int:
        rows = await tx.expired_in_queue(now=micros(now), most=BATCH)
        if rows:
            await _expire(tx, now, site, rows)
        return len(rows)

    return await site.store.write(body)


async def _expire(tx: Transaction, now: datetime, site: Site, rows: list[WaitingRecord]) -> None:
    runs = {run.id: run for run in await tx.runs_by_id(ids=[row.run_id for row in rows])}
    jobs = {job.id: job for job in await tx.jobs_by_id(ids=sorted({row.job_id for row in rows}))}
    for row in rows:
        run, job = runs[row.run_id], jobs.get(row.job_id)
        timeout = definition_of(job.definition).queue_timeout if job is not None else timedelta()
        outcome = outcome_of_waiting(now, _since_due(run), queue_timeout=timeout)
        if outcome is not None:
            await end_waiting(tx, now, [row], outcome, site)


def _since_due(run: RunRecord) -> Run:
    """A run waits from the time it may start, which is its due time unless it was put off."""
    pure = run_of(run)
    return pure if pure.start_after is not None else msgspec.structs.replace(pure, start_after=pure.due_at)


_Seen = list[tuple[Held, Liveness]]


def _silence(held: Held, liveness: Liveness) -> Event:
    return Event("run.silent", held.run.job, held.run.id, RunState.RUNNING, liveness.because)


class Watch:
    """Looks at the runs of this worker: what each has shown of itself since the last look."""

    def __init__(self, site: Site, machine: Machine, bench: Workbench) -> None:
        self._site = site
        self._machine = machine
        self._bench = bench
        self._cpu: dict[str, tuple[float, datetime]] = {}
        self._silent: set[str] = set()

    async def look(self) -> None:
        """Keep a heartbeat for each run and a snapshot of the machine; flag or fail what is silent."""
        now, held = self._site.clock.now(), self._bench.held
        used = await asyncio.to_thread(self._machine.cpu_by_run) if held else {}
        seen = [(run, self._assess(now, run, used.get(run.run.id))) for run in held]
        self._cpu = {run.run.id: self._cpu[run.run.id] for run in held if run.run.id in self._cpu}
        self._silent &= {run.run.id for run in held}
        fallen = [one for one in seen if one[1].state is LivenessState.SILENT and one[0].run.id not in self._silent]
        vitals = await asyncio.to_thread(self._machine.vitals)
        await self._site.store.write(lambda tx: self._keep(tx, now, seen, vitals, fallen))
        for run, liveness in seen:
            self._react(run, liveness)

    def _assess(self, now: datetime, held: Held, used: float | None) -> Liveness:
        run_id = held.run.id
        if used is not None and used > self._cpu.get(run_id, (0.0, now))[0]:
            self._cpu[run_id] = (used, now)
        cpu_at = self._cpu[run_id][1] if run_id in self._cpu else None
        evidence = Evidence(started_at=held.started_at, output_at=held.output_at, cpu_at=cpu_at)
        return assess(now, evidence, silence_after=held.run.definition.silence_after)

    def _react(self, held: Held, liveness: Liveness) -> None:
        run_id = held.run.id
        outcome = outcome_of_liveness(liveness, held.run.definition.on_silence)
        if outcome is not None:
            self._bench.end(run_id, outcome)
        elif liveness.state is LivenessState.SILENT and run_id not in self._silent:
            self._silent.add(run_id)
            log("run.silent", level=logging.WARNING, run_id=run_id, job=held.run.job, reason=liveness.because)

    async def _keep(self, tx: Transaction, now: datetime, seen: _Seen, vitals: Vitals, fallen: _Seen) -> None:
        await tell(tx, now, self._site, [_silence(held, liveness) for held, liveness in fallen])
        if seen:
            await tx.beat_run(
                seen=[
                    (self._site.worker, held.run.id, liveness.state, held.tail()[-_CONTEXT:], micros(now))
                    for held, liveness in seen
                ]
            )
        (snapshot_id,) = self._site.entropy.ids("snp", now, 1)
        await tx.insert_snapshot(
            id=snapshot_id,
            worker=self._site.worker,
            now=micros(now),
            active_workers=len(await tx.live_workers()),
            active_agents=len({held.run.agent for held, _ in seen if held.run.agent}),
            running=len(seen),
            tmux_sessions=vitals.tmux_sessions,
            cpu_percent=vitals.cpu_percent,
            memory_mb=vitals.memory_mb,
            load=vitals.load,
            context=encode({}),
        )


async def prune(site: Site) -> int:
    """Delete what is older than it must be kept, in batches that hold nobody up; how many runs."""
    now = site.clock.now()
    gone = 0
    for states, age in ((_SUCCESSES, KEEP_SUCCESSES), (sorted(FAILURES), KEEP_FAILURES)):
        body = partial(_prune_runs, states=states, before=_before("run", now - age))
        while count := await site.store.write(body):
            gone += count
    await site.store.write(lambda tx: _prune_rest(tx, now))
    return gone


async def _prune_runs(tx: Transaction, *, states: list[RunState], before: str) -> int:
    gone = await tx.old_runs(states=states, before=before, kept=KEPT_PER_JOB, most=BATCH)
    ids = [run.id for run in gone]
    if ids:
        await keep_count(tx, gone)
        await tx.delete_output(ids=ids)
        await tx.delete_heartbeats(ids=ids)
        await tx.delete_runs(ids=ids)
    return len(ids)


async def _prune_rest(tx: Transaction, now: datetime) -> None:
    await tx.delete_old_keys(before=micros(now - KEEP_KEYS))
    await tx.delete_old_snapshots(before=micros(now - KEEP_SNAPSHOTS))
    await tx.delete_old_events(before=_before("evt", now - KEEP_EVENTS))
    await tx.delete_old_audit(before=_before("adt", now - KEEP_AUDIT))
    await tx.delete_old_sessions(before=micros(now))
    await tx.delete_old_tallies(before=(now - KEEP_TALLIES).date().isoformat())
    await tx.delete_old_workers(before=micros(now - KEEP_WORKERS))


def _before(prefix: str, at: datetime) -> str:
    """Ids begin with the time they were made, so age is a matter of their order."""
    return f"{prefix}_{micros(at):014x}"
