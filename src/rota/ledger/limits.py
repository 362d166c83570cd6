"""The limits that hold across machines: pools, agents, concurrency keys, and all runs together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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

    def __init__(self, slots: Iterable[SlotRecord]) -> None:
        self._free = {(slot.scope, slot.name): slot.size - slot.used for slot in slots if slot.size is not None}
        self._pools = {name for scope, name in self._free if scope == "pool"}
        self._taken: dict[tuple[str, str], int] = {}

    def free(self, pool: str) -> int:
        """How many runs could start in a pool."""
        return max(0, min(self._free.get(("pool", pool), 0), self._free.get(("all", ""), 1_000_000)))

    def has_to_spare(self, runs: Iterable[Placed]) -> bool:
        """Whether there is room for twice as many, and for no run only one place."""
        wanted = Counter(place for run in runs for place in _places(run))
        return all(
            scope != "key" and self._free.get((scope, name), 2 * count) >= 2 * count
            for (scope, name), count in wanted.items()
        )

    def take(self, run: Placed) -> bool:
        """Take a place for a run in every limit that it falls under, or in none."""
        if run.pool not in self._pools:
            return False
        places = _places(run)
        if any(self._free.get(place, 1) < 1 for place in places):
            return False
        for place in places:
            self._taken[place] = self._taken.get(place, 0) + 1
            if place[0] == "key":
                self._free[place] = 0
            elif place in self._free:
                self._free[place] -= 1
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
        for place in _places(run):
            counts[place] = counts.get(place, 0) + 1
    return [(scope, name, count) for (scope, name), count in counts.items()]


def _places(run: Placed) -> list[tuple[str, str]]:
    places = [("pool", run.pool), ("all", "")]
    if run.agent is not None:
        places.append(("agent", run.agent))
    if run.concurrency_key is not None:
        places.append(("key", run.concurrency_key))
    return places
