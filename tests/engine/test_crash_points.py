"""A worker that dies at a named point: each time the next one finds the documented state, on every database."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from rota.core.backoff import Retry
from rota.core.definition import PythonAction, define
from rota.core.job import Timing
from rota.core.schedule import parse_schedule
from rota.core.settlement import SettleRules
from rota.operations import jobs
from rota.operations.database import contradictions
from rota.operations.views import job_view
from rota.ports.action import Output, Result, Started, Work
from rota.ports.store import Store
from rota.testing import FakeAction, FakeClock, HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import MINUTE, job, runs_of, save, states, used_slots

pytestmark = pytest.mark.anyio
# Where the first worker dies, what the second one makes of its run, and how often its work was begun in all.
POINTS = {
    "after the fire": ("succeeded", 1),
    "in preflight": ("succeeded", 1),
    "before the start": ("succeeded", 1),
    "after the start": ("lost", 1),
    "in the work": ("lost", 1),
    "before the record": ("lost", 1),
    "after the record": ("succeeded", 1),
}


class MortalAction(FakeAction):
    """Work that never gets past a point."""

    def __init__(self, clock: FakeClock, point: str) -> None:
        super().__init__(clock)
        self.point = point
        self.begun: list[str] = []

    async def preflight(self, work: Work) -> str | None:
        await self._dies("in preflight")
        return await super().preflight(work)

    async def perform(self, work: Work, output: Output, started: Started) -> Result:
        await self._dies("before the start")

        async def begin() -> bool:
            is_ours = await started()
            self.begun.append(work.run_id)
            await self._dies("after the start")
            return is_ours

        result = await super().perform(work, output, begin)
        await self._dies("in the work")
        return result

    async def _dies(self, point: str) -> None:
        if point == self.point:
            self.sleeping += 1
            self._clock.changed.set()
            await asyncio.Event().wait()


async def live_until(hand: HandCranked, point: str) -> None:
    """As a worker does, but it stops for good at the point."""
    if point == "after the fire":
        # The commit is the last thing that happens: nobody hears of it.
        hand.engine.bench.start = lambda _: None  # type: ignore[method-assign]
    await hand.engine.fire.step()
    await hand.engine.claim.step()
    await hand._settle()
    if point == "after the record":
        await hand.step()


async def second_life(store: Store, clock: FakeClock) -> tuple[HandCranked, MortalAction]:
    action = MortalAction(clock, "never")
    hand = HandCranked(store, clock, worker="wrk_2", seed=2, action=action)
    hand.machine.pid = 2
    await hand.open()
    await hand.step()
    return hand, action


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("cause", ["schedule", "manual"])
async def test_a_run_is_in_the_documented_state_when_its_worker_died(
    store: Store, clock: FakeClock, point: str, cause: str
) -> None:
    """GUARANTEES: "crash at each named point …: the documented state each time"; G3 and G5."""
    action = MortalAction(clock, point)
    first = HandCranked(store, clock, action=action)
    await first.open()
    await save(first, job("work", "every 1h" if cause == "schedule" else "manual", agent="coder"))
    if cause == "manual":
        await jobs.run_job(first.site, job="work")
    await live_until(first, point)
    second, other = await second_life(store, clock)
    state, begun = POINTS[point]
    assert await states(second, "work") == {state: 1}
    assert len(action.begun) + len(other.begun) == begun
    assert (await used_slots(second), await contradictions(store)) == (0, [])


async def test_a_retry_is_made_when_a_started_run_was_lost_and_its_job_allows_it(
    store: Store, clock: FakeClock
) -> None:
    first = HandCranked(store, clock, action=MortalAction(clock, "in the work"))
    await first.open()
    await save(first, job("work", "every 1h", settle=SettleRules(retry=Retry(on_lost=1, first=MINUTE))))
    await live_until(first, "in the work")
    second, _ = await second_life(store, clock)
    await second.crank(NOW + 5 * MINUTE)
    found = await runs_of(second, "work")
    assert [(run.state, run.attempt, run.cause) for run in found] == [
        ("lost", 1, "schedule"),
        ("succeeded", 2, "retry"),
    ]


async def test_a_call_in_the_same_process_is_lost_when_its_worker_died_after_the_claim(
    store: Store, clock: FakeClock
) -> None:
    """It has no child whose spawn could be put on record, so the claim is its start: never twice, perhaps not once."""
    action = MortalAction(clock, "before the start")
    first = HandCranked(store, clock, action=action)
    await first.open()
    timing = Timing(schedule=parse_schedule("every 1h", now=NOW))
    await save(first, define("call", timing, PythonAction(target="a:b")))
    await live_until(first, "before the start")
    second, other = await second_life(store, clock)
    assert await states(second, "call") == {"lost": 1}
    assert (action.begun, other.begun) == ([], [])


async def test_a_job_is_paused_when_it_took_its_worker_with_it_three_times(store: Store, clock: FakeClock) -> None:
    """GUARANTEES G16."""
    for number in range(3):
        hand = HandCranked(store, clock, worker=f"wrk_{number}", seed=number, action=MortalAction(clock, "in the work"))
        hand.machine.pid = number
        await hand.open()
        if not number:
            await save(hand, job("deadly", "every 10m"))
        # An interval counts from the loss, which is noticed when the next worker comes.
        clock.set(clock.now() + timedelta(minutes=10))
        await live_until(hand, "in the work")
    last = HandCranked(store, clock, worker="wrk_9", seed=9)
    last.machine.pid = 9
    await last.open()
    await last.crank(clock.now() + timedelta(hours=1))
    assert await states(last, "deadly") == {"lost": 3}
    shown = job_view(clock.now(), await jobs.find_job(last.site, "deadly"))
    assert (shown.status, shown.paused_until) == ("paused", None)
    assert "3" in (shown.pause_note or "")
