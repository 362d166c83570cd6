"""The life of a run, from its due time to its settlement, on every database."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from rota.core.backoff import Multiply, Retry
from rota.core.catchup import CatchUp, LateRules
from rota.core.decision import replay
from rota.core.overlap import Overlap, OverlapRules
from rota.core.run import RunState
from rota.core.settlement import Outcome, SettleRules
from rota.errors import ConflictError
from rota.operations import jobs, runs
from rota.operations.views import job_view
from rota.ports.action import Work
from rota.ports.records import instant, instant_or_none, trail_of
from rota.testing import FakeClock, HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import (
    FAILED,
    HOUR,
    MINUTE,
    OK,
    change_definition,
    clocks,
    job,
    record_of,
    runs_of,
    save,
    states,
    used_slots,
)

pytestmark = pytest.mark.anyio


async def test_a_new_interval_job_runs_at_once_and_then_after_each_completion_when_time_passes(
    hand: HandCranked,
) -> None:
    """SPEC 2: "completion of the previous run + interval; first run at once when the job is created"."""
    hand.action._decide = lambda _: (MINUTE, OK)
    await save(hand, job("tick", "every 5m"))
    await hand.crank(NOW + 13 * MINUTE)
    found = await runs_of(hand, "tick")
    assert clocks(found) == ["10:00", "10:06", "10:12"]
    assert [run.state for run in found] == ["succeeded", "succeeded", "succeeded"]
    record = await record_of(hand, "tick")
    assert instant_or_none(record.next_run_at) == NOW + 18 * MINUTE


async def test_a_cron_job_runs_at_every_match_when_time_passes(hand: HandCranked) -> None:
    await save(hand, job("report", "*/20 * * * *"))
    await hand.crank(NOW + HOUR)
    assert clocks(await runs_of(hand, "report")) == ["10:20", "10:40", "11:00"]
    assert await states(hand, "report") == {"succeeded": 3}


async def test_a_run_keeps_its_own_trail_when_it_is_asked_why(hand: HandCranked) -> None:
    """SPEC 3: the trail is "copied to the run it causes"."""
    await save(hand, job("report", "*/20 * * * *"))
    await hand.crank(NOW + HOUR)
    for run in await runs_of(hand, "report"):
        at, source = replay(trail_of(run.trail))
        assert (at, source) == (instant(run.due_at), run.source)


async def test_nothing_is_left_behind_when_all_runs_have_ended(hand: HandCranked) -> None:
    await save(hand, job("a", "*/7 * * * *", agent="coder", concurrency_key="repo"), job("b", "every 3m"))
    await hand.crank(NOW + HOUR)
    assert await used_slots(hand) == 0
    assert await hand.site.store.read(lambda tx: tx.is_queue_empty()) is None
    assert await hand.site.store.read(lambda tx: tx.leases_of(worker="wrk_1")) == []


async def test_a_second_run_is_skipped_and_folded_when_the_first_still_runs(hand: HandCranked) -> None:
    """SPEC 4: "equal consecutive skips or misses fold into one row with first, last and count"."""
    hand.action._decide = lambda _: (25 * MINUTE, OK)
    await save(hand, job("slow", "*/5 * * * *"))
    await hand.crank(NOW + 38 * MINUTE)
    assert await states(hand, "slow") == {"succeeded": 1, "skipped: already_running": 1, "running": 1}
    (fold,) = [run for run in await runs_of(hand, "slow") if run.state == "skipped"]
    # At 10:30 the run ends, too, but a moment after the next one was due.
    assert (clocks([fold]), fold.folded) == (["10:10"], 5)
    assert instant_or_none(fold.last_due_at) == NOW + 30 * MINUTE


async def test_runs_wait_in_line_when_overlap_queues_them(hand: HandCranked) -> None:
    hand.action._decide = lambda _: (12 * MINUTE, OK)
    await save(hand, job("slow", "*/5 * * * *", overlap=OverlapRules(Overlap.QUEUE, 1)))
    await hand.crank(NOW + 20 * MINUTE)
    assert await states(hand, "slow") == {
        "succeeded": 1,
        "running": 1,
        "queued": 1,
        "skipped: already_running": 1,
    }


async def test_the_newest_takes_over_when_overlap_replaces(hand: HandCranked) -> None:
    """SPEC 4: "the new run waits until the old one is ended and confirmed gone; only the newest waits"."""
    hand.action._decide = lambda _: (HOUR, OK)
    await save(hand, job("slow", "*/5 * * * *", overlap=OverlapRules(Overlap.REPLACE)))
    await hand.crank(NOW + 10 * MINUTE)
    await hand.engine.beat.step()
    await hand.step()
    assert await states(hand, "slow") == {"cancelled: replace": 1, "running": 1}


async def test_failures_stretch_the_interval_and_a_success_resets_it_when_runs_end(hand: HandCranked) -> None:
    """SPEC 3: "an interval is multiplied by `2^failures`", "One success resets it"."""
    results = iter([FAILED, FAILED, OK, OK])
    hand.action._decide = lambda _: (timedelta(), next(results, OK))
    await save(hand, job("tick", "every 5m", timing={"backoff": Multiply()}))
    await hand.crank(NOW + 36 * MINUTE)
    assert clocks(await runs_of(hand, "tick")) == ["10:00", "10:10", "10:30", "10:35"]
    assert (await record_of(hand, "tick")).failure_count == 0


async def test_a_failure_is_tried_again_when_retries_are_allowed(hand: HandCranked) -> None:
    """SPEC 6: "a new run (attempt n+1, priority 2)"."""
    results = iter([FAILED, OK])
    hand.action._decide = lambda _: (timedelta(), next(results, OK))
    await save(hand, job("report", "0 * * * *", settle=SettleRules(retry=Retry(max=2))))
    await hand.crank(NOW + HOUR + 5 * MINUTE)
    first, second = await runs_of(hand, "report")
    assert (first.state, second.state) == ("failed", "succeeded")
    assert (second.cause, second.origin, second.attempt, second.due_at) == ("retry", "schedule", 2, first.due_at)
    assert instant_or_none(second.start_after) == NOW + HOUR + timedelta(seconds=30)
    assert second.trace_id == first.trace_id
    assert (await record_of(hand, "report")).failure_count == 0


async def test_the_failure_counts_when_a_newer_run_supersedes_the_retry(hand: HandCranked) -> None:
    hand.action._decide = lambda _: (timedelta(), FAILED)
    rules = SettleRules(retry=Retry(max=2, first=10 * MINUTE))
    await save(hand, job("report", "*/5 * * * *", settle=rules))
    await hand.crank(NOW + 12 * MINUTE)
    assert await states(hand, "report") == {"failed: exit": 2, "cancelled: superseded": 1, "queued": 1}
    assert (await record_of(hand, "report")).failure_count == 1


async def test_a_job_is_paused_with_a_note_when_it_fails_too_often(hand: HandCranked) -> None:
    hand.action._decide = lambda _: (timedelta(), FAILED)
    await save(hand, job("report", "*/5 * * * *", settle=SettleRules(pause_after=2)))
    await hand.crank(NOW + HOUR)
    shown = job_view(hand.clock.now(), await record_of(hand, "report"))
    assert (shown.status, shown.pause_note, shown.next_run_at) == ("paused", "2 failures in a row", None)
    assert await states(hand, "report") == {"failed: exit": 2}


async def test_times_passed_in_a_pause_are_one_row_when_it_ends(hand: HandCranked) -> None:
    """SPEC 3: "The times passed become one `skipped: paused` row with a count"."""
    await save(hand, job("report", "*/10 * * * *"))
    await jobs.pause_job(hand.site, job="report")
    await hand.crank(NOW + 35 * MINUTE)
    assert await runs_of(hand, "report") == []
    await jobs.resume_job(hand.site, job="report")
    await hand.crank(NOW + 40 * MINUTE)
    skipped, run = await runs_of(hand, "report")
    assert (skipped.state, skipped.reason, skipped.folded, clocks([skipped])) == ("skipped", "paused", 3, ["10:10"])
    assert (run.state, clocks([run])) == ("succeeded", ["10:40"])


async def test_late_times_are_missed_or_caught_up_when_the_engine_was_down(hand: HandCranked, clock: FakeClock) -> None:
    """SPEC 4: "later it is missed, and `catch_up` … decides"."""
    both = {"skip": LateRules(), "all": LateRules(catch_up=CatchUp.ALL, limit=2)}
    await save(hand, *(job(name, "*/10 * * * *", late=rules) for name, rules in both.items()))
    clock.set(NOW + 47 * MINUTE)
    await hand.crank(NOW + 48 * MINUTE)
    assert await states(hand, "skip") == {"missed: late": 1}
    assert await states(hand, "all") == {"missed: over_limit": 1, "succeeded": 2}
    found = await runs_of(hand, "all")
    assert {run.cause for run in found if run.state == "succeeded"} == {"catch_up"}


async def test_nothing_fires_twice_when_the_clock_steps_back(hand: HandCranked, clock: FakeClock) -> None:
    """SPEC 7: "a step back fires nothing twice"."""
    await save(hand, job("report", "*/10 * * * *"))
    await hand.crank(NOW + 20 * MINUTE)
    clock.set(NOW + 5 * MINUTE)
    await hand.crank(NOW + 30 * MINUTE)
    assert clocks(await runs_of(hand, "report")) == ["10:10", "10:20", "10:30"]


async def test_a_batch_is_spread_when_an_outage_ends(hand: HandCranked, clock: FakeClock) -> None:
    """SPEC 4: "each run gets its own `start_after`, up to `max_jitter` (30s)"."""
    await save(hand, *(job(f"j{number}", "0 * * * *") for number in range(8)))
    clock.set(NOW + HOUR + 2 * MINUTE)
    await hand.step()
    found = [run for number in range(8) for run in await runs_of(hand, f"j{number}")]
    waits = {instant(run.start_after) - clock.now() for run in found if run.start_after is not None}
    assert (len(found), len(waits)) == (8, 8)
    assert all(timedelta() <= wait <= timedelta(seconds=30) for wait in waits)
    await hand.crank(clock.now() + MINUTE)
    assert {run.state for number in range(8) for run in await runs_of(hand, f"j{number}")} == {"succeeded"}


async def test_children_run_with_the_output_of_their_parent_when_it_succeeds(hand: HandCranked) -> None:
    """SPEC 6: "`after: {job, on: success|failure|done, …, pass: output}`"."""
    hand.action._decide = lambda work: (
        timedelta(),
        Outcome(state=RunState.SUCCEEDED, output=f"made by {work.job}"),
    )
    await save(
        hand,
        job("build", "0 * * * *"),
        job("deploy", "after build pass output"),
        job("alarm", "after build on failure"),
    )
    await hand.crank(NOW + HOUR)
    (parent,) = await runs_of(hand, "build")
    (child,) = await runs_of(hand, "deploy")
    assert (child.cause, child.parent_id, child.input, child.depth) == ("chain", parent.id, "made by build", 1)
    assert child.trace_id == parent.trace_id
    assert await runs_of(hand, "alarm") == []


async def test_a_cycle_is_refused_when_it_is_saved(hand: HandCranked) -> None:
    await save(hand, job("a", "after b"))
    with pytest.raises(ConflictError, match="fire each other without end: "):
        await save(hand, job("b", "after a"))
    assert [one.name for one in (await jobs.list_jobs(hand.site)).items] == ["a"]


async def test_a_job_is_gone_and_its_history_stays_when_it_was_not_to_be_kept(hand: HandCranked) -> None:
    """SPEC 2: "`keep: false` removes the job after a *successful* run, its history stays"."""
    await save(hand, job("once", "once 2026-03-02T10:30+00:00 keep false"))
    await hand.crank(NOW + HOUR)
    assert (await jobs.list_jobs(hand.site)).items == ()
    (run,) = (await runs.list_runs(hand.site)).items
    assert (run.job, run.state) == ("once", "succeeded")


async def test_a_job_ends_when_it_has_run_often_enough(hand: HandCranked) -> None:
    await save(hand, job("report", "*/10 * * * *", timing={"max_runs": 2}))
    await hand.crank(NOW + HOUR)
    assert await states(hand, "report") == {"succeeded": 2}
    assert job_view(hand.clock.now(), await record_of(hand, "report")).status == "ended"


async def test_every_occurrence_has_one_run_when_hours_pass(hand: HandCranked) -> None:

    def decide(work: Work) -> tuple[timedelta, Outcome]:
        number = int(work.run_id[-4:], 16)
        return timedelta(seconds=number % 90), FAILED if number % 5 == 0 else OK

    hand.action._decide = decide
    await save(hand, job("a", "*/20 * * * *"), job("b", "every 30m", timing={"jitter": 10.0}))
    await hand.crank(NOW + 6 * HOUR)
    found = [*await runs_of(hand, "a"), *await runs_of(hand, "b")]
    assert len(found) > 20
    assert {run.state for run in found} <= {"succeeded", "failed", "running"}
    shares = {msgspec.json.encode((run.due_at, run.state)) for run in found}
    assert len(shares) == len(found)


async def test_a_run_ends_by_the_new_definition_when_its_job_was_edited_meanwhile(hand: HandCranked) -> None:
    hand.action._decide = lambda _: (7 * MINUTE, OK)
    await save(hand, job("report", "*/20 * * * *"))
    await hand.crank(NOW + 21 * MINUTE)
    await change_definition(hand, "report", job("report", "every 5m"))
    await hand.crank(NOW + 28 * MINUTE)
    assert await states(hand, "report") == {"succeeded": 1}
    assert instant_or_none((await record_of(hand, "report")).next_run_at) == NOW + 32 * MINUTE


async def test_a_success_ends_a_streak_when_the_failure_counted_only_after_its_start(
    hand: HandCranked,
) -> None:
    outcomes = iter([(MINUTE, FAILED), (30 * MINUTE, OK)])
    hand.action._decide = lambda _: next(outcomes)
    patient = SettleRules(retry=Retry(max=1, first=2 * HOUR))
    await save(hand, job("report", "0 * * * *", settle=patient))
    await hand.crank(NOW + HOUR + 50 * MINUTE)
    await jobs.run_job(hand.site, job="report")
    await hand.crank(NOW + 2 * HOUR + 10 * MINUTE)
    # At noon the retry gave way to the next occurrence, so its failure counts now.
    assert (await record_of(hand, "report")).failure_count == 1
    await hand.crank(NOW + 2 * HOUR + 30 * MINUTE)
    assert (await record_of(hand, "report")).failure_count == 0


@pytest.mark.parametrize("meddling", ["a cancel", "an edit", "another pause"])
async def test_swallowed_times_are_told_when_something_happens_between_a_pause_and_the_next_fire(
    hand: HandCranked, meddling: str
) -> None:
    hand.action._decide = lambda _: (4 * HOUR, OK)
    definition = job("report", "*/30 * * * *", overlap=OverlapRules(Overlap.QUEUE, 1))
    await save(hand, definition)
    await hand.crank(NOW + 65 * MINUTE)
    await jobs.pause_job(hand.site, job="report")
    await hand.crank(NOW + 3 * HOUR + 5 * MINUTE)
    await jobs.resume_job(hand.site, job="report")
    if meddling == "a cancel":
        (queued,) = [run for run in await runs_of(hand, "report") if run.state == "queued"]
        await runs.cancel_run(hand.site, run=queued.id)
    elif meddling == "an edit":
        await change_definition(hand, "report", msgspec.structs.replace(definition, description="new"))
    else:
        await jobs.pause_job(hand.site, job="report", until=NOW + 4 * HOUR)
    await hand.step()
    (told,) = [run for run in await runs_of(hand, "report") if run.reason == "paused"]
    assert (clocks([told]), told.folded, instant_or_none(told.last_due_at)) == (["11:30"], 4, NOW + 3 * HOUR)


async def test_the_older_run_is_replaced_when_both_began_in_one_pass(hand: HandCranked) -> None:
    """SPEC 4: with replace "the new run waits until the old one is ended and confirmed gone"."""
    hand.action._decide = lambda _: (HOUR, OK)
    await save(hand, job("watch", "* * * * *", overlap=OverlapRules(Overlap.REPLACE)))
    hand.clock.set(NOW + 2 * MINUTE)
    await hand.step()
    await hand.engine.beat.step()
    await hand.step()
    found = await runs_of(hand, "watch")
    assert [(clocks([run]), run.state, run.reason) for run in found] == [
        (["10:01"], "cancelled", "replace"),
        (["10:02"], "running", None),
    ]
