"""Why a run waits, told on every database."""

from __future__ import annotations

import pytest

from rota.core.backoff import Retry
from rota.core.overlap import Overlap, OverlapRules
from rota.core.settlement import SettleRules
from rota.operations import jobs, runs
from rota.operations.waiting import waits_for
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, HOUR, MINUTE, OK, job, runs_of, save

pytestmark = pytest.mark.anyio


async def reasons(hand: HandCranked, name: str) -> tuple[str, ...]:
    *_, latest = await runs_of(hand, name)
    assert latest.state == "queued"
    return await waits_for(hand.site, latest)


async def busy(hand: HandCranked, **fields: object) -> None:
    """A run that takes the only place of everything it names."""
    hand.action._decide = lambda _: (HOUR, OK)
    await save(hand, job("first", "manual", **fields), job("second", "manual", **fields), slots=1)
    await jobs.run_job(hand.site, job="first")
    await hand.step()
    await jobs.run_job(hand.site, job="second")
    await hand.step()


async def test_full_limits_are_named_when_a_run_waits_for_them(hand: HandCranked) -> None:
    """SPEC 4: "the run waits, showing `at_capacity`"."""
    await busy(hand, agent="coder", concurrency_key="repo")
    assert await reasons(hand, "second") == (
        "at_capacity: 1 of 1 runs of the agent coder are under way",
        "at_capacity: 1 of 1 runs of the key repo are under way",
        "at_capacity: 1 of 1 runs of the pool local are under way",
    )


async def test_the_run_before_it_is_named_when_a_run_waits_for_its_own_job(hand: HandCranked) -> None:
    hand.action._decide = lambda _: (HOUR, OK)
    await save(hand, job("slow", "*/10 * * * *", overlap=OverlapRules(Overlap.QUEUE, 1)))
    await hand.crank(NOW + 21 * MINUTE)
    first = (await runs_of(hand, "slow"))[0]
    assert await reasons(hand, "slow") == (f"already_running: {first.id} of the same job is under way",)


async def test_the_time_and_the_pause_are_named_when_a_retry_waits(hand: HandCranked) -> None:
    hand.action._decide = lambda _: (MINUTE, FAILED)
    await save(hand, job("flaky", "*/30 * * * *", settle=SettleRules(retry=Retry(max=1, first=5 * MINUTE))))
    await hand.crank(NOW + 32 * MINUTE)
    await jobs.pause_job(hand.site, job="flaky")
    assert await reasons(hand, "flaky") == ("not before 2026-03-02T10:36:00+00:00", "paused: the job is")


async def test_nobody_is_named_when_there_is_no_worker(hand: HandCranked) -> None:
    await save(hand, job("lonely", "manual"))
    await hand.engine.lease.leave()
    await jobs.run_job(hand.site, job="lonely")
    assert await reasons(hand, "lonely") == ("no worker is there to do it. Start one: rota up",)


async def test_nothing_is_named_when_a_run_does_not_wait(hand: HandCranked) -> None:
    await save(hand, job("quick", "manual"))
    requested = await jobs.run_job(hand.site, job="quick")
    await hand.step()
    assert await waits_for(hand.site, await runs.find_run(hand.site, requested.run_id)) == ()
