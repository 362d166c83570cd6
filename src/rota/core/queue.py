"""The queue: which waiting runs start in the free slots. A blocked head never blocks others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

import msgspec


class WaitingFor(StrEnum):
    """What a queued run waits for."""

    START_AFTER = "start_after"
    PAUSE = "pause"
    EARLIER_RUN = "earlier_run"
    POOL = "at_capacity: pool"
    AGENT = "at_capacity: agent"
    KEY = "at_capacity: concurrency_key"
    ALL = "at_capacity: max_concurrent"


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A queued run as far as the choice needs it."""

    id: str
    pool: str
    agent: str | None = None
    concurrency_key: str | None = None
    start_after: datetime | None = None
    is_paused: bool = False
    waits_for_earlier: bool = False
    """An earlier run of the job must end first, by its overlap policy."""


class Capacity(msgspec.Struct, frozen=True):
    """Free slots: per pool, per agent (none: no limit), in all, and the concurrency keys in use."""

    pools: Mapping[str, int]
    agents: Mapping[str, int] = {}
    keys_in_use: frozenset[str] = frozenset()
    in_all: int | None = None


class Pick(msgspec.Struct, frozen=True):
    """The runs that start, in order, and what each of the others waits for."""

    started: tuple[Waiting, ...]
    waiting: tuple[tuple[Waiting, WaitingFor], ...]


def pick(now: datetime, runs: Iterable[Waiting], capacity: Capacity) -> Pick:
    """Choose from runs in queue order."""
    slots = _Slots(capacity)
    started, waiting = [], []
    for run in runs:
        blocked = _held_back(now, run) or slots.missing(run)
        if blocked is None:
            slots.take(run)
            started.append(run)
        else:
            waiting.append((run, blocked))
    return Pick(tuple(started), tuple(waiting))


class _Slots:
    """What is left while the choice goes on."""

    def __init__(self, capacity: Capacity) -> None:
        self._pools = dict(capacity.pools)
        self._agents = dict(capacity.agents)
        self._keys = set(capacity.keys_in_use)
        self._in_all = capacity.in_all

    def missing(self, run: Waiting) -> WaitingFor | None:
        if self._in_all is not None and self._in_all < 1:
            return WaitingFor.ALL
        if self._pools.get(run.pool, 0) < 1:
            return WaitingFor.POOL
        if run.agent is not None and self._agents.get(run.agent, 1) < 1:
            return WaitingFor.AGENT
        if run.concurrency_key in self._keys:
            return WaitingFor.KEY
        return None

    def take(self, run: Waiting) -> None:
        self._pools[run.pool] -= 1
        if run.agent is not None and run.agent in self._agents:
            self._agents[run.agent] -= 1
        if run.concurrency_key is not None:
            self._keys.add(run.concurrency_key)
        if self._in_all is not None:
            self._in_all -= 1


def _held_back(now: datetime, run: Waiting) -> WaitingFor | None:
    if run.is_paused:
        return WaitingFor.PAUSE
    if run.waits_for_earlier:
        return WaitingFor.EARLIER_RUN
    if run.start_after is not None and run.start_after > now:
        return WaitingFor.START_AFTER
    return None
