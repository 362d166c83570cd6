"""Recovery: what a dead worker held is resolved, on every database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rota.core.backoff import Retry
from rota.core.settlement import SettleRules
from rota.operations import jobs
from rota.operations.database import contradictions
from rota.operations.views import job_view
from rota.ports.store import Store
from rota.testing import FakeAction, FakeClock, HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import HOUR, MINUTE, OK, job, record_of, runs_of, save, states, used_slots

pytestmark = pytest.mark.anyio


def second(store: Store, clock: FakeClock, *, pid: int = 2, alive: tuple[int, ...] = ()) -> HandCranked:
    """Another worker on the same machine, with another process number."""
    hand = HandCranked(store, clock, worker="wrk_2", seed=2, action=FakeAction(clock))
    hand.machine.pid = pid
    hand.machine.alive = set(alive)
    return hand


async def running(hand: HandCranked, **fields: object) -> None:
    """A run under way, that will not end by itself."""
    hand.action._decide = lambda _: (100 * HOUR, OK)
    await save(hand, job("slow", "manual", **fields))
    await jobs.run_job(hand.site, job="slow")
    await hand.step()
    assert await states(hand, "slow") == {"running": 1}


async def test_a_run_is_lost_when_its_worker_has_died_on_this_machine(
    hand: HandCranked, store: Store, clock: FakeClock
) -> None:
    """SPEC 7: "`running` runs without a live worker …; the run becomes `lost` with a note"."""
    await running(hand, agent="coder", concurrency_key="repo")
    other = second(store, clock)
    await other.open()
    (run,) = await runs_of(hand, "slow")
    assert (run.state, run.error) == ("lost", "its worker vanished; whether it finished is not known")
    assert other.machine.ended == [run.id]
    assert await used_slots(other) == 0
    assert await contradictions(store) == []


async def test_a_run_goes_on_when_its_worker_lives(hand: HandCranked, store: Store, clock: FakeClock) -> None:
    await running(hand)
    other = second(store, clock, alive=(1,))
    await other.open()
    await other.engine.reconcile.step()
    assert await states(hand, "slow") == {"running": 1}


async def test_a_run_is_lost_when_the_lease_of_its_worker_lapsed(
    hand: HandCranked, store: Store, clock: FakeClock
) -> None:
    """GUARANTEES G6: "a dead worker's runs are resolved within 65 s"."""
    await running(hand)
    other = second(store, clock, alive=(1,))
    await other.open()
    clock.set(NOW + timedelta(seconds=60))
    await other.engine.reconcile.step()
    assert await states(hand, "slow") == {"running": 1}
    clock.set(NOW + timedelta(seconds=60, microseconds=1))
    await other.engine.reconcile.step()
    assert await states(hand, "slow") == {"lost": 1}


async def test_a_lease_holds_when_it_is_renewed(hand: HandCranked, store: Store, clock: FakeClock) -> None:
    await running(hand)
    other = second(store, clock, alive=(1,))
    await other.open()
    for minute in range(1, 5):
        clock.set(NOW + minute * timedelta(seconds=45))
        await hand.engine.beat.step()
        await other.engine.beat.step()
        await other.engine.reconcile.step()
    assert await states(hand, "slow") == {"running": 1}


async def test_a_late_result_is_refused_when_the_run_was_taken_for_lost(
    hand: HandCranked, store: Store, clock: FakeClock
) -> None:
    """GUARANTEES G4: "accepted only with the current token, else refused and logged"."""
    await running(hand)
    other = second(store, clock, alive=(1,))
    await other.open()
    clock.set(NOW + 2 * MINUTE)
    await other.engine.reconcile.step()
    clock.set(NOW + 101 * HOUR)
    await hand.step()
    assert await states(hand, "slow") == {"lost": 1}
    assert await used_slots(hand) == 0


async def test_a_worker_ends_its_runs_when_others_took_it_for_dead(
    hand: HandCranked, store: Store, clock: FakeClock
) -> None:
    await running(hand)
    other = second(store, clock, alive=(1,))
    await other.open()
    clock.set(NOW + 2 * MINUTE)
    await other.engine.reconcile.step()
    await hand.engine.beat.step()
    await hand.step()
    assert hand.engine.bench.run_ids == ()
    assert await states(hand, "slow") == {"lost": 1}


async def test_a_lost_run_is_done_again_only_when_that_is_allowed(
    hand: HandCranked, store: Store, clock: FakeClock
) -> None:
    """SPEC 6: "`retry.on_lost: n` … allows it"."""
    await running(hand, settle=SettleRules(retry=Retry(on_lost=1)))
    other = second(store, clock)
    await other.open()
    await other.crank(clock.now() + MINUTE)
    lost, again = await runs_of(hand, "slow")
    assert (lost.state, again.state, again.cause, again.attempt) == ("lost", "succeeded", "retry", 2)


async def test_a_claimed_run_waits_again_when_its_start_was_never_recorded(
    hand: HandCranked, store: Store, clock: FakeClock
) -> None:
    """SPEC 6: "A claimed run whose start was never recorded goes back to the queue"."""
    from rota.ledger.claim import claim_waiting  # noqa: PLC0415 - the first half of a claim, then the crash

    await save(hand, job("slow", "manual"))
    await jobs.run_job(hand.site, job="slow")
    await store.write(lambda tx: claim_waiting(tx, clock.now(), hand.site))
    other = second(store, clock)
    await other.open()
    assert await states(hand, "slow") == {"queued": 1}
    assert await contradictions(store) == []
    await other.crank(clock.now() + MINUTE)
    assert await states(hand, "slow") == {"succeeded": 1}


async def test_a_job_is_paused_when_it_took_its_worker_down_three_times(
    hand: HandCranked, store: Store, clock: FakeClock
) -> None:
    """GUARANTEES G16: "a job that kills its worker three times is paused with a note"."""
    await running(hand)
    worker = hand
    for number in range(2, 5):
        other = HandCranked(store, clock, worker=f"wrk_{number}", seed=number, action=FakeAction(clock))
        other.action._decide = lambda _: (100 * HOUR, OK)
        other.machine.pid = number
        await other.open()
        if number < 4:
            await jobs.run_job(other.site, job="slow")
            await other.step()
        worker = other
    shown = job_view(clock.now(), await record_of(worker, "slow"))
    assert (shown.status, shown.pause_note) == ("paused", "it took its worker down 3 times")


async def test_nothing_is_lost_when_two_workers_fire_the_same_jobs(
    hand: HandCranked, store: Store, clock: FakeClock
) -> None:
    """GUARANTEES G1: "an occurrence is recorded once per (job, due time), with any number of schedulers"."""
    import asyncio  # noqa: PLC0415

    await save(hand, *(job(f"j{number}", "*/10 * * * *") for number in range(40)), slots=7)
    other = second(store, clock, alive=(1,))
    await other.open()
    for minute in range(0, 61, 5):
        clock.set(NOW + minute * MINUTE)
        for _ in range(8):
            await asyncio.gather(hand.step(), other.step())
    for number in range(40):
        found = await runs_of(hand, f"j{number}")
        assert len(found) == len({run.due_at for run in found}) == 6
        assert {run.state for run in found} == {"succeeded"}
    assert {run.worker for run in found} <= {"wrk_1", "wrk_2"}
    assert await contradictions(store) == []
