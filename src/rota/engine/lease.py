"""A worker's place among the others: it says that it lives, and what it holds ends before others may take it."""

from __future__ import annotations

import logging
from datetime import datetime

import msgspec

from rota import __version__
from rota.core.run import RunState
from rota.core.settlement import Outcome
from rota.engine.work import Workbench
from rota.ledger.site import Site
from rota.log import log
from rota.ports.machine import Machine
from rota.ports.records import micros
from rota.ports.store import Transaction


class Lease:
    """This worker's lease, renewed at every beat."""

    def __init__(self, site: Site, machine: Machine, bench: Workbench) -> None:
        self._site = site
        self._machine = machine
        self._bench = bench
        self._renewed_at = site.clock.now()
        self.workers = 1
        """How many workers share the work, as of the last beat."""

    async def enter(self) -> None:
        """Make this worker known."""
        await self._site.clock.agree(self._site.store)
        now = self._site.clock.now()
        await self._site.store.write(lambda tx: self._enter(tx, now))
        self._renewed_at = now

    async def renew(self) -> datetime:
        """Say that this worker lives, and hear which of its runs are to end; when to do so again."""
        await self._site.clock.agree(self._site.store)
        # As of before the beat: whoever reads it will not believe it for longer than this worker does.
        now = self._site.clock.now()
        ids = self._bench.run_ids
        is_known, cancelled = await self._site.store.write(lambda tx: self._beat(tx, now, ids))
        self._renewed_at = now
        if not is_known:
            log("worker.fenced", level=logging.ERROR, worker=self._site.worker, running=len(ids))
            self._bench.end_all(Outcome(state=RunState.LOST, reason="fenced"))
        for run_id, request in cancelled:
            asked = msgspec.json.decode(request)
            outcome = Outcome(state=RunState.CANCELLED, reason=asked["reason"], error=f"by {asked['by']}")
            self._bench.end(run_id, outcome)
        return now + self._site.settings.beat

    async def guard(self) -> datetime | None:
        """End what this worker holds if the lease is about to lapse; when to look again."""
        if not self._site.store.is_shared:
            return None
        now, last_moment = self._site.clock.now(), self._renewed_at + self._site.settings.unrenewed
        if now < last_moment:
            return last_moment
        if ids := self._bench.run_ids:
            log("lease.unrenewed", level=logging.ERROR, worker=self._site.worker, running=len(ids))
            error = "the worker could not reach the database for so long that others may take its place"
            self._bench.end_all(Outcome(state=RunState.LOST, reason="fenced", error=error))
        return now + self._site.settings.beat

    async def leave(self) -> None:
        """Say goodbye; whoever reads it need not wait for the lease."""
        now = micros(self._site.clock.now())
        await self._site.store.write(lambda tx: tx.end_worker(id=self._site.worker, now=now))
        log("worker.stopped", worker=self._site.worker)

    async def _beat(self, tx: Transaction, now: datetime, ids: tuple[str, ...]) -> tuple[bool, list[tuple[str, str]]]:
        worker, until = self._site.worker, micros(now + self._site.settings.lease)
        status = "busy" if ids else "idle"
        if self._site.store.is_shared:
            self.workers = max(1, len(await tx.live_workers()))
        if await tx.beat(id=worker, now=micros(now), lease_until=until, status=status, running=len(ids)):
            return True, await tx.cancelled_runs(ids=ids) if ids else []
        # Others took this worker for dead and settled its runs. It starts anew, and what it still does must end.
        await tx.revive_worker(id=worker, now=micros(now), lease_until=until)
        return False, []

    async def _enter(self, tx: Transaction, now: datetime) -> None:
        if (most := self._site.settings.max_concurrent) is not None:
            await tx.size_slot(scope="all", name="", size=most)
        await tx.insert_worker(
            id=self._site.worker,
            host=self._machine.host,
            boot_id=self._machine.boot_id,
            pid=self._machine.pid,
            process_started_at=self._machine.started_at,
            version=__version__,
            now=micros(now),
            lease_until=micros(now + self._site.settings.lease),
        )
