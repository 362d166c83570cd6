"""Settling: states, counts, hints, the next decision, streaks, notices and events."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from rota.core.backoff import Multiply, Retry
from rota.core.chain import ChainOn
from rota.core.decision import Source
from rota.core.hint import AnyHint
from rota.core.job import FOREVER
from rota.core.run import Cause, RunState
from rota.core.schedule import Every, Manual, Once, Schedule
from rota.core.settlement import (
    Notice,
    NoticeKind,
    Outcome,
    RunRequest,
    Settlement,
    SettleRules,
    outcome_of_abandoned,
    settle,
)
from rota.errors import RunStateError
from tests.core.settle_states import (
    DUE_AT,
    ENDS,
    FAILED,
    NEUTRAL,
    OUTSIDE,
    SCHEDULED,
    a_run,
    child,
    ended,
    running,
    settled,
)
from tests.core.states import (
    HALF_PAST,
    HOUR,
    MINUTE,
    NOW,
    TICK,
    answer,
    interval_hint,
    job_state,
    oneshot_hint,
    pause_hint,
    planned,
    today,
)

ORIGINS = (*SCHEDULED, *OUTSIDE)
EVERY_HOUR = Every(HOUR)
RETRIED = Retry(max=2, first=MINUTE, factor=3.0, cap=2 * MINUTE, on_lost=1, on_interrupted=1)
LEADS = {
    RunState.HELD: {RunState.CANCELLED},
    RunState.QUEUED: {RunState.CANCELLED, RunState.MISSED, RunState.SKIPPED, RunState.PERMANENT_FAILURE},
    RunState.RUNNING: set(ENDS),
}


def test_everything_is_written_when_a_plain_run_succeeds() -> None:
    """SPEC 6: "final state, failure count, hints …, the next decision, the retry, the chained children, …"."""
    settlement = settled(RunState.SUCCEEDED)
    assert settlement.decision is not None
    assert settlement == Settlement(
        state=RunState.SUCCEEDED,
        failure_count=0,
        lost_count=0,
        completed_at=NOW,
        is_running=False,
        hints=(),
        decision=settlement.decision,
        events=("run.succeeded",),
    )
    assert answer(settlement.decision) == (today("10:05"), Source.BASELINE_INTERVAL)


@pytest.mark.parametrize("current", list(RunState))
@pytest.mark.parametrize("target", [*ENDS, RunState.MISSED])
def test_a_run_ends_only_along_the_table_when_it_settles(current: RunState, target: RunState) -> None:
    """SPEC 5: "The table is in the core; anything else is refused"."""
    run, outcome = a_run(state=current), ended(target)
    if target in LEADS.get(current, set()):
        assert settle(NOW, run, outcome, state=running()).state is target
        return
    with pytest.raises(RunStateError) as caught:
        settle(NOW, run, outcome, state=running())
    assert (caught.value.current, caught.value.target) == (current, target)


@pytest.mark.parametrize(
    ("current", "target"),
    [
        (RunState.HELD, RunState.QUEUED),
        (RunState.QUEUED, RunState.RUNNING),
        (RunState.RUNNING, RunState.QUEUED),
    ],
)
def test_a_run_is_not_settled_when_the_outcome_is_no_end(current: RunState, target: RunState) -> None:
    """SPEC 1: a settlement is "everything that follows from one finished run"."""
    with pytest.raises(RunStateError):
        settle(NOW, a_run(state=current), ended(target), state=running())


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("end", ENDS)
def test_the_failure_count_follows_the_end_when_it_is_the_last_attempt(end: RunState, origin: Cause) -> None:
    """SPEC 5: "skipped, missed and cancelled leave failure counts alone"; a manual run "never adds a failure"."""
    adds = end in FAILED and origin is not Cause.MANUAL
    expected = 0 if end is RunState.SUCCEEDED else 3 + adds
    assert settled(end, origin, running(failure_count=3)).failure_count == expected


@pytest.mark.parametrize("end", [RunState.CANCELLED, RunState.MISSED, RunState.SKIPPED, RunState.PERMANENT_FAILURE])
def test_the_failure_count_follows_the_end_when_the_run_never_started(end: RunState) -> None:
    settlement = settle(NOW, a_run(state=RunState.QUEUED), ended(end), state=running(failure_count=3))
    assert settlement.failure_count == (4 if end is RunState.PERMANENT_FAILURE else 3)


@pytest.mark.parametrize(
    ("end", "expected"),
    [(RunState.SUCCEEDED, 0), (RunState.LOST, 2), (RunState.CANCELLED, 1), (RunState.SKIPPED, 1)],
)
@pytest.mark.parametrize("origin", ORIGINS)
def test_lost_runs_are_counted_in_a_row_when_runs_end(end: RunState, expected: int, origin: Cause) -> None:
    assert settled(end, origin, running(lost_count=1)).lost_count == expected


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("origin", SCHEDULED)
def test_an_interval_job_has_a_next_run_when_its_run_ends_in_any_way(end: RunState, origin: Cause) -> None:
    """SPEC 3: "a running interval job … gets one from *every* way a run can end"."""
    settlement = settled(end, origin)
    assert settlement.decision is not None
    assert answer(settlement.decision) == (today("10:05"), Source.BASELINE_INTERVAL)
    assert (settlement.completed_at, settlement.is_running) == (NOW, False)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("origin", OUTSIDE)
def test_the_plan_is_untouched_when_a_run_outside_the_schedule_ends(end: RunState, origin: Cause) -> None:
    """SPEC 5: "A manual run … never moves the schedule"; the scheduled run beside it goes on."""
    settlement = settled(end, origin)
    assert (settlement.decision, settlement.completed_at) == (None, today("09:50"))
    assert settlement.is_running is True
    assert settled(end, origin, job_state(EVERY_HOUR)).is_running is False


@pytest.mark.parametrize(("failures", "clock"), [(0, "10:10"), (1, "10:20"), (4, "12:40"), (9, "12:40")])
def test_backoff_counts_this_failure_when_the_next_run_is_decided(failures: int, clock: str) -> None:
    """SPEC 3: "Backoff enters the baseline from the failure count *after* this run"."""
    settlement = settled(RunState.FAILED, job=running(failure_count=failures, backoff=Multiply()))
    assert settlement.decision is not None
    assert settlement.decision.next_run_at == today(clock)


def test_one_success_resets_the_backoff_when_failures_came_before() -> None:
    """SPEC 3: "One success resets it"."""
    settlement = settled(RunState.SUCCEEDED, job=running(failure_count=5, backoff=Multiply()))
    assert settlement.decision is not None
    assert settlement.decision.next_run_at == today("10:05")


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_share_of_the_jitter_is_passed_on_when_the_next_run_is_decided(share: float) -> None:
    settlement = settle(NOW, a_run(), ended(RunState.SUCCEEDED), state=running(jitter=10.0), share=share)
    assert settlement.decision is not None
    assert settlement.decision.next_run_at == today("10:05") + timedelta(seconds=30) * share


def test_a_due_plan_is_kept_when_it_has_not_been_fired() -> None:
    """SPEC 3: "no decision replaces a `next_run_at` that has passed and has not been fired or recorded"."""
    plan = planned(today("09:30"), Source.BASELINE_CRON)
    assert settled(RunState.SUCCEEDED, job=running(HALF_PAST, planned=plan)).decision is plan


def test_a_cron_job_goes_to_its_next_match_when_its_run_ends() -> None:
    settlement = settled(RunState.SUCCEEDED, job=running(HALF_PAST, planned=None))
    assert settlement.decision is not None
    assert answer(settlement.decision) == (today("10:30"), Source.BASELINE_CRON)


@pytest.mark.parametrize("origin", [Cause.SCHEDULE, Cause.MANUAL])
@pytest.mark.parametrize(
    ("hint", "stays"),
    [
        (interval_hint(HOUR, expires_at=NOW), False),
        (interval_hint(HOUR, expires_at=NOW + TICK), True),
        (oneshot_hint(NOW), False),
        (oneshot_hint(NOW + TICK), True),
        (oneshot_hint(today("12:00"), expires_at=NOW), False),
        (pause_hint(today("09:00")), True),
        (pause_hint(today("12:00"), expires_at=NOW), False),
    ],
)
def test_hints_are_consumed_or_expire_when_a_run_settles(origin: Cause, hint: AnyHint, stays: bool) -> None:
    """SPEC 6: "hints consumed or expired"; 8: "by the first fire or settlement at or after its time"."""
    keeper = interval_hint(2 * HOUR)
    settlement = settled(RunState.SUCCEEDED, origin, running(hints=(hint, keeper)))
    assert settlement.hints == ((hint, keeper) if stays else (keeper,))
    assert ("hint.ended" in settlement.events) is not stays


def test_a_consumed_hint_has_no_say_when_the_next_run_is_decided() -> None:
    settlement = settled(RunState.SUCCEEDED, job=running(EVERY_HOUR, hints=(oneshot_hint(today("09:58")),)))
    assert settlement.decision is not None
    assert answer(settlement.decision) == (today("11:00"), Source.BASELINE_INTERVAL)
    assert settlement.decision.redecide_at is None


@pytest.mark.parametrize(
    ("pause_after", "before", "is_paused"),
    [(None, 98, False), (5, 3, False), (5, 4, True), (5, 5, True), (2, 1, True)],
)
@pytest.mark.parametrize("end", FAILED)
def test_a_job_is_paused_when_enough_failures_came_in_a_row(
    end: RunState, pause_after: int | None, before: int, is_paused: bool
) -> None:
    """SPEC 6: "`pause_after: 5` failures in a row pauses the job with a note (default off)"."""
    settlement = settled(end, job=running(failure_count=before), pause_after=pause_after, notify_after=100)
    note = f"{before + 1} failures in a row" if is_paused else ""
    assert settlement.pause_note == note
    assert settlement.notices == ((Notice(NoticeKind.PAUSED, note),) if is_paused else ())
    assert settlement.events == ((f"run.{end}", "job.paused") if is_paused else (f"run.{end}",))
    assert settlement.decision is not None
    expected = (None, Source.PAUSED) if is_paused else (today("10:05"), Source.BASELINE_INTERVAL)
    assert answer(settlement.decision) == expected


@pytest.mark.parametrize(
    ("end", "origin"),
    [(RunState.SUCCEEDED, Cause.SCHEDULE), (RunState.CANCELLED, Cause.SCHEDULE), (RunState.FAILED, Cause.MANUAL)],
)
def test_a_job_is_not_paused_again_when_this_run_added_no_failure(end: RunState, origin: Cause) -> None:
    assert settled(end, origin, running(failure_count=7), pause_after=5).pause_note == ""


def test_no_pause_comes_yet_when_the_failed_attempt_is_retried() -> None:
    settlement = settled(RunState.FAILED, job=running(failure_count=4), pause_after=5, retry=RETRIED)
    assert (settlement.pause_note, settlement.failure_count) == ("", 4)


@pytest.mark.parametrize("origin", [Cause.WEBHOOK, Cause.CHAIN, Cause.BACKFILL])
def test_the_plan_shows_the_pause_when_a_run_outside_the_schedule_brought_it_about(origin: Cause) -> None:
    settlement = settled(RunState.FAILED, origin, job_state(EVERY_HOUR, failure_count=1), pause_after=2)
    assert settlement.decision is not None
    assert answer(settlement.decision) == (None, Source.PAUSED)
    assert settlement.decision.trail[0].because == "replanned"
    assert settlement.completed_at is None


def test_a_pause_of_a_person_stays_when_a_run_ends() -> None:
    settlement = settled(RunState.SUCCEEDED, job=running(paused_until=today("12:00")))
    assert settlement.decision is not None
    assert answer(settlement.decision) == (today("12:00"), Source.PAUSED)
    assert settled(RunState.SUCCEEDED, Cause.MANUAL, running(paused_until=FOREVER)).decision is None


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize(
    ("before", "note"),
    [
        (0, ""),
        (1, ""),
        (2, "it took its worker down 3 times"),
        (3, "it took its worker down 4 times"),
    ],
)
def test_a_job_is_paused_when_it_took_its_worker_down_three_times(before: int, note: str, origin: Cause) -> None:
    """GUARANTEES G16: "a job that kills its worker three times is paused with a note"."""
    settlement = settled(RunState.LOST, origin, running(lost_count=before))
    assert (settlement.pause_note, settlement.lost_count) == (note, before + 1)


def test_the_note_names_the_worker_when_both_pauses_apply() -> None:
    settlement = settled(RunState.LOST, job=running(lost_count=2, failure_count=4), pause_after=5)
    assert settlement.pause_note == "it took its worker down 3 times"


@pytest.mark.parametrize("end", [end for end in ENDS if end is not RunState.LOST])
def test_no_worker_was_taken_down_when_the_run_was_not_lost(end: RunState) -> None:
    assert settled(end, job=running(lost_count=2)).pause_note == ""


@pytest.mark.parametrize(
    ("error", "note"),
    [
        ("401 from the API", "authentication failed: 401 from the API"),
        ("", "authentication failed: log the agent in again, then resume it"),
    ],
)
def test_the_agent_is_paused_when_authentication_failed(error: str, note: str) -> None:
    """SPEC 6: "an authentication error pauses the agent"."""
    settlement = settled(RunState.FAILED, reason="authentication", error=error, notify_after=9)
    assert (settlement.agent_pause_note, settlement.pause_note) == (note, "")
    assert settlement.events == ("run.failed", "agent.paused")
    assert settled(RunState.FAILED, reason="stale", error=error).agent_pause_note == ""


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("end", ENDS)
def test_a_job_is_removed_when_its_one_appointment_succeeded(end: RunState, origin: Cause) -> None:
    """SPEC 2: "`keep: false` removes the job after a *successful* run, its history stays"."""
    settlement = settled(end, origin, running(Once(today("09:55"), keep=False), fired_until=today("09:55")))
    expected = end is RunState.SUCCEEDED and origin in SCHEDULED
    assert settlement.removes_job is expected
    assert ("job.removed" in settlement.events) is expected


def test_a_job_stays_when_a_file_still_speaks_of_it() -> None:
    job = running(Once(today("09:55"), keep=False), fired_until=today("09:55"), is_from_file=True)
    settlement = settled(RunState.SUCCEEDED, job=job)
    assert settlement.removes_job is False
    assert "job.removed" not in settlement.events


@pytest.mark.parametrize("schedule", [Once(today("09:55")), EVERY_HOUR, HALF_PAST, Manual()])
def test_a_job_stays_when_it_is_not_to_be_removed(schedule: Schedule) -> None:
    assert settled(RunState.SUCCEEDED, job=running(schedule)).removes_job is False


@pytest.mark.parametrize("end", ENDS)
def test_descendants_are_cancelled_when_the_run_was_cancelled(end: RunState) -> None:
    """SPEC 6: "cancelling a run cancels its live descendants"."""
    assert settled(end).cancels_descendants is (end is RunState.CANCELLED)


@pytest.mark.parametrize(
    ("notify_after", "before", "is_told"), [(1, 0, True), (1, 1, False), (3, 1, False), (3, 2, True), (3, 3, False)]
)
@pytest.mark.parametrize("end", FAILED)
def test_a_failure_is_told_once_when_enough_came_in_a_row(
    end: RunState, notify_after: int, before: int, is_told: bool
) -> None:
    """SPEC 10: "failure after N in a row"."""
    settlement = settled(
        end, job=running(failure_count=before), notify_after=notify_after, exit_code=2, error="no disk"
    )
    notice = Notice(NoticeKind.FAILURE, f"{end}; exit code 2; no disk")
    assert settlement.notices == ((notice,) if is_told else ())


def test_a_failure_is_told_once_when_nothing_is_said_about_it() -> None:
    assert SettleRules() == SettleRules(pause_after=None, notify_after=1)


@pytest.mark.parametrize(
    ("end", "origin", "before", "is_told"),
    [
        (RunState.CANCELLED, Cause.SCHEDULE, 1, False),
        (RunState.SKIPPED, Cause.SCHEDULE, 1, False),
        (RunState.FAILED, Cause.MANUAL, 1, False),
        (RunState.FAILED, Cause.WEBHOOK, 0, True),
    ],
)
def test_no_failure_is_told_when_the_count_did_not_grow(
    end: RunState, origin: Cause, before: int, is_told: bool
) -> None:
    assert bool(settled(end, origin, running(failure_count=before)).notices) is is_told


@pytest.mark.parametrize(
    ("notify_after", "before", "is_told"), [(3, 2, False), (3, 3, True), (3, 4, True), (2, 0, False)]
)
@pytest.mark.parametrize("origin", [Cause.SCHEDULE, Cause.MANUAL])
def test_a_recovery_is_told_when_the_failure_was(origin: Cause, notify_after: int, before: int, is_told: bool) -> None:
    """SPEC 10: "one notice of recovery"."""
    settlement = settled(RunState.SUCCEEDED, origin, running(failure_count=before), notify_after=notify_after)
    notice = Notice(NoticeKind.RECOVERY, f"succeeded after {before} failures in a row")
    assert settlement.notices == ((notice,) if is_told else ())


@pytest.mark.parametrize("end", [RunState.CANCELLED, RunState.SKIPPED, RunState.FAILED])
def test_no_recovery_is_told_when_the_run_did_not_succeed(end: RunState) -> None:
    kinds = [notice.kind for notice in settled(end, job=running(failure_count=4)).notices]
    assert NoticeKind.RECOVERY not in kinds


def test_an_overspent_run_is_told_of_when_it_was_stopped() -> None:
    """SPEC 5: "`failed: over_budget`, no retry"; 10: notifications on `over_budget`."""
    settlement = settled(RunState.FAILED, reason="over_budget", error="2.10 of 2", retry=RETRIED, notify_after=9)
    assert settlement.notices == (Notice(NoticeKind.OVER_BUDGET, "failed; over_budget; 2.10 of 2"),)
    assert settlement.retry is None


def test_notices_stand_in_one_order_when_there_are_several() -> None:
    settlement = settled(
        RunState.FAILED, job=running(failure_count=1), reason="over_budget", pause_after=2, notify_after=2
    )
    assert [notice.kind for notice in settlement.notices] == [
        NoticeKind.FAILURE,
        NoticeKind.PAUSED,
        NoticeKind.OVER_BUDGET,
    ]


def test_events_stand_in_one_order_when_there_are_several() -> None:
    job = running(Once(today("09:55"), keep=False), hints=(oneshot_hint(NOW),))
    children = [child(f"job-{number}") for number in range(26)]
    settlement = settled(RunState.SUCCEEDED, job=job, children=children)
    assert settlement.events == ("run.succeeded", "chain.fired", "chain.refused", "hint.ended", "job.removed")


@pytest.mark.parametrize("end", NEUTRAL)
def test_no_notice_is_sent_when_the_run_neither_failed_nor_succeeded(end: RunState) -> None:
    assert settled(end, job=running(failure_count=1), reason="no_work").notices == ()


@pytest.mark.parametrize(
    ("started_at", "expected"),
    [
        (None, None),
        (NOW, Outcome(state=RunState.LOST, error="its worker vanished; whether it finished is not known")),
    ],
)
def test_an_abandoned_run_is_lost_when_it_had_started(started_at: datetime | None, expected: Outcome | None) -> None:
    """SPEC 6: "A claimed run whose start was never recorded goes back to the queue"."""
    assert outcome_of_abandoned(a_run(started_at=started_at)) == expected


@pytest.mark.parametrize(
    ("end", "reason", "attempts"),
    [
        (RunState.SUCCEEDED, "", 0),
        (RunState.FAILED, "", 2),
        (RunState.FAILED, "stale", 2),
        (RunState.FAILED, "over_budget", 0),
        (RunState.FAILED, "authentication", 0),
        (RunState.TIMED_OUT, "", 2),
        (RunState.TIMED_OUT, "authentication", 0),
        (RunState.LOST, "", 1),
        (RunState.PERMANENT_FAILURE, "", 0),
        (RunState.CANCELLED, "", 0),
        (RunState.CANCELLED, "by hand", 0),
        (RunState.CANCELLED, "shutdown", 1),
        (RunState.SKIPPED, "", 0),
        (RunState.SKIPPED, "no_work", 0),
    ],
)
@pytest.mark.parametrize("attempt", [1, 2, 3])
@pytest.mark.parametrize("origin", [Cause.SCHEDULE, Cause.MANUAL, Cause.CHAIN])
def test_a_run_is_tried_again_when_its_rule_allows_another_attempt(
    end: RunState, reason: str, attempts: int, attempt: int, origin: Cause
) -> None:
    """SPEC 6: "a new run (attempt n+1 …), never for `permanent_failure`, cancelled or skipped"; 7: `on_interrupted`."""
    settlement = settled(end, origin, attempt=attempt, reason=reason, retry=RETRIED)
    assert (settlement.retry is not None) is (attempt <= attempts)
    assert ("retry.planned" in settlement.events) is (attempt <= attempts)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("reason", ["", "shutdown"])
def test_nothing_is_tried_again_when_nothing_is_said(end: RunState, reason: str) -> None:
    """SPEC 6: "(default max 0)", "`retry.on_lost: n` (default 0 …)": a lost run "is never re-run silently"."""
    assert settled(end, reason=reason).retry is None


@pytest.mark.parametrize(("attempt", "wait"), [(1, MINUTE), (2, 2 * MINUTE)])
def test_a_retry_keeps_what_it_retries_when_it_is_asked_for(attempt: int, wait: timedelta) -> None:
    """SPEC 6: "`retry: {max: 2, first: 30s, factor: 2, cap: 1h}`", with "what failed (reason, exit code, …)"."""
    settlement = settled(
        RunState.FAILED, Cause.WEBHOOK, attempt=attempt, depth=4, retry=RETRIED,
        reason="verify", exit_code=1, http_status=503, error="no such file",
    )  # fmt: skip
    assert settlement.retry == RunRequest(
        job="report",
        cause=Cause.RETRY,
        origin=Cause.WEBHOOK,
        attempt=attempt + 1,
        depth=4,
        due_at=DUE_AT,
        start_after=NOW + wait,
        takes_output=False,
        failure="failed; verify; exit code 1; HTTP status 503; no such file",
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "failed"),
        ({"exit_code": 0}, "failed; exit code 0"),
        ({"http_status": 500}, "failed; HTTP status 500"),
        ({"reason": "stale"}, "failed; stale"),
        ({"error": "boom"}, "failed; boom"),
    ],
)
def test_the_failure_is_put_in_words_when_parts_of_it_are_known(fields: dict[str, object], text: str) -> None:
    settlement = settled(RunState.FAILED, retry=RETRIED, **fields)
    assert settlement.retry is not None
    assert settlement.retry.failure == text


@pytest.mark.parametrize(
    ("end", "reason", "start_after"),
    [
        (RunState.TIMED_OUT, "", today("10:01")),
        (RunState.LOST, "", today("10:01")),
        (RunState.CANCELLED, "shutdown", NOW),
    ],
)
def test_a_retry_waits_unless_a_shutdown_interrupted_the_run_when_planned(
    end: RunState, reason: str, start_after: datetime
) -> None:
    """SPEC 7: "ends what is left as `cancelled: shutdown`, with a new attempt"; it has not failed."""
    settlement = settled(end, reason=reason, retry=RETRIED)
    assert settlement.retry is not None
    assert settlement.retry.start_after == start_after


@pytest.mark.parametrize(
    ("retry", "attempt", "wait"),
    [
        (Retry(max=9), 1, timedelta(seconds=30)),
        (Retry(max=9), 2, MINUTE),
        (Retry(max=9), 7, 32 * MINUTE),
        (Retry(max=9), 8, HOUR),
        (Retry(max=9), 9, HOUR),
        (Retry(max=9, factor=1.0), 9, timedelta(seconds=30)),
        (Retry(max=9, first=2 * HOUR), 1, HOUR),
        (Retry(max=9, factor=1e300), 2, HOUR),
    ],
)
def test_the_wait_grows_to_the_cap_when_attempts_follow_each_other(retry: Retry, attempt: int, wait: timedelta) -> None:
    """SPEC 6: "first: 30s, factor: 2, cap: 1h"."""
    settlement = settled(RunState.FAILED, attempt=attempt, retry=retry)
    assert settlement.retry is not None
    assert settlement.retry.start_after == NOW + wait


@pytest.mark.parametrize(
    ("end", "reason"), [(RunState.FAILED, ""), (RunState.LOST, ""), (RunState.CANCELLED, "shutdown")]
)
def test_everything_waits_for_the_last_attempt_when_a_retry_follows(end: RunState, reason: str) -> None:
    """SPEC 6: "failure count, backoff, chains and the interval's completion follow the *last* attempt"."""
    children = [child(on=ChainOn.DONE), child(on=ChainOn.FAILURE)]
    job = running(failure_count=3, backoff=Multiply())
    settlement = settled(end, job=job, reason=reason, retry=RETRIED, children=children, pause_after=4, notify_after=4)
    assert (settlement.failure_count, settlement.children, settlement.refused_children) == (3, (), ())
    assert (settlement.completed_at, settlement.is_running) == (today("09:50"), True)
    assert (settlement.pause_note, settlement.notices) == ("", ())
    assert settlement.decision is not None
    assert answer(settlement.decision) == (None, Source.AFTER_RUN)
    assert settlement.events == (f"run.{end}", "retry.planned")


@pytest.mark.parametrize("end", ENDS)
def test_the_last_attempt_completes_the_interval_when_retries_came_before(end: RunState) -> None:
    settlement = settled(end, attempt=3, retry=RETRIED, job=running(failure_count=1, backoff=Multiply()))
    assert (settlement.completed_at, settlement.is_running, settlement.retry) == (NOW, False, None)
    clock = "10:05" if end is RunState.SUCCEEDED else "10:20" if end in FAILED else "10:10"
    assert settlement.decision is not None
    assert settlement.decision.next_run_at == today(clock)


def test_the_cadence_is_kept_when_a_cron_run_is_tried_again() -> None:
    """SPEC 6: "It keeps the cadence of the schedule"."""
    settlement = settled(RunState.FAILED, job=running(HALF_PAST, planned=None), retry=RETRIED)
    assert settlement.decision is not None
    assert answer(settlement.decision) == (today("10:30"), Source.BASELINE_CRON)
    assert settlement.completed_at == today("09:50")


@pytest.mark.parametrize(("before", "is_retried"), [(0, True), (1, True), (2, False)])
def test_no_retry_follows_when_the_job_took_its_worker_down_three_times(before: int, is_retried: bool) -> None:
    settlement = settled(RunState.LOST, job=running(lost_count=before, failure_count=1), retry=RETRIED)
    assert (settlement.retry is not None) is is_retried
    assert (settlement.failure_count, settlement.lost_count) == (1 if is_retried else 2, before + 1)


def test_a_child_of_the_last_attempt_is_fired_when_the_job_took_its_worker_down() -> None:
    settlement = settled(RunState.LOST, job=running(lost_count=2), retry=RETRIED, children=[child(on=ChainOn.FAILURE)])
    assert [one.job for one in settlement.children] == ["deploy"]
