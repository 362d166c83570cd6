"""Firing: due jobs become runs. While more is due than one pass takes, several passes go on side by side."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from rota.engine.loop import Loop
from rota.ledger.fire import FirePass, fire_due
from rota.ledger.site import Site
from rota.ports.records import instant_or_none, micros
from rota.ports.store import Transaction


class Lanes:
    """Loops that fire. The first one knows when something is due; the others join it when there is a crowd."""

    def __init__(self, site: Site, workers: Callable[[], int], on_fired: Callable[[FirePass], None]) -> None:
        self._site = site
        self._workers = workers
        self._on_fired = on_fired
        self._is_crowded = False
        self.first = Loop("fire", self._first_step, site.clock)
        others = [Loop(f"fire {number}", self._other_step, site.clock) for number in range(2, site.store.writers + 1)]
        self.loops = (self.first, *others)

    async def _first_step(self) -> datetime | None:
        now = self._site.clock.now()
        if not self._is_crowded:
            (wake_at,) = await self._site.store.read(lambda tx: tx.next_wake())
            if wake_at is None or wake_at > micros(now):
                return self._site.next_look(now, instant_or_none(wake_at))
        return self._site.next_look(now, (await self._fire(now)).next_wake)

    async def _other_step(self) -> datetime | None:
        now = self._site.clock.now()
        return (await self._fire(now)).next_wake if self._is_crowded else None

    async def _fire(self, now: datetime) -> FirePass:
        self._is_crowded = False
        fired = await self._site.store.write(lambda tx: self._pass(tx, now))
        self._on_fired(fired)
        return fired

    async def _pass(self, tx: Transaction, now: datetime) -> FirePass:
        return await fire_due(tx, now, self._site, workers=self._workers(), on_crowd=self._on_crowd)

    def _on_crowd(self) -> None:
        self._is_crowded = True
        for loop in self.loops[1:]:
            loop.wake()
