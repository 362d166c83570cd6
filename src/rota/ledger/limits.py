"""The limits that hold across machines: pools, agents, concurrency keys, and all runs together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from rota.errors import GiveWayError
from rota.ports.records import SlotRecord
from rota.ports.store import Transaction

Row = tuple[str, str, int | None, int]


class Placed(Protocol):
    """Anything that takes a place: a definition, a queued row, a claimed run."""

    @property
    def pool(self) -> str: ...
    @property
    def agent(self) -> str | None: ...
    @property
    def concurrency_key(self) -> str | None: ...


class Limits:
    """What is free as a transaction found it, and what it has taken since."""

    def __init__(self, slots: Iterable[SlotRecord], *, workers: int = 1) -> None:
        self._free = {(slot.scope, slot.name): _fair(slot, workers) for slot in slots if slot.size is not None}
        self._taken: dict[tuple[str, str], int] = {}

    def has_to_spare(self, runs: Iterable[Placed]) -> bool:
        """Whether there is room for twice as many, and for no run only one place."""
        wanted = Counter(place for run in runs for place in _places(run.pool, run.agent, run.concurrency_key))
        return all(
            scope != "key" and self._free.get((scope, name), 2 * count) >= 2 * count
            for (scope, name), count in wanted.items()
        )

    def take(self, run: Placed) -> bool:
        """Take a place for a run in every limit that it falls under, or in none."""
        places = _places(run.pool, run.agent, run.concurrency_key)
        free = self._free
        if places[0] not in free:
            return False
        for place in places:
            if free.get(place, 1) < 1:
                return False
        for place in places:
            self._taken[place] = self._taken.get(place, 0) + 1
            if place in free or place[0] == "key":
                free[place] = free.get(place, 1) - 1
        return True

    def taken(self) -> list[Row]:
        """Rows of ``take_slots``; the size counts only for places that have no row yet."""
        return [(scope, name, 1 if scope == "key" else None, count) for (scope, name), count in self._taken.items()]


async def take_slots(tx: Transaction, limits: Limits) -> None:
    """Take the places in the database too; whoever looked without holding them may find that they are gone."""
    taken = limits.taken()
    if await tx.take_slots(taken=taken) != len(taken):
        raise GiveWayError("Others took the places first.")


def freed(runs: Iterable[Placed]) -> list[tuple[str, str, int]]:
    """Rows of ``free_slots``."""
    counts: dict[tuple[str, str], int] = {}
    for run in runs:
        for place in _places(run.pool, run.agent, run.concurrency_key):
            counts[place] = counts.get(place, 0) + 1
    return [(scope, name, count) for (scope, name), count in counts.items()]


def _fair(slot: SlotRecord, workers: int) -> int:
    """What one transaction may take: of a pool no more than this worker's share, so that none takes all the work."""
    size = slot.size or 0
    return min(size - slot.used, -(-size // workers)) if slot.scope == "pool" else size - slot.used


@lru_cache(maxsize=10_000)
def _places(pool: str, agent: str | None, key: str | None) -> tuple[tuple[str, str], ...]:
    of_agent = (("agent", agent),) if agent is not None else ()
    of_key = (("key", key),) if key is not None else ()
    return (("pool", pool), ("all", ""), *of_agent, *of_key)
