"""The engine: keep (record, beat, reconcile) stands around work, and work around take (fire, claim)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from rota.core.action import ActionKind
from rota.core.run import RunState
from rota.engine.firing import Lanes
from rota.engine.lease import Lease
from rota.engine.loop import Loop
from rota.engine.recovery import recover_lapsed, recover_orphans
from rota.engine.upkeep import Watch, expire_waiting, prune
from rota.engine.work import Credentials, MakeOutput, Workbench, shutdown_outcome
from rota.errors import StoreError
from rota.ledger.claim import claim_waiting
from rota.ledger.claimed import ClaimedRun
from rota.ledger.fire import FirePass
from rota.ledger.record import Ended, Recorded, record_ended
from rota.ledger.site import Site
from rota.log import log, log_fields
from rota.ports.action import Action
from rota.ports.bell import Bell
from rota.ports.machine import Machine

_PRUNE_EVERY = timedelta(hours=1)
_NO_GRACE = 1.0
# More runs at once than these are one line in the log.
_CROWD = 20


class Meter(Protocol):
    """Counts what passes, for those who watch from outside."""

    def on_passed(self, passed: Sequence[tuple[RunState, int]], /) -> None: ...
    def on_started(self, runs: Sequence[ClaimedRun], now: datetime, /) -> None: ...
    def on_ended(self, ended: Sequence[Ended], /) -> None: ...


class Engine:
    """One worker: it fires, claims, works and records until it is stopped."""

    def __init__(
        self,
        site: Site,
        machine: Machine,
        bell: Bell,
        actions: Mapping[ActionKind, Action],
        make_output: MakeOutput,
        *,
        credentials: Credentials = lambda _: {},
        meter: Meter | None = None,
    ) -> None:
        self._site = site
        self._meter = meter
        self._machine = machine
        self._bell = bell
        self._ended: list[Ended] = []
        self._held: dict[int, set[str]] = {}
        self.bench = Workbench(site, actions, make_output, self._on_ended, credentials)
        clock = site.clock
        self._lanes = Lanes(site, lambda: self.lease.workers, self._on_fired)
        self.fire = self._lanes.first
        self.claim = Loop("claim", self._claim_step, clock)
        self.record = Loop("record", self._record_step, clock)
        self.lease = Lease(site, machine, self.bench)
        self.beat = Loop("beat", self.lease.renew, clock)
        self.guard = Loop("guard", self.lease.guard, clock)
        self.reconcile = Loop("reconcile", self._reconcile_step, clock)
        self._watch = Watch(site, machine, self.bench)
        self.watch = Loop("watch", self._watch_step, clock)
        self.prune = Loop("prune", self._prune_step, clock)
        self._keep = (self.beat, self.guard, self.reconcile, self.watch, self.prune)
        self._is_stopping = False
        self.recorded_count = 0
        self.changed = asyncio.Event()

    async def open(self) -> None:
        """Make this worker known, and resolve what dead ones left, before the first tick."""
        await self.lease.enter()
        await recover_orphans(self._site, self._machine)
        log("worker.started", worker=self._site.worker, store=self._site.store.name)

    async def run(self) -> None:
        """Work until stopped."""
        await self.open()
        listening = asyncio.create_task(self._bell.listen(self.wake))
        try:
            async with asyncio.TaskGroup() as keep:
                recording = keep.create_task(self.record.run())
                kept = [keep.create_task(loop.run()) for loop in self._keep]
                async with asyncio.TaskGroup() as take:
                    for loop in (*self._lanes.loops, self.claim):
                        take.create_task(loop.run())
                await self._drain()
                # Two that record at once would take the same results.
                self.record.stop()
                await recording
                await self._record_rest()
                for loop in self._keep:
                    loop.stop()
                await asyncio.wait(kept)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            await self._leave()

    @property
    def has_ended(self) -> bool:
        """Whether results wait to be recorded."""
        return bool(self._ended)

    @property
    def is_ready(self) -> bool:
        """Whether it takes work, and the database answers its loops."""
        return not self._is_stopping and not any(loop.is_failing for loop in (self.fire, self.claim, self.beat))

    def stop(self) -> None:
        """Take no more work and drain; asked again, end at once."""
        log("worker.stopping", worker=self._site.worker, running=len(self.bench.run_ids), at_once=self._is_stopping)
        if self._is_stopping:
            self.bench.end_all(shutdown_outcome())
            # Whoever asks twice does not wait for children that take their time.
            asyncio.get_running_loop().call_later(_NO_GRACE, self.bench.hurry)
        self._is_stopping = True
        for loop in (*self._lanes.loops, self.claim):
            loop.stop()

    def wake(self) -> None:
        """Something changed in the database."""
        self.fire.wake()
        self.claim.wake()
        if self.bench.run_ids:
            self.beat.wake()

    async def _drain(self) -> None:
        over = asyncio.Event()
        drained = asyncio.create_task(self.bench.drained())
        drained.add_done_callback(lambda _: over.set())
        until = self._site.clock.now() + self._site.settings.drain
        if not await self._site.clock.wait(over, until=until):
            log("drain.expired", level=logging.WARNING, running=len(self.bench.run_ids))
            self.bench.end_all(shutdown_outcome())
        await drained

    async def _record_rest(self) -> None:
        """What has ended is recorded before this worker goes, if the database comes back in time."""
        last_try = self._site.clock.now() + self._site.settings.drain
        while self._ended and (now := self._site.clock.now()) < last_try:
            again = await self.record.step()
            if again is not None and again > now:
                await self._site.clock.wait(asyncio.Event(), until=again)
        for ended in self._ended:
            log("result.lost", level=logging.ERROR, run_id=ended.run.id, job=ended.run.job, state=ended.outcome.state)

    async def _leave(self) -> None:
        try:
            await self.lease.leave()
        except StoreError as error:
            log("worker.stopped", level=logging.WARNING, worker=self._site.worker, error=error)

    def _on_fired(self, fired: FirePass) -> None:
        self._take(fired.started)
        if fired.is_queued:
            self.claim.wake()
        if fired.passed and self._meter is not None:
            self._meter.on_passed(fired.passed)

    async def _claim_step(self) -> datetime | None:
        now = self._site.clock.now()
        if await self._site.store.read(lambda tx: tx.is_queue_empty()) is None:
            return self._site.next_look(now, None)
        claimed = await self._site.store.write(
            lambda tx: claim_waiting(tx, now, self._site, workers=self.lease.workers)
        )
        self._take(claimed.started)
        return self._site.next_look(now, claimed.next_start)

    def _take(self, runs: tuple[ClaimedRun, ...]) -> None:
        for run in runs:
            self._held.setdefault(run.token, set()).add(run.id)
        _log_started(runs, self._site.worker)
        if self._meter is not None:
            self._meter.on_started(runs, self._site.clock.now())
        self.bench.start(runs)

    def _on_ended(self, ended: Ended) -> None:
        self._ended.append(ended)
        self.changed.set()
        self.record.wake()

    async def _record_step(self) -> datetime | None:
        now = self._site.clock.now()
        batch = self._ended[: self._site.settings.claim_batch]
        if not batch:
            return None
        done = self._done_tokens(batch)
        recorded: Recorded = await self._site.store.write(
            lambda tx: record_ended(tx, now, batch, self._site, done_tokens=done)
        )
        del self._ended[: len(batch)]
        self.recorded_count += len(recorded.accepted)
        for ended in batch:
            self._forget(ended.run)
            if ended.run.id not in recorded.accepted:
                log("result.refused", level=logging.WARNING, run_id=ended.run.id, job=ended.run.job)
        accepted = [one for one in batch if one.run.id in recorded.accepted]
        _log_ended(accepted)
        if self._meter is not None:
            self._meter.on_ended(accepted)
        # Slots are free again, and retries or children may wait for them.
        self.claim.wake()
        self.fire.wake()
        return now if self._ended else None

    def _done_tokens(self, batch: list[Ended]) -> list[int]:
        ended: dict[int, set[str]] = {}
        for one in batch:
            ended.setdefault(one.run.token, set()).add(one.run.id)
        return [token for token, ids in ended.items() if self._held.get(token, set()) <= ids]

    def _forget(self, run: ClaimedRun) -> None:
        ids = self._held.get(run.token, set())
        ids.discard(run.id)
        if not ids:
            self._held.pop(run.token, None)

    async def _reconcile_step(self) -> datetime | None:
        now = self._site.clock.now()
        if not self._was_cut_off(now):
            await recover_lapsed(self._site, self._machine, now)
        await expire_waiting(self._site)
        return now + self._site.settings.scan

    def _was_cut_off(self, now: datetime) -> bool:
        """After an outage of the database everybody looks dead, and gets the time of a lease to say otherwise."""
        failures = [loop.failed_at for loop in (self.beat, self.reconcile) if loop.failed_at is not None]
        return self._site.store.is_shared and bool(failures) and now < max(failures) + self._site.settings.lease

    async def _watch_step(self) -> datetime | None:
        await self._watch.look()
        return self._site.clock.now() + self._site.settings.snapshot

    async def _prune_step(self) -> datetime | None:
        if gone := await prune(self._site):
            log("runs.pruned", count=gone)
        return self._site.clock.now() + _PRUNE_EVERY


def _log_started(runs: Sequence[ClaimedRun], worker: str) -> None:
    if len(runs) > _CROWD:
        log("runs.started", count=len(runs), first=runs[0].id)
        return
    for run in runs:
        log_fields("run.started", {**_run_fields(run), "due_at": run.due_at, "cause": run.cause, "worker": worker})


def _log_ended(ended: Sequence[Ended]) -> None:
    if len(ended) > _CROWD:
        log("runs.ended", count=len(ended), first=ended[0].run.id)
        return
    for run, outcome, *_ in ended:
        fields = {"state": outcome.state, "reason": outcome.reason or None, "error": outcome.error or None}
        log_fields("run.ended", {**_run_fields(run), **fields})


def _run_fields(run: ClaimedRun) -> Mapping[str, object]:
    return {"run_id": run.id, "job_id": run.job_id, "job": run.job, "trace_id": run.trace_id}
