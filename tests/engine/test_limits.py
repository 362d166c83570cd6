"""Limits that are changed while the engine works, on every database."""

from __future__ import annotations

import pytest

from rota.errors import NotFoundError, ScheduleError
from rota.ledger.site import Settings
from rota.operations import jobs
from rota.operations.limits import LimitScope, list_limits, set_limit
from rota.ports.store import Store
from rota.testing import FakeClock, HandCranked
from tests.engine.jobs import HOUR, OK, job, save, states

pytestmark = pytest.mark.anyio


async def waiting(hand: HandCranked, count: int, **fields: object) -> None:
    """So many jobs with a run each, in a pool of one."""
    hand.action._decide = lambda _: (HOUR, OK)
    await save(hand, *(job(f"j{number}", "manual", **fields) for number in range(count)), slots=1)
    for number in range(count):
        await jobs.run_job(hand.site, job=f"j{number}")
    await hand.step()


async def running(hand: HandCranked, count: int) -> int:
    return sum([(await states(hand, f"j{number}"))["running"] for number in range(count)])


async def test_more_runs_begin_when_a_pool_grows(hand: HandCranked) -> None:
    """SPEC 5: pools are "changed live by `rota pool set`"."""
    await waiting(hand, 4)
    assert await running(hand, 4) == 1
    await set_limit(hand.site, scope=LimitScope.POOL, name="local", size=3)
    await hand.step()
    assert await running(hand, 4) == 3


async def test_runs_go_on_and_none_is_added_when_a_pool_shrinks_below_them(hand: HandCranked) -> None:
    await waiting(hand, 4)
    await set_limit(hand.site, scope=LimitScope.POOL, name="local", size=3)
    await hand.step()
    shrunk = await set_limit(hand.site, scope=LimitScope.POOL, name="local", size=0)
    assert (shrunk.size, shrunk.used) == (0, 3)
    await hand.step()
    assert await running(hand, 4) == 3


async def test_an_agent_does_more_at_once_when_its_limit_grows(hand: HandCranked) -> None:
    await waiting(hand, 3, agent="coder")
    await set_limit(hand.site, scope=LimitScope.POOL, name="local", size=9)
    await hand.step()
    assert await running(hand, 3) == 1
    await set_limit(hand.site, scope=LimitScope.AGENT, name="coder", size=2)
    await hand.step()
    assert await running(hand, 3) == 2
    shown = {(limit.scope, limit.name): (limit.size, limit.used) for limit in (await list_limits(hand.site)).items}
    assert shown == {("agent", "coder"): (2, 2), ("pool", "local"): (9, 2), ("all", ""): (None, 2)}


async def test_all_runs_together_are_limited_when_the_settings_say_so(store: Store, clock: FakeClock) -> None:
    hand = HandCranked(store, clock, settings=Settings(max_concurrent=2))
    await hand.open()
    await waiting(hand, 4)
    await set_limit(hand.site, scope=LimitScope.POOL, name="local", size=9)
    await hand.step()
    assert await running(hand, 4) == 2


@pytest.mark.parametrize("size", [-1, 100_001])
async def test_a_size_is_refused_when_it_is_out_of_range(hand: HandCranked, size: int) -> None:
    with pytest.raises(ScheduleError, match="a number from 0 to 100000"):
        await set_limit(hand.site, scope=LimitScope.POOL, name="local", size=size)


async def test_an_agent_is_refused_when_no_job_belongs_to_it(hand: HandCranked) -> None:
    with pytest.raises(NotFoundError, match='No job belongs to an agent "nobody"'):
        await set_limit(hand.site, scope=LimitScope.AGENT, name="nobody", size=2)
    assert (await list_limits(hand.site)).items == ()
