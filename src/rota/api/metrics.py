"""Metrics in the text format of Prometheus. Every label has few values, however many jobs there are."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from datetime import datetime

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

import rota
from rota.core.run import ENDED, Cause, Priority, RunState
from rota.ledger.claimed import ClaimedRun
from rota.ledger.record import Ended
from rota.ledger.site import Site
from rota.ports.records import SlotRecord
from rota.ports.store import Transaction

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
POOLS = ("local", "remote", "inline")
OTHER = "other"
_STATUSES = ("alive", "idle", "busy", "dead")
_MOST_WORKERS = 1_000
_LATENESS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
_Depths = Sequence[tuple[str, int, int]]


class Meter:
    """Counts what passes through this process, and shows how things stand in the store."""

    def __init__(self) -> None:
        # When a counter was made says nothing that the start of the process does not.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        self._lateness = Histogram(
            "rota_fire_lateness_seconds", "From the due time to the start.", registry=registry, buckets=_LATENESS
        )
        self._fires = Counter("rota_fires", "Due times that were started.", registry=registry)
        self._runs = Counter("rota_runs", "Runs that have ended here.", ["state"], registry=registry)
        self._depth = Gauge("rota_queue_depth", "Runs that wait, over all pools.", ["priority"], registry=registry)
        self._used = Gauge("rota_slots_used", "Runs under way.", ["scope", "name"], registry=registry)
        self._size = Gauge("rota_slots_size", "Runs that may be under way.", ["scope", "name"], registry=registry)
        self._workers = Gauge("rota_workers", "Workers that are known.", ["status"], registry=registry)
        self._latency = Gauge("rota_database_latency_seconds", "How long a small read took.", registry=registry)
        Gauge("rota_build_info", "Always 1.", ["version"], registry=registry).labels(rota.__version__).set(1)
        for state in ENDED:
            self._runs.labels(state.value)

    def on_started(self, runs: Sequence[ClaimedRun], now: datetime, /) -> None:
        """Count what the engine starts."""
        for run in runs:
            if run.due_at is not None and run.attempt == 1 and run.cause in (Cause.SCHEDULE, Cause.CATCH_UP):
                self._fires.inc()
                self._lateness.observe(max(0.0, (now - run.due_at).total_seconds()))

    def on_passed(self, passed: Sequence[tuple[RunState, int]], /) -> None:
        """Count due times that were skipped or missed."""
        for state, count in passed:
            self._runs.labels(state.value).inc(count)

    def on_ended(self, ended: Sequence[Ended], /) -> None:
        """Count what is on record as ended."""
        for state, count in Tally(one.outcome.state.value for one in ended).items():
            self._runs.labels(state).inc(count)

    async def scrape(self, site: Site) -> bytes:
        """Everything, as it is now."""

        async def body(tx: Transaction) -> tuple[_Depths, list[SlotRecord], list[str]]:
            workers = await tx.workers(most=_MOST_WORKERS)
            return await tx.queue_depths(), await tx.slots(), [worker.status for worker in workers]

        asked = site.clock.now()
        await site.store.read(lambda tx: tx.is_queue_empty())
        self._latency.set((site.clock.now() - asked).total_seconds())
        depths, slots, statuses = await site.store.read(body)
        self._show_queue(depths)
        self._show_slots(slots)
        found = Tally(statuses)
        for status in _STATUSES:
            self._workers.labels(status).set(found[status])
        return generate_latest(self.registry)

    def _show_queue(self, depths: _Depths) -> None:
        for priority in Priority:
            waiting = sum(count for _, found, count in depths if found == priority)
            self._depth.labels(priority.name.lower()).set(waiting)

    def _show_slots(self, slots: Sequence[SlotRecord]) -> None:
        used: Tally[tuple[str, str]] = Tally()
        size: Tally[tuple[str, str]] = Tally()
        for slot in slots:
            if slot.scope in ("pool", "all"):
                labels = slot.scope, "" if slot.scope == "all" else slot.name if slot.name in POOLS else OTHER
                used[labels] += slot.used
                # No size is no limit, which is no number.
                if slot.size is not None:
                    size[labels] += slot.size
        for gauge, values in ((self._used, used), (self._size, size)):
            gauge.clear()
            for labels, value in values.items():
                gauge.labels(*labels).set(value)
