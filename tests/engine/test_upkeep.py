"""Upkeep: waiting that lasted too long, runs and machine looked at, old rows gone. On every database."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest

from rota.core.liveness import OnSilence
from rota.engine import upkeep
from rota.engine.tallies import tally
from rota.operations import jobs
from rota.operations.database import contradictions
from rota.ports.glances import OldRecord
from rota.ports.records import first_id
from rota.testing import FakeClock, HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, HOUR, MINUTE, OK, job, record_of, runs_of, save, states

pytestmark = pytest.mark.anyio


async def test_a_run_is_missed_when_it_waits_longer_than_its_queue_timeout(hand: HandCranked, clock: FakeClock) -> None:
    """SPEC 4: "waiting in the queue is bounded by `queue_timeout` (default none; then `missed: queue_timeout`)"."""
    await save(hand, job("patient", "*/10 * * * *"), job("hasty", "*/10 * * * *", queue_timeout=5 * MINUTE), slots=0)
    clock.set(NOW + 10 * MINUTE)
    await hand.step()
    clock.set(NOW + 15 * MINUTE)
    await hand.engine.reconcile.step()
    assert await states(hand, "hasty") == {"missed: queue_timeout": 1}
    assert await states(hand, "patient") == {"queued": 1}
    assert await contradictions(hand.site.store) == []


async def test_runs_and_machine_are_on_record_when_looked_at(hand: HandCranked) -> None:
    """SPEC 7: "each run's liveness …, and a machine snapshot"."""
    hand.action._decide = lambda _: (HOUR, OK)
    await save(hand, job("slow", "manual", agent="coder"))
    await jobs.run_job(hand.site, job="slow")
    await hand.step()
    await hand.engine.watch.step()
    (run,) = await runs_of(hand, "slow")
    (beat,) = await hand.site.store.read(lambda tx: tx.heartbeats())
    assert beat[:3] == ("wrk_1", run.id, "working")
    (snapshot,) = await hand.site.store.read(lambda tx: tx.snapshots(since=0, most=5))
    assert snapshot.worker == "wrk_1"
    assert (snapshot.active_workers, snapshot.active_agents, snapshot.running) == (1, 1, 1)


@pytest.mark.parametrize(("policy", "state"), [(OnSilence.FLAG, "running"), (OnSilence.FAIL, "failed: silent")])
async def test_silence_is_flagged_or_fails_the_run_when_it_lasts(
    hand: HandCranked, clock: FakeClock, policy: OnSilence, state: str
) -> None:
    """SPEC 5: "*All* evidence absent for `silence_after` (10m) flags the run"; "`on_silence: flag|fail`"."""
    hand.action._decide = lambda _: (HOUR, OK)
    await save(hand, job("slow", "manual", on_silence=policy))
    await jobs.run_job(hand.site, job="slow")
    await hand.step()
    clock.set(NOW + 9 * MINUTE)
    await hand.engine.watch.step()
    await hand.step()
    assert await states(hand, "slow") == {"running": 1}
    clock.set(NOW + 10 * MINUTE)
    await hand.engine.watch.step()
    await hand.step()
    assert await states(hand, "slow") == {state: 1}


async def test_old_runs_go_and_the_latest_stay_when_pruned(
    hand: HandCranked, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPEC 12: "succeeded 30d, failed 90d, at least 100 per job"."""
    monkeypatch.setattr(upkeep, "KEPT_PER_JOB", 3)
    monkeypatch.setattr(upkeep, "BATCH", 2)
    results = iter([FAILED, OK, OK, OK, OK, OK, FAILED, OK, OK])
    hand.action._decide = lambda _: (timedelta(), next(results, OK))
    await save(hand, job("daily", "0 9 * * *"))
    await hand.crank(NOW + timedelta(days=9))
    assert len(await runs_of(hand, "daily")) == 9
    clock.set(NOW + timedelta(days=38))
    await hand.engine.prune.step()
    assert [run.state for run in await runs_of(hand, "daily")] == ["failed", "failed", "succeeded", "succeeded"]
    clock.set(NOW + timedelta(days=98))
    await hand.engine.prune.step()
    assert [run.state for run in await runs_of(hand, "daily")] == ["failed", "succeeded", "succeeded"]


async def test_runs_stay_counted_by_the_day_of_their_zone_when_pruned(
    hand: HandCranked, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "KEPT_PER_JOB", 1)
    monkeypatch.setattr(upkeep, "BATCH", 3)
    results = iter([FAILED, OK, OK])
    hand.action._decide = lambda _: (MINUTE, next(results, OK))
    # The second time of a day in UTC is on the day after in Auckland.
    await save(hand, job("daily", "0 9,12 * * *", timing={"zone": "UTC"}), job("gone", "0 12 * * *"))
    await save(hand, job("far", "0 9,12 * * *", timing={"zone": "Pacific/Auckland"}))
    await hand.crank(NOW + timedelta(days=2))
    record = await record_of(hand, "far")
    before = Counter(run.state for run in await runs_of(hand, "far"))
    await jobs.remove_job(hand.site, job="gone")
    clock.set(NOW + timedelta(days=100))
    assert await upkeep.prune(hand.site) > 3
    daily = await record_of(hand, "daily")
    tallies = await hand.site.store.read(lambda tx: tx.tallies_of(job_id=daily.id, since=""))
    assert [(day, count) for day, _, count, _ in tallies] == [("2026-03-02", 1), ("2026-03-03", 2)]
    far = await hand.site.store.read(lambda tx: tx.tallies_of(job_id=record.id, since=""))
    assert {day for day, *_ in far} == {"2026-03-03", "2026-03-04"}
    assert sum(count for _, _, count, _ in far) == sum(before.values()) - 1
    assert sum(seconds for *_, seconds in (*tallies, *far)) == 60.0 * (3 + sum(before.values()) - 1)
    assert await upkeep.prune(hand.site) == 0
    again = await hand.site.store.read(lambda tx: tx.tallies_of(job_id=daily.id, since="2026-03-03"))
    assert again == tallies[1:]
    clock.set(NOW + timedelta(days=401))
    await upkeep.prune(hand.site)
    assert [day for day, *_ in await hand.site.store.read(lambda tx: tx.tallies_of(job_id=daily.id, since=""))] == [
        "2026-03-03"
    ]


def test_skipped_times_count_for_as_many_as_they_are_and_those_of_jobs_that_are_gone_for_none() -> None:
    def old(day: datetime, job_id: str, count: int, length: int) -> OldRecord:
        return OldRecord(f"{first_id(day)}0001", job_id, "skipped", count, length)

    gone = [old(NOW, "a", 5, 0), old(NOW, "a", 1, 2_500_000), old(NOW, "b", 9, 0), old(NOW, "a", 1, -5)]
    assert tally(gone, {"a": "UTC"}) == {("a", "2026-03-02", "skipped"): (7, 2.5)}


async def test_keys_are_forgotten_when_a_week_has_passed(hand: HandCranked, clock: FakeClock) -> None:
    """SPEC 12: "idempotency keys 7d"."""
    await save(hand, job("slow", "manual"))
    first = await jobs.run_job(hand.site, job="slow", key="k")
    clock.set(NOW + timedelta(days=7))
    await hand.engine.prune.step()
    assert (await jobs.run_job(hand.site, job="slow", key="k")).run_id == first.run_id
    clock.set(NOW + timedelta(days=7, microseconds=1))
    await hand.engine.prune.step()
    assert (await jobs.run_job(hand.site, job="slow", key="k")).is_new
