"""For tests, ours and yours: a clock to crank, chance from a seed, work that takes no time, an engine by hand."""

from __future__ import annotations

import asyncio
import random  # noqa: TID251 - seeded
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from rota.core.action import ActionKind
from rota.core.run import RunState
from rota.core.settlement import Outcome
from rota.engine.engine import Engine
from rota.ledger.site import Settings, Site
from rota.ports.action import Output, Result, Started, Work
from rota.ports.machine import Vitals
from rota.ports.records import instant_or_none
from rota.ports.store import Store

_SUCCEEDED = Outcome(state=RunState.SUCCEEDED)


class FakeClock:
    """Time stands still until it is set. Whoever waits is woken in the order of time."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self.offset = timedelta()
        self._waiting: list[tuple[datetime, asyncio.Future[None]]] = []
        self.changed = asyncio.Event()

    def now(self) -> datetime:
        return self._now

    async def agree(self, store: Store) -> None:
        pass

    @property
    def next_at(self) -> datetime | None:
        """The first time that anybody waits for."""
        return min((at for at, _ in self._waiting), default=None)

    def set(self, now: datetime) -> None:
        """Move time; backwards, too."""
        self._now = now
        due = sorted((entry for entry in self._waiting if entry[0] <= now), key=lambda entry: entry[0])
        self._waiting = [entry for entry in self._waiting if entry[0] > now]
        for _, over in due:
            if not over.done():
                over.set_result(None)

    async def wait(self, event: asyncio.Event, *, until: datetime | None) -> bool:
        if event.is_set() or until is None:
            await event.wait()
            return True
        if until <= self._now:
            return False
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (until, over)
        self._waiting.append(entry)
        self.changed.set()
        ringing = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait((over, ringing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ringing.cancel()
            if entry in self._waiting:
                self._waiting.remove(entry)
        return event.is_set()


class SeededEntropy:
    """The same chance for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - it must be predictable
        self._seed = seed
        self._count = 0

    def ids(self, prefix: str, now: datetime, count: int) -> Sequence[str]:
        first = self._count
        self._count += count
        stamp = f"{prefix}_{int(now.timestamp() * 1_000_000):014x}{self._seed:04x}"
        return [f"{stamp}{first + index:08x}" for index in range(count)]

    def hex(self, length: int) -> str:
        return f"{self._random.getrandbits(4 * length):0{length}x}" if length else ""

    def share(self) -> float:
        return self._random.random()


class FakeAction:
    """Work that takes a while on the clock and ends as told."""

    def __init__(
        self,
        clock: FakeClock,
        decide: Callable[[Work], tuple[timedelta, Outcome]] = lambda _: (timedelta(), _SUCCEEDED),
    ) -> None:
        self._clock = clock
        self._decide = decide
        self.done: list[Work] = []
        self.sleeping = 0
        """How many runs wait for a time to come."""

    async def preflight(self, work: Work) -> str | None:  # noqa: ARG002 - there is nothing to check
        return None

    async def perform(self, work: Work, output: Output, started: Started) -> Result:
        if not await started():
            return Result(Outcome(state=RunState.CANCELLED, reason="fenced"))
        length, outcome = self._decide(work)
        await output.write("stdout", f"{work.job}\n".encode())
        self.sleeping += 1
        try:
            await self._clock.wait(asyncio.Event(), until=self._clock.now() + length)
        finally:
            self.sleeping -= 1
        self.done.append(work)
        return Result(outcome)


class NoOutput:
    """Output that nobody keeps."""

    written_at: datetime | None = None

    async def write(self, stream: str, data: bytes) -> None:
        pass

    def tail(self) -> str:
        return ""

    async def finish(self) -> None:
        pass


class SilentBell:
    """A bell that never rings: an engine must not need it."""

    async def listen(self, on_ring: Callable[[], None]) -> None:  # noqa: ARG002
        await asyncio.get_running_loop().create_future()


class FakeMachine:
    """A machine on which whoever is not listed is dead."""

    def __init__(self, pid: int = 1, alive: Sequence[int] = ()) -> None:
        self.host = "test"
        self.boot_id = "boot"
        self.pid = pid
        self.started_at = 0
        self.alive = set(alive)
        self.ended: list[str] = []

    def is_alive(self, pid: int, started_at: int) -> bool:  # noqa: ARG002
        return pid in self.alive

    def end_leftovers(self, run_id: str, token: int) -> int:  # noqa: ARG002
        self.ended.append(run_id)
        return 0

    def cpu_by_run(self) -> dict[str, float]:
        return {}

    def vitals(self) -> Vitals:
        return Vitals(0.0, 0.0, 0.0, 0)


class HandCranked:
    """A whole engine on a real store, in which time passes only when somebody turns the handle."""

    def __init__(
        self,
        store: Store,
        clock: FakeClock,
        *,
        seed: int = 0,
        action: FakeAction | None = None,
        worker: str = "wrk_1",
        settings: Settings | None = None,
    ) -> None:
        self.clock = clock
        self.action = action or FakeAction(clock)
        self.site = Site(
            store=store, clock=clock, entropy=SeededEntropy(seed), worker=worker, settings=settings or Settings()
        )
        self.machine = FakeMachine()
        self.engine = Engine(
            self.site, self.machine, SilentBell(), dict.fromkeys(ActionKind, self.action), lambda _: NoOutput()
        )

    async def open(self) -> None:
        await self.engine.open()

    async def step(self) -> None:
        """Do everything that can be done at this instant."""
        while True:
            await self.engine.fire.step()
            await self.engine.claim.step()
            await self._settle()
            if not self.engine.has_ended:
                return
            await self.engine.record.step()

    async def crank(self, until: datetime) -> None:
        """Let time pass, from one thing to do to the next."""
        await self.step()
        while (at := await self._next_at()) is not None and at <= until:
            self.clock.set(max(at, self.clock.now()))
            await self.step()
        self.clock.set(until)
        await self.step()

    async def _next_at(self) -> datetime | None:
        (wake,) = await self.site.store.read(lambda tx: tx.next_wake())
        now = int(self.clock.now().timestamp() * 1_000_000)
        (start,) = await self.site.store.read(lambda tx: tx.next_start(now=now))
        times = (instant_or_none(wake), instant_or_none(start), self.clock.next_at)
        return min((at for at in times if at is not None), default=None)

    async def _settle(self) -> None:
        """Wait until every run either waits for a time or has ended."""
        while len(self.engine.bench.run_ids) > self.action.sleeping:
            self.clock.changed.clear()
            self.engine.changed.clear()
            if len(self.engine.bench.run_ids) <= self.action.sleeping:
                return
            either = {asyncio.create_task(event.wait()) for event in (self.clock.changed, self.engine.changed)}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            for task in either:
                task.cancel()
