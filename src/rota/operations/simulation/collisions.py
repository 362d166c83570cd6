"""Collisions: where more runs want to be under way at once than a limit allows, and minutes in which many begin."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from rota.core.action import POOL_SIZES
from rota.operations.simulation.course import Subject
from rota.operations.simulation.views import Burst, Collision
from rota.ports.records import SlotRecord

SHOWN = 50
_JOBS_SHOWN = 20
# A run always takes a moment, also where nothing is known of its length.
SHORTEST = timedelta(seconds=1)
_SMALLEST_BURST = 10
_UNUSUAL = 3


class _Stretch:
    """A time in which a limit is exceeded."""

    def __init__(self, start: datetime, under_way: Iterable[int], wanted: int) -> None:
        self.start = self.end = start
        self.indexes = set(under_way)
        self.wanted = wanted
        self.waited = timedelta()
        """How long runs wait, all together."""
        self.times = 1

    @property
    def badness(self) -> tuple[timedelta, int]:
        return self.waited, self.wanted


class Lane:
    """A limit, and the runs that want to be under way in it as time passes."""

    def __init__(self, scope: str, name: str, allowed: int) -> None:
        self.scope, self.name, self.allowed = scope, name, allowed
        self._under_way: list[tuple[datetime, int]] = []
        self._open: _Stretch | None = None
        self._worst: dict[frozenset[int], _Stretch] = {}

    def enter(self, at: datetime, end: datetime, index: int) -> None:
        """A run of a job begins, and will end."""
        self.leave(at)
        self._pass(at)
        heapq.heappush(self._under_way, (end, index))
        wanted = len(self._under_way)
        if wanted <= self.allowed:
            return
        if self._open is None:
            self._open = _Stretch(at, (one for _, one in self._under_way), wanted)
        self._open.indexes.add(index)
        self._open.wanted = max(self._open.wanted, wanted)

    def leave(self, at: datetime) -> None:
        """Whatever ends until then ends."""
        while self._under_way and self._under_way[0][0] <= at:
            end = self._under_way[0][0]
            self._pass(end)
            heapq.heappop(self._under_way)
            if self._open is not None and len(self._under_way) <= self.allowed:
                self._close(self._open)

    def finish(self) -> list[_Stretch]:
        """The stretches, those with the same jobs as one."""
        while self._under_way:
            self.leave(self._under_way[0][0])
        return list(self._worst.values())

    def _pass(self, at: datetime) -> None:
        if self._open is not None:
            self._open.waited += (at - self._open.end) * (len(self._under_way) - self.allowed)
            self._open.end = at

    def _close(self, stretch: _Stretch) -> None:
        self._open = None
        key = frozenset(stretch.indexes)
        other = self._worst.get(key)
        if other is not None:
            stretch.times += other.times
            if other.badness >= stretch.badness:
                other.times = stretch.times
                return
        self._worst[key] = stretch


def lanes(subjects: Sequence[Subject], slots: Iterable[SlotRecord]) -> list[tuple[Lane, ...]]:
    """The limits that each job's runs fall under. Jobs under the same limit have the same lane."""
    sizes = {(slot.scope, slot.name): slot.size for slot in slots}
    made: dict[tuple[str, str], Lane] = {}
    found = []
    for one in subjects:
        places = [("pool", one.definition.pool), ("all", "")]
        places += [("agent", one.definition.agent)] if one.definition.agent is not None else []
        places += [("key", one.definition.concurrency_key)] if one.definition.concurrency_key is not None else []
        limited = [(place, size) for place in places if (size := _allowed(place, sizes)) is not None]
        found.append(tuple(made.setdefault(place, Lane(*place, size)) for place, size in limited))
    return found


def _allowed(place: tuple[str, str], sizes: Mapping[tuple[str, str], int | None]) -> int | None:
    scope, name = place
    if scope == "key":
        return 1
    return sizes.get(place, POOL_SIZES.get(name, 1) if scope == "pool" else None)


def collisions(used: Iterable[Lane], subjects: Sequence[Subject]) -> list[Collision]:
    """Every kind of collision, the worst first."""
    found = [(lane, stretch) for lane in used for stretch in lane.finish()]
    found.sort(key=lambda one: (one[1].badness, one[1].times), reverse=True)
    return [
        Collision(
            start=stretch.start,
            end=stretch.end,
            scope=lane.scope,
            name=lane.name,
            wanted=stretch.wanted,
            allowed=lane.allowed,
            jobs=_names(stretch.indexes, subjects),
            job_count=len(stretch.indexes),
            times=stretch.times,
        )
        for lane, stretch in found
    ]


def bursts(minutes: Mapping[datetime, Sequence[int]], length: timedelta, subjects: Sequence[Subject]) -> list[Burst]:
    """Minutes with far more beginnings than the others, the largest first."""
    counts = [len(indexes) for indexes in minutes.values()]
    total = max(1, length // timedelta(minutes=1))
    mean = sum(counts) / total
    spread = math.sqrt(max(0.0, sum(count * count for count in counts) / total - mean * mean))
    folded: dict[tuple[int, ...], list[datetime]] = {}
    for at, indexes in minutes.items():
        if len(indexes) >= _SMALLEST_BURST and len(indexes) > mean + _UNUSUAL * spread:
            folded.setdefault(tuple(sorted(indexes)), []).append(at)
    found = [
        Burst(
            at=min(times),
            runs=len(indexes),
            jobs=_names(set(indexes), subjects),
            job_count=len(set(indexes)),
            times=len(times),
        )
        for indexes, times in folded.items()
    ]
    return sorted(found, key=lambda burst: (-burst.runs, -burst.times, burst.at))


def _names(indexes: Iterable[int], subjects: Sequence[Subject]) -> tuple[str, ...]:
    return tuple(subjects[index].name for index in sorted(indexes)[:_JOBS_SHOWN])
