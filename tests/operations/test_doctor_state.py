"""The doctor finds what is stuck, and is content when it is cured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from rota.core.run import Cause, RunState
from rota.core.settlement import Outcome, SettleRules
from rota.ledger.jobs import resume_job
from rota.ledger.plans import hold_one
from rota.ledger.requests import request_run
from rota.ledger.site import Site
from rota.operations.health.findings import Findings, Status
from rota.operations.health.state import (
    check_agents,
    check_dead_workers,
    check_failing,
    check_long_runs,
    check_overdue,
    check_pools,
    check_queue,
    check_workers,
)
from rota.ports.records import RunRecord, micros
from rota.ports.store import Store, Transaction
from rota.testing import FakeAction, FakeClock, HandCranked
from tests.operations.ward import HOUR, MINUTE, NOW, examined, is_well, job, only, save, site_of, sql

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)
FAILED = Outcome(state=RunState.FAILED, reason="exit", error="exit code 1", exit_code=1)


async def put_worker(site: Site, *, lease: timedelta) -> None:
    now = site.clock.now()
    await site.store.write(
        lambda tx: tx.insert_worker(
            id="wrk_9",
            host="there",
            boot_id="boot",
            pid=99,
            process_started_at=0,
            version="1",
            now=micros(now),
            lease_until=micros(now + lease),
        )
    )


async def ask(site: Site, name: str) -> str:
    """A run that waits for somebody to do it."""

    async def body(tx: Transaction) -> str:
        record = await tx.find_job(name=name)
        assert record is not None
        return (await request_run(tx, site.clock.now(), site, await hold_one(tx, record.id))).run_id

    return await site.store.write(body)


def later(site: Site, wait: timedelta) -> None:
    assert isinstance(site.clock, FakeClock)
    site.clock.set(site.clock.now() + wait)


@pytest.fixture
async def hand(store: Store) -> HandCranked:
    """An engine whose runs take long."""
    clock = FakeClock(NOW)
    cranked = HandCranked(store, clock, action=FakeAction(clock, lambda _: (100 * HOUR, FAILED)))
    await cranked.open()
    return cranked


async def test_a_due_job_without_a_worker_is_a_failure(store: Store) -> None:
    site = site_of(store)
    assert is_well(check_workers(*await examined(site)))
    await save(site, job("tick", "every 5m first after"))
    assert "the next job is due at 2026-03-02T10:05:00" in only(check_workers(*await examined(site)), Status.WARNING)
    later(site, HOUR)
    said = "No worker is alive; jobs that are due: 1, runs that wait: 0."
    assert only(check_workers(*await examined(site)), Status.FAILURE) == said
    await put_worker(site, lease=MINUTE)
    assert is_well(check_workers(*await examined(site)))
    later(site, 2 * MINUTE)
    assert not is_well(check_workers(*await examined(site)))


async def test_a_waiting_run_without_a_worker_is_a_failure(store: Store) -> None:
    site = site_of(store)
    await save(site, job("hello"))
    await ask(site, "hello")
    assert "jobs that are due: 0, runs that wait: 1" in only(check_workers(*await examined(site)), Status.FAILURE)


async def test_a_dead_worker_that_nobody_cleaned_up_after_is_told(store: Store) -> None:
    site = site_of(store)
    await put_worker(site, lease=MINUTE)
    later(site, 2 * MINUTE)
    assert is_well(check_dead_workers((await examined(site))[0]))
    later(site, MINUTE)
    assert "wrk_9 (process 99 on there)" in only(check_dead_workers((await examined(site))[0]), Status.WARNING)
    await store.write(lambda tx: tx.end_worker(id="wrk_9", now=micros(site.clock.now())))
    assert is_well(check_dead_workers((await examined(site))[0]))


async def test_a_plan_that_is_passed_over_while_a_worker_lives_is_a_failure(store: Store) -> None:
    site = site_of(store)
    await save(site, job("tick", "every 5m first after"), file="/srv/rota.yaml")
    later(site, 5 * MINUTE + 30 * SECOND)
    await put_worker(site, lease=HOUR)
    assert is_well(check_overdue(*await examined(site)))
    later(site, MINUTE)
    said = "tick (/srv/rota.yaml:7) was due at 2026-03-02T10:05:00+00:00, and nobody has fired it."
    assert only(check_overdue(*await examined(site)), Status.FAILURE) == said
    engine = HandCranked(store, site.clock)  # type: ignore[arg-type] # it is a fake one
    await engine.open()
    await engine.step()
    assert is_well(check_overdue(*await examined(site)))


async def test_a_run_beyond_its_timeout_is_told(hand: HandCranked) -> None:
    await save(hand.site, job("slow", timeout=10 * MINUTE), job("free", timeout=None))
    run_id = await ask(hand.site, "slow")
    await hand.step()
    await ask(hand.site, "free")
    assert is_well(check_long_runs((await examined(hand.site))[0]))
    await sql(hand.site.store, "UPDATE runs SET started_at = started_at - 7200000000")
    said = f"{run_id} of slow runs for 2h, beyond its timeout of 10m."
    assert only(check_long_runs((await examined(hand.site))[0]), Status.WARNING) == said
    await sql(hand.site.store, "UPDATE runs SET started_at = started_at + 7200000000")
    assert is_well(check_long_runs((await examined(hand.site))[0]))


async def queue_of(site: Site) -> Findings:
    return await check_queue(site, (await examined(site))[0])


async def test_a_run_that_waits_for_long_says_for_what(store: Store) -> None:
    site = site_of(store)
    await save(site, job("hello"))
    run_id = await ask(site, "hello")
    later(site, 30 * MINUTE)
    assert is_well(await queue_of(site))
    later(site, HOUR)
    message = only(await queue_of(site), Status.WARNING)
    assert message.startswith(f"{run_id} of hello has waited 1h30m, for this: no worker is there to do it.")
    engine = HandCranked(store, site.clock)  # type: ignore[arg-type] # it is a fake one
    await engine.open()
    await engine.step()
    assert is_well(await queue_of(site))


async def test_runs_in_a_pool_that_lets_none_start_are_a_failure(store: Store) -> None:
    site = site_of(store)
    await save(site, job("hello", pool="gpu"), job("twin", pool="gpu"))
    await ask(site, "hello")
    await ask(site, "twin")
    assert is_well(check_pools((await examined(site))[0]))
    await store.write(lambda tx: tx.size_slot(scope="pool", name="gpu", size=0))
    findings = check_pools((await examined(site))[0])
    assert only(findings, Status.FAILURE) == "2 runs wait in the pool gpu, which lets none start: its size is 0."
    assert findings[0].cure == "Give it a size: rota pool set gpu 1"
    await sql(store, "DELETE FROM slots WHERE name = 'gpu'")
    assert "it has no size" in only(check_pools((await examined(site))[0]), Status.FAILURE)
    await store.write(lambda tx: tx.size_slot(scope="pool", name="gpu", size=1))
    assert is_well(check_pools((await examined(site))[0]))


async def failing_runs(store: Store, hand: HandCranked, name: str, times: int) -> Sequence[RunRecord]:
    """Let a job of every minute fail so often."""
    hand.action._decide = lambda _: (timedelta(), FAILED)
    record = await store.read(lambda tx: tx.find_job(name=name))
    assert record is not None
    runs: Sequence[RunRecord] = []
    while len(runs) < times:
        await hand.crank(hand.clock.now() + MINUTE)
        runs = await store.read(lambda tx: tx.runs_of_job(job_id=record.id, before="run_z", most=100))
    assert {run.cause for run in runs} == {Cause.SCHEDULE}
    return runs


async def test_a_job_that_keeps_failing_is_told(store: Store, hand: HandCranked) -> None:
    await save(hand.site, job("broken", "* * * * *"))
    await failing_runs(store, hand, "broken", 4)
    assert is_well(check_failing(*await examined(hand.site)))
    await failing_runs(store, hand, "broken", 5)
    said = "broken has failed 5 times in a row, at last: exit code 1."
    assert only(check_failing(*await examined(hand.site)), Status.WARNING) == said
    hand.action._decide = lambda _: (timedelta(), Outcome(state=RunState.SUCCEEDED))
    await hand.crank(hand.clock.now() + MINUTE)
    assert is_well(check_failing(*await examined(hand.site)))


async def test_a_job_that_a_streak_has_paused_is_told(store: Store, hand: HandCranked) -> None:
    await save(hand.site, job("broken", "* * * * *", settle=SettleRules(pause_after=2)))
    await failing_runs(store, hand, "broken", 2)
    assert only(check_failing(*await examined(hand.site)), Status.WARNING) == "broken is paused: 2 failures in a row."

    async def body(tx: Transaction) -> None:
        record = await tx.find_job(name="broken")
        assert record is not None
        await resume_job(tx, hand.clock.now(), record)

    await store.write(body)
    assert is_well(check_failing(*await examined(hand.site)))


async def test_an_agent_without_jobs_is_told(store: Store) -> None:
    site = site_of(store)
    await store.write(lambda tx: tx.save_agents(new=[("coder", "home", 12, "", None, None)]))
    assert only(check_agents((await examined(site))[0]), Status.WARNING) == "The agent coder (home:12) has no jobs."
    await save(site, job("coder/tick", agent="coder"))
    assert is_well(check_agents((await examined(site))[0]))
