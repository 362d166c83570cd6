"""What is wrong is told, each by a real fault, and is no longer told when it is cured. On every database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from rota.core.run import Cause, RunState
from rota.core.settlement import SettleRules
from rota.ledger.rows import queue_row, run_row
from rota.ledger.site import Site
from rota.operations import hints, jobs, limits
from rota.operations.overview.showing import show_overview
from rota.operations.overview.views import Overview, ProblemKind, ProblemView, Severity
from rota.ports.records import micros
from rota.ports.store import Store
from rota.testing import FakeAction, FakeClock, HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, HOUR, MINUTE, OK, job, record_of, runs_of, save
from tests.operations.ward import sql

pytestmark = pytest.mark.anyio
SECOND = timedelta(seconds=1)


def told(found: Overview) -> list[tuple[str, str, str | None]]:
    return [(one.kind.value, one.severity.value, one.job) for one in found.problems]


async def kinds(site: Site) -> list[str]:
    return [one.kind.value for one in (await show_overview(site)).problems]


async def only(site: Site, kind: ProblemKind) -> ProblemView:
    """The one problem, which says what it is, what cures it, and what to type."""
    (problem,) = (await show_overview(site)).problems
    assert problem.kind is kind
    assert problem.message.endswith(".")
    assert problem.cure
    assert problem.command.startswith("rota ")
    return problem


async def beat(hand: HandCranked) -> None:
    await hand.engine.beat.step()


async def later(hand: HandCranked, wait: timedelta) -> None:
    """Time passes, and the worker lives."""
    hand.clock.set(hand.clock.now() + wait)
    await beat(hand)


async def under_way(hand: HandCranked, name: str) -> str:
    """A run that does not end by itself."""
    hand.action._decide = lambda _: (100 * HOUR, OK)
    requested = await jobs.run_job(hand.site, job=name)
    await hand.step()
    return requested.run_id


async def test_nothing_is_wrong_when_all_goes_well(hand: HandCranked, site: Site) -> None:
    await save(hand, job("tick", "every 5m"), job("daily", "0 9 * * *", agent="coder"), slots=3)
    await hand.crank(NOW + 7 * MINUTE)
    await beat(hand)
    await under_way(hand, "daily")
    await jobs.run_job(site, job="daily")
    await jobs.pause_job(site, job="tick")
    found = await show_overview(site)
    assert (found.problems, found.left_out) == ((), 0)
    assert (found.jobs, found.paused, found.failing, found.running) == (2, 1, 0, 1)
    assert [(one.priority, one.depth) for one in found.queue] == [("manual", 1), ("scheduled", 0), ("corrective", 0)]
    assert [(one.scope, one.name, one.size, one.used) for one in found.slots] == [
        ("agent", "coder", 1, 1),
        ("all", "", None, 1),
        ("pool", "local", 3, 1),
    ]
    assert [worker.id for worker in found.workers] == ["wrk_1"]
    assert [(one.job, one.source) for one in found.coming[:1]] == [("daily", "baseline-cron")]
    assert len(found.coming) == 10


async def test_an_empty_store_has_no_problem(store: Store, site: Site) -> None:
    await store.write(lambda tx: tx.end_worker(id="wrk_1", now=micros(NOW)))
    found = await show_overview(site)
    assert (found.problems, found.jobs, found.workers, found.coming) == ((), 0, (), ())


async def test_what_is_planned_without_a_worker_is_stalled(hand: HandCranked, site: Site, clock: FakeClock) -> None:
    await save(hand, job("daily", "0 11 * * *"))
    await hand.engine.lease.leave()
    problem = await only(site, ProblemKind.STALLED)
    assert (problem.severity, problem.command) == (Severity.WARN, "rota up")
    assert problem.message == "No worker is alive; the next due time is at 2026-03-02T11:00:00+00:00."
    clock.set(NOW + HOUR)
    problem = await only(site, ProblemKind.STALLED)
    assert problem.severity is Severity.BAD
    assert "the next due time was at" in problem.message
    other = HandCranked(site.store, clock, worker="wrk_2", seed=2)
    await other.open()
    assert await kinds(site) == []


async def test_a_run_that_waits_without_a_worker_is_stalled(hand: HandCranked, site: Site) -> None:
    await save(hand, job("hello", "manual"))
    await jobs.run_job(site, job="hello")
    await hand.engine.lease.leave()
    problem = await only(site, ProblemKind.STALLED)
    assert (problem.severity, problem.message) == (Severity.BAD, "No worker is alive; 1 run waits.")


async def test_a_killed_worker_is_told_until_an_hour_after_it_was_cleaned_up_after(
    hand: HandCranked, site: Site, clock: FakeClock
) -> None:
    await save(hand, job("slow", "manual"))
    await under_way(hand, "slow")
    clock.set(NOW + 61 * SECOND)
    problem = await only(site, ProblemKind.WORKER_DEAD)
    assert (problem.severity, problem.worker, problem.since) == (Severity.BAD, "wrk_1", NOW)
    assert problem.command == "rota up"
    other = HandCranked(site.store, clock, worker="wrk_2", seed=2, action=FakeAction(clock))
    other.machine.pid = 2
    await other.open()
    problem = await only(site, ProblemKind.WORKER_DEAD)
    assert (problem.severity, problem.worker) == (Severity.WARN, "wrk_1")
    assert "was resolved at 2026-03-02T10:01:01" in problem.message
    assert [run.state for run in await runs_of(hand, "slow")] == ["lost"]
    await later(other, HOUR - SECOND)
    assert await kinds(site) == ["worker_dead"]
    await later(other, SECOND)
    assert await kinds(site) == []


async def test_a_worker_that_stopped_or_came_back_is_no_problem(
    hand: HandCranked, site: Site, clock: FakeClock
) -> None:
    other = HandCranked(site.store, clock, worker="wrk_2", seed=2)
    other.machine.pid = 2
    other.machine.alive = {1}
    await other.open()
    await other.engine.lease.leave()
    assert await kinds(site) == []
    await later(other, 61 * SECOND)
    await other.engine.reconcile.step()
    assert await kinds(site) == ["worker_dead"]
    await beat(hand)
    assert await kinds(site) == []


async def test_a_due_time_that_nobody_fires_is_late_when_a_worker_lives(hand: HandCranked, site: Site) -> None:
    await save(hand, job("tick", "*/5 * * * *"))
    await later(hand, 6 * MINUTE - SECOND)
    assert await kinds(site) == []
    await later(hand, SECOND)
    problem = await only(site, ProblemKind.LATE)
    assert (problem.job, problem.since, problem.severity) == ("tick", NOW + 5 * MINUTE, Severity.BAD)
    await hand.step()
    assert await kinds(site) == []


async def test_a_missed_time_is_told_until_the_job_has_run(hand: HandCranked, site: Site) -> None:
    await save(hand, job("daily", "0 11 * * *"), job("hourly", "0 * * * *"))
    await later(hand, 4 * HOUR - 10 * MINUTE)
    await hand.step()
    found = await show_overview(site)
    assert told(found) == [("missed", "warn", "daily"), ("missed", "warn", "hourly")]
    daily, hourly = found.problems
    assert daily.message == "daily missed the due time of 2026-03-02T11:00:00+00:00 (late)."
    assert hourly.message == "hourly missed 3 due times, the first of 2026-03-02T11:00:00+00:00 (late)."
    assert daily.since == NOW + HOUR
    await hand.crank(NOW + 4 * HOUR)
    await beat(hand)
    assert (await only(site, ProblemKind.MISSED)).job == "daily"
    await jobs.run_job(site, job="daily")
    assert await kinds(site) == []


async def test_times_that_were_skipped_are_not_missed(hand: HandCranked, site: Site) -> None:
    await save(hand, job("hourly", "0 * * * *", timing={"until": NOW + 30 * MINUTE}), job("paused", "0 * * * *"))
    await jobs.pause_job(site, job="paused", until=NOW + 3 * HOUR)
    await hand.crank(NOW + 4 * HOUR)
    await beat(hand)
    assert "skipped" in [run.state for run in await runs_of(hand, "paused")]
    assert await kinds(site) == []


async def test_failures_are_bad_from_the_one_on_that_is_told(hand: HandCranked, site: Site) -> None:
    await save(hand, job("patient", "* * * * *", settle=SettleRules(notify_after=3)), job("broken", "*/2 * * * *"))
    hand.action._decide = lambda _: (timedelta(), FAILED)
    await hand.crank(NOW + 2 * MINUTE)
    await beat(hand)
    found = await show_overview(site)
    assert told(found) == [("failing", "bad", "broken"), ("failing", "warn", "patient")]
    assert found.failing == 2
    assert found.problems[0].message == "broken has failed once, at last: exit code 1."
    assert found.problems[0].command == "rota runs broken --failed"
    assert found.problems[1].message == "patient has failed 2 times in a row, at last: exit code 1."
    await hand.crank(NOW + 3 * MINUTE)
    await beat(hand)
    assert told(await show_overview(site))[0] == ("failing", "bad", "patient")
    await jobs.disable_job(site, job="broken")
    await jobs.pause_job(site, job="patient")
    assert await kinds(site) == []
    assert (await show_overview(site)).failing == 1
    await jobs.resume_job(site, job="patient")
    hand.action._decide = lambda _: (timedelta(), OK)
    await hand.crank(NOW + 5 * MINUTE)
    await beat(hand)
    assert await kinds(site) == []


async def test_a_job_that_a_streak_has_paused_is_told_until_it_is_resumed(hand: HandCranked, site: Site) -> None:
    await save(hand, job("broken", "* * * * *", settle=SettleRules(pause_after=2)))
    hand.action._decide = lambda _: (timedelta(), FAILED)
    await hand.crank(NOW + 2 * MINUTE)
    await beat(hand)
    problem = await only(site, ProblemKind.STREAK_PAUSED)
    assert problem.message == "broken is paused: 2 failures in a row."
    assert problem.command == "rota job resume broken"
    assert (await show_overview(site)).paused == 1
    await jobs.resume_job(site, job="broken")
    assert await kinds(site) == ["failing"]


async def test_a_silent_run_is_told_until_it_ends(hand: HandCranked, site: Site) -> None:
    await save(hand, job("slow", "manual"))
    run_id = await under_way(hand, "slow")
    await later(hand, 9 * MINUTE)
    await hand.engine.watch.step()
    assert await kinds(site) == []
    await later(hand, MINUTE)
    await hand.engine.watch.step()
    problem = await only(site, ProblemKind.SILENT)
    assert (problem.run_id, problem.worker, problem.since) == (run_id, "wrk_1", NOW)
    assert (problem.severity, problem.command) == (Severity.WARN, f"rota logs {run_id}")
    await site.store.write(lambda tx: tx.insert_output(chunk=[(run_id, 1, "stdout", micros(NOW + MINUTE), "?")]))
    assert "it last wrote at 2026-03-02T10:01:00" in (await only(site, ProblemKind.SILENT)).message
    hand.clock.set(NOW + 101 * HOUR)
    await hand.step()
    await beat(hand)
    assert await kinds(site) == []


async def test_a_run_that_waits_for_approval_is_told(hand: HandCranked, site: Site) -> None:
    await save(hand, job("deploy", "manual"))
    record = await record_of(hand, "deploy")
    (run_id,) = site.entropy.ids("run", NOW, 1)
    row = run_row(run_id, record, now=NOW, cause=Cause.MANUAL, trace_id="", state=RunState.HELD)
    place = queue_row(run_id, record, cause=Cause.MANUAL, start_after=NOW, is_held=True)
    await site.store.write(lambda tx: tx.insert_runs(new=[row]))
    await site.store.write(lambda tx: tx.enqueue(new=[place]))
    await later(hand, 2 * HOUR)
    problem = await only(site, ProblemKind.HELD)
    assert (problem.run_id, problem.since) == (run_id, NOW)


async def test_runs_that_wait_for_long_are_told_together(hand: HandCranked, site: Site) -> None:
    await save(hand, job("slow", "manual"), job("other", "manual"), slots=1)
    await under_way(hand, "slow")
    first = await jobs.run_job(site, job="other")
    await jobs.run_job(site, job="other")
    await later(hand, HOUR - SECOND)
    await jobs.run_job(site, job="slow")
    assert await kinds(site) == []
    await later(hand, SECOND)
    problem = await only(site, ProblemKind.WAITING)
    assert (problem.job, problem.run_id, problem.since) == ("other", first.run_id, NOW)
    assert problem.message == (
        f"{first.run_id} and 1 more of other have waited 1h, for this: "
        "at_capacity: 1 of 1 runs of the pool local are under way."
    )
    hand.action._decide = lambda _: (timedelta(), OK)
    await limits.set_limit(site, name="local", size=9)
    await hand.step()
    assert await kinds(site) == []


async def test_the_worst_come_first_and_the_rest_is_counted(hand: HandCranked, site: Site) -> None:
    names = [f"j{number:02}" for number in range(60)]
    await save(hand, *(job(name, "0 11 * * *") for name in names), job("late", "30 10 * * *"))
    await sql(site.store, "UPDATE plans SET failure_count = 1 WHERE source = 'baseline-cron'")
    await later(hand, 40 * MINUTE)
    found = await show_overview(site)
    assert (len(found.problems), found.left_out, found.failing) == (50, 12, 61)
    assert told(found)[:2] == [("late", "bad", "late"), ("failing", "bad", "j00")]


async def test_paused_are_those_whose_pause_has_not_ended(hand: HandCranked, site: Site) -> None:
    names: Sequence[str] = ("forever", "a-while", "by-hint", "off", "free")
    await save(hand, *(job(name, "0 11 * * *") for name in names), job("hand", "manual"))
    for name in ("forever", "hand"):
        await jobs.pause_job(site, job=name)
    await jobs.pause_job(site, job="a-while", until=NOW + HOUR)
    await hints.set_hint(site, job="by-hint", pause_until=NOW + 2 * HOUR, reason="the site is down", ttl="3h")
    await jobs.disable_job(site, job="off")
    assert (await show_overview(site)).paused == 4
    shown = (await jobs.list_jobs(site)).items
    assert [one.name for one in shown if one.status == "paused"] == ["a-while", "by-hint", "forever", "hand"]
    await later(hand, HOUR)
    assert (await show_overview(site)).paused == 3
