"""The lease of a worker: renewed, guarded, lost and begun anew, on every database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rota.app import SystemClock, system_now
from rota.operations import jobs
from rota.ports.action import Output, Result, Started, Work
from rota.ports.store import Store
from rota.testing import FakeAction, FakeClock, HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import OK, job, runs_of, save, states
from tests.engine.test_recovery import running, second

pytestmark = pytest.mark.anyio
SECOND = timedelta(seconds=1)


async def cut_off(hand: HandCranked, *loops: str) -> None:
    """Let steps of an engine find no database."""
    await hand.site.store.close()
    for name in loops:
        await getattr(hand.engine, name).step()
    await hand.site.store.open()


async def test_a_worker_ends_its_own_runs_when_it_cannot_renew_and_others_could_take_them(
    hand: HandCranked, clock: FakeClock
) -> None:
    """SPEC 7: "A worker on PostgreSQL that cannot renew ends its own runs before the lease does"."""
    await running(hand)
    clock.set(NOW + 44 * SECOND)
    await hand.engine.guard.step()
    assert hand.engine.bench.run_ids
    clock.set(NOW + 45 * SECOND)
    await hand.engine.guard.step()
    await hand.step()
    is_shared = hand.site.store.is_shared
    assert await states(hand, "slow") == ({"lost: fenced": 1} if is_shared else {"running": 1})


async def test_a_worker_keeps_its_runs_when_it_renews_in_time(hand: HandCranked, clock: FakeClock) -> None:
    await running(hand)
    for beat in range(1, 10):
        clock.set(NOW + beat * 15 * SECOND)
        await hand.engine.beat.step()
        await hand.engine.guard.step()
    assert await states(hand, "slow") == {"running": 1}


async def test_others_get_the_time_of_a_lease_when_the_database_was_away(
    hand: HandCranked, store: Store, clock: FakeClock
) -> None:
    """SPEC 7: "after a database outage reconcilers first wait one full lease"."""
    await running(hand)
    other = second(store, clock, alive=(1,))
    await other.open()
    clock.set(NOW + 61 * SECOND)
    await cut_off(other, "beat")
    await other.engine.reconcile.step()
    assert await states(hand, "slow") == ({"running": 1} if store.is_shared else {"lost": 1})
    clock.set(NOW + 122 * SECOND)
    await other.engine.reconcile.step()
    assert await states(hand, "slow") == {"lost": 1}


async def test_a_worker_starts_anew_when_it_was_taken_for_dead(
    hand: HandCranked, store: Store, clock: FakeClock
) -> None:
    """GUARANTEES: "SIGSTOP past the lease, then SIGCONT: the late result is refused"."""
    await running(hand)
    other = second(store, clock, alive=(1,))
    await other.open()
    clock.set(NOW + 61 * SECOND)
    await other.engine.reconcile.step()
    await hand.engine.beat.step()
    await hand.step()
    assert await states(hand, "slow") == {"lost": 1}
    assert [run.error for run in await runs_of(hand, "slow")] == [
        "its worker vanished; whether it finished is not known"
    ]
    workers = {worker.id: worker for worker in await store.read(lambda tx: tx.live_workers())}
    assert workers["wrk_1"].status == "alive"
    # What it takes from now on is resolved again if it dies.
    await jobs.run_job(hand.site, job="slow")
    await hand.step()
    clock.set(NOW + 183 * SECOND)
    await other.engine.reconcile.step()
    assert await states(hand, "slow") == {"lost": 2}


async def test_a_run_times_out_when_its_time_on_the_clock_is_over(hand: HandCranked) -> None:
    await running(hand, timeout=timedelta(minutes=5))
    await hand.crank(NOW + timedelta(minutes=6))
    (run,) = await runs_of(hand, "slow")
    assert (run.state, run.reason, run.error) == ("timed_out", "timeout", "it took longer than 5m")
    assert run.ended_at == int((NOW + timedelta(minutes=5)).timestamp() * 1_000_000)


async def test_results_wait_when_the_database_is_away(hand: HandCranked, clock: FakeClock) -> None:
    """GUARANTEES G15: "database away …: nothing starts, results wait"."""
    hand.action._decide = lambda _: (timedelta(minutes=1), OK)
    await save(hand, job("slow", "manual"))
    await jobs.run_job(hand.site, job="slow")
    await hand.step()
    clock.set(NOW + timedelta(minutes=1))
    await hand._settle()
    await cut_off(hand, "record", "fire", "claim")
    assert hand.engine.has_ended
    await hand.step()
    assert await states(hand, "slow") == {"succeeded": 1}


async def test_a_clock_agrees_with_the_database_when_several_machines_share_it(store: Store) -> None:
    """SPEC 4: "Now is the database's time"."""
    wrong = SystemClock()
    wrong.offset = timedelta(hours=1)
    await wrong.agree(store)
    difference = wrong.now() - system_now()
    assert abs(difference - (timedelta() if store.is_shared else timedelta(hours=1))) < SECOND


class CutOffAction(FakeAction):
    """Work before whose start the database goes away."""

    def __init__(self, clock: FakeClock, store: Store) -> None:
        super().__init__(clock)
        self._store = store

    async def perform(self, work: Work, output: Output, started: Started) -> Result:
        await self._store.close()
        return await super().perform(work, output, started)


async def test_a_run_waits_when_its_start_cannot_be_recorded(store: Store, clock: FakeClock) -> None:
    """GUARANTEES G15: "database away or disk full: nothing starts"; a run that never began does not fail."""
    hand = HandCranked(store, clock, action=CutOffAction(clock, store))
    await hand.open()
    await save(hand, job("slow", "manual"))
    await jobs.run_job(hand.site, job="slow")
    await hand.engine.claim.step()
    while clock.next_at != NOW + SECOND:
        clock.changed.clear()
        await clock.changed.wait()
    await store.open()
    clock.set(NOW + SECOND)
    await hand.step()
    assert await states(hand, "slow") == {"succeeded": 1}
