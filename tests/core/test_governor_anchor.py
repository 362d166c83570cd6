"""SPEC section 3: what times count from, that nothing due is overwritten, and when a time is decided again."""

from __future__ import annotations

from datetime import datetime, time

import pytest

from rota.core.calendar import Daily
from rota.core.decision import Decision, Moment, Rule, Source, Step
from rota.core.governor import decide
from rota.core.hint import AnyHint
from rota.core.schedule import Every, First, Manual, Once, Schedule
from tests.core.states import (
    CREATED_AT,
    EVERY_5M,
    HALF_PAST,
    HOUR,
    MINUTE,
    NOW,
    TICK,
    answer,
    asked,
    interval_hint,
    job_state,
    oneshot_hint,
    pause_hint,
    planned,
    rules,
    today,
)

BASELINE, HINT, CRON = Source.BASELINE_INTERVAL, Source.AI_INTERVAL, Source.BASELINE_CRON
COMPLETED = today("09:58")

ANCHORS = [
    # right after a run, or after a due time was recorded without one, from now
    (Moment.SETTLED, (), today("10:05"), BASELINE),
    (Moment.SKIPPED, (), today("10:05"), BASELINE),
    (Moment.SETTLED, (interval_hint(3 * MINUTE),), today("10:03"), HINT),
    (Moment.SKIPPED, (interval_hint(3 * MINUTE),), today("10:03"), HINT),
    # at any other re-decision from the last completion
    (Moment.REPLANNED, (), today("10:03"), BASELINE),
    (Moment.CREATED, (), today("10:03"), BASELINE),
    (Moment.REPLANNED, (interval_hint(3 * MINUTE),), today("10:01"), HINT),
    (Moment.CREATED, (interval_hint(3 * MINUTE),), today("10:01"), HINT),
    # what is overdue is due now
    (Moment.REPLANNED, (interval_hint(MINUTE),), NOW, HINT),
    (Moment.CREATED, (interval_hint(MINUTE),), NOW, HINT),
]


@pytest.mark.parametrize(("moment", "hints", "at", "source"), ANCHORS)
def test_intervals_count_from_what_the_moment_says_when_asked(
    moment: Moment, hints: tuple[AnyHint, ...], at: datetime, source: Source
) -> None:
    """Anchor: right after a run, intervals, interval hints and clamps count from now. At any other re-decision (an
    edit, a resume, a start, a new or expired hint) they count from the last completion, and what is overdue is due
    now.
    """
    decision = decide(NOW, job_state(hints=hints, last_completed_at=COMPLETED), moment=moment)
    assert answer(decision) == (at, source)
    assert decision.trail[0] == asked(moment)


def test_decision_is_a_replanning_when_no_moment_is_given() -> None:
    state = job_state(last_completed_at=COMPLETED)
    assert decide(NOW, state) == decide(NOW, state, moment=Moment.REPLANNED)
    assert decide(NOW, state).trail[0].because == "replanned"


def test_interval_hint_counts_from_the_schedule_when_the_job_has_never_run() -> None:
    hint = interval_hint(26 * HOUR + 7 * MINUTE)
    decision = decide(NOW, job_state(hints=(hint,)))
    assert answer(decision) == (today("10:07"), HINT)
    edited = decide(NOW, job_state(hints=(interval_hint(HOUR),), scheduled_at=today("09:30")))
    assert answer(edited) == (today("10:30"), HINT)


def test_interval_counts_from_the_last_completion_when_that_lies_ahead_of_a_clock_set_back() -> None:
    assert answer(decide(NOW, job_state(last_completed_at=today("10:02")))) == (today("10:07"), BASELINE)


FIRST_NOW, FIRST_WAIT = "the first run of a new job starts at once", "the first run waits one interval"
EDITED = today("09:58")


@pytest.mark.parametrize(
    ("first", "scheduled_at", "candidate", "anchor", "because"),
    [
        (First.NOW, CREATED_AT, CREATED_AT, CREATED_AT, FIRST_NOW),
        (First.AFTER, CREATED_AT, CREATED_AT + 5 * MINUTE, CREATED_AT, FIRST_WAIT),
        (First.NOW, EDITED, today("10:03"), EDITED, FIRST_WAIT),
        (First.AFTER, EDITED, today("10:03"), EDITED, FIRST_WAIT),
    ],
)
@pytest.mark.parametrize("moment", [Moment.CREATED, Moment.REPLANNED])
def test_first_run_starts_at_once_only_when_the_job_is_new(
    first: First, scheduled_at: datetime, candidate: datetime, anchor: datetime, because: str, moment: Moment
) -> None:
    """First run at once when the job is created (first: after waits one interval), not after an edit or restart."""
    decision = decide(NOW, job_state(Every(5 * MINUTE, first), scheduled_at=scheduled_at), moment=moment)
    assert decision.trail[1] == Step(Rule.CANDIDATE, candidate, Source.BASELINE_INTERVAL, anchor, because)
    assert answer(decision) == (max(candidate, NOW), Source.BASELINE_INTERVAL)


def test_first_run_starts_at_once_when_the_job_is_created_now() -> None:
    state = job_state(created_at=NOW, scheduled_at=NOW, jitter=10.0)
    assert answer(decide(NOW, state, moment=Moment.CREATED, share=1.0)) == (NOW, Source.BASELINE_INTERVAL)


@pytest.mark.parametrize(("share", "at"), [(0.0, today("11:40")), (0.5, today("11:42:30")), (1.0, today("11:45"))])
def test_jitter_adds_a_share_of_the_interval_when_given(share: float, at: datetime) -> None:
    """jitter: 5 adds a uniform 0-5% of the interval."""
    state = job_state(Every(100 * MINUTE), jitter=5.0)
    assert decide(NOW, state, moment=Moment.SETTLED, share=share).next_run_at == at


def test_jitter_is_not_added_when_no_share_is_given() -> None:
    assert decide(NOW, job_state(Every(HOUR), jitter=10.0), moment=Moment.SETTLED).next_run_at == today("11:00")


@pytest.mark.parametrize("schedule", [Every(HOUR), HALF_PAST, Daily(time(17))])
def test_job_is_not_postponed_when_a_hint_is_proposed_again_and_again(schedule: Schedule) -> None:
    """So proposing a hint again and again never postpones a job."""
    state = job_state(schedule, last_completed_at=today("09:50"))
    for minute in range(20):
        now = NOW + minute * MINUTE
        hint = interval_hint(20 * MINUTE, expires_at=now + 15 * MINUTE, author=f"proposal {minute}")
        decision = decide(
            now, job_state(schedule, last_completed_at=today("09:50"), hints=(hint,), planned=state.planned)
        )
        assert answer(decision) == (today("10:10"), HINT)
        state = job_state(schedule, planned=decision)


DUE_SOURCES = [source for source in Source if source is not Source.PAUSED]


@pytest.mark.parametrize("source", DUE_SOURCES)
@pytest.mark.parametrize("moment", [Moment.CREATED, Moment.SETTLED, Moment.REPLANNED])
@pytest.mark.parametrize("due_at", [NOW, NOW - TICK, CREATED_AT])
def test_planned_time_is_kept_when_it_is_due(source: Source, moment: Moment, due_at: datetime) -> None:
    """Nothing due is overwritten: no decision replaces a next_run_at that has passed and has not been fired or
    recorded.
    """
    plan = planned(due_at, source)
    assert decide(NOW, job_state(planned=plan, last_completed_at=COMPLETED), moment=moment) is plan


@pytest.mark.parametrize(
    "fields",
    [
        {"paused_until": today("12:00")},
        {"is_enabled": False},
        {"until": today("09:00")},
        {"max_runs": 1, "started_count": 1},
        {"hints": (interval_hint(HOUR),)},
        {"is_running": True},
        {"min_interval": HOUR},
    ],
)
def test_planned_time_is_kept_when_it_is_due_whatever_has_changed(fields: dict[str, object]) -> None:
    plan = planned(NOW)
    assert decide(NOW, job_state(planned=plan, last_completed_at=COMPLETED, **fields)) is plan


@pytest.mark.parametrize(
    ("plan", "moment"),
    [
        (planned(NOW + TICK), Moment.REPLANNED),
        (planned(NOW + TICK), Moment.SETTLED),
        (planned(None, Source.AFTER_RUN), Moment.REPLANNED),
        (planned(None, Source.NONE), Moment.REPLANNED),
        (planned(NOW, Source.PAUSED), Moment.REPLANNED),
        (planned(today("09:59"), Source.PAUSED), Moment.SETTLED),
        (planned(None, Source.PAUSED), Moment.REPLANNED),
        (planned(NOW), Moment.FIRED),
        (planned(NOW), Moment.SKIPPED),
        (planned(today("09:59")), Moment.FIRED),
        (planned(today("09:59")), Moment.SKIPPED),
        (None, Moment.REPLANNED),
    ],
)
def test_planned_time_is_decided_again_when_it_is_not_due_or_is_dealt_with(
    plan: Decision | None, moment: Moment
) -> None:
    decision = decide(NOW, job_state(HALF_PAST, planned=plan), moment=moment)
    assert answer(decision) == (today("10:30"), CRON)
    assert decision.trail[0] == asked(moment)


AFTER_RUN = Source.AFTER_RUN
WAITS_FOR_END = "the interval counts from the end of this run"
UNDER_WAY = [(Moment.FIRED, False), (Moment.FIRED, True), *((moment, True) for moment in Moment)]


@pytest.mark.parametrize(("moment", "is_running"), UNDER_WAY)
@pytest.mark.parametrize("completed", [None, COMPLETED])
def test_interval_job_has_no_time_when_it_is_running(
    moment: Moment, is_running: bool, completed: datetime | None
) -> None:
    """A running interval job has no next_run_at (shown as "5m after this run")."""
    state = job_state(is_running=is_running, last_completed_at=completed, max_interval=MINUTE)
    decision = decide(NOW, state, moment=moment)
    assert answer(decision) == (None, AFTER_RUN)
    assert decision.trail == (
        asked(moment),
        Step(Rule.CANDIDATE, None, AFTER_RUN, None, WAITS_FOR_END),
        Step(Rule.CHOSEN, None, AFTER_RUN),
    )


@pytest.mark.parametrize("failures", [0, 1])
def test_interval_job_gets_a_time_when_its_run_ends(failures: int) -> None:
    """And gets one from every way a run can end."""
    decision = decide(NOW, job_state(failure_count=failures), moment=Moment.SETTLED)
    assert answer(decision) == (today("10:05"), BASELINE)


@pytest.mark.parametrize("schedule", [HALF_PAST, Daily(time(10, 30))])
@pytest.mark.parametrize(("moment", "is_running"), UNDER_WAY)
def test_wall_job_moves_when_it_is_fired(schedule: Schedule, moment: Moment, is_running: bool) -> None:
    """Cron and calendar move at the fire (baseline) and again at the settlement (with hints and backoff)."""
    decision = decide(NOW, job_state(schedule, is_running=is_running), moment=moment)
    assert decision.next_run_at == today("10:30")


@pytest.mark.parametrize("schedule", [EVERY_5M, HALF_PAST])
@pytest.mark.parametrize(("moment", "is_running"), UNDER_WAY)
def test_interval_hint_waits_for_the_end_when_a_run_is_under_way(
    schedule: Schedule, moment: Moment, is_running: bool
) -> None:
    hint = interval_hint(20 * MINUTE, today("11:00"))
    state = job_state(schedule, is_running=is_running, hints=(hint,), last_completed_at=NOW)
    decision = decide(NOW, state, moment=moment)
    assert answer(decision) == (None, AFTER_RUN)
    assert decision.trail[2:] == (
        Step(Rule.CANDIDATE, today("10:20"), HINT, today("11:00")),
        Step(Rule.CHOSEN, None, AFTER_RUN, None, "the interval hint counts from the end of this run"),
    )
    assert decision.redecide_at == today("11:00")


@pytest.mark.parametrize(("schedule", "at", "source"), [(EVERY_5M, None, AFTER_RUN), (HALF_PAST, today("10:30"), CRON)])
@pytest.mark.parametrize(("moment", "is_running"), UNDER_WAY)
def test_oneshot_hint_waits_for_the_settlement_when_a_run_is_under_way(
    schedule: Schedule, at: datetime | None, source: Source, moment: Moment, is_running: bool
) -> None:
    hint = oneshot_hint(today("10:10"), today("11:00"))
    state = job_state(schedule, is_running=is_running, hints=(hint,), last_completed_at=NOW)
    decision = decide(NOW, state, moment=moment)
    assert answer(decision) == (at, source)
    assert decision.trail[2:] == (
        Step(Rule.IGNORED, today("10:10"), Source.AI_ONESHOT, None, "it waits for the end of this run"),
        Step(Rule.CHOSEN, at, source),
    )


def test_both_hints_wait_when_a_run_is_under_way() -> None:
    hints = (oneshot_hint(today("10:01")), interval_hint(20 * MINUTE))
    assert answer(decide(NOW, job_state(HALF_PAST, hints=hints), moment=Moment.FIRED)) == (None, AFTER_RUN)


def test_hints_count_again_when_the_run_is_settled() -> None:
    hints = (oneshot_hint(today("10:01")), interval_hint(20 * MINUTE))
    decision = decide(NOW, job_state(HALF_PAST, hints=hints), moment=Moment.SETTLED)
    assert answer(decision) == (today("10:01"), Source.AI_ONESHOT)


REDECIDE = [
    (EVERY_5M, (), None),
    (EVERY_5M, (interval_hint(MINUTE, today("10:07")),), today("10:07")),
    (EVERY_5M, (interval_hint(MINUTE, today("10:07")), oneshot_hint(NOW, today("10:06"))), today("10:06")),
    (EVERY_5M, (pause_hint(today("11:00"), today("10:08")),), today("10:08")),
    (EVERY_5M, (interval_hint(MINUTE, NOW), oneshot_hint(NOW, today("10:06"))), today("10:06")),
    (EVERY_5M, (interval_hint(MINUTE, NOW),), None),
    (HALF_PAST, (interval_hint(HOUR, NOW + TICK),), NOW + TICK),
]


@pytest.mark.parametrize(("schedule", "hints", "redecide_at"), REDECIDE)
@pytest.mark.parametrize("moment", list(Moment))
def test_time_is_decided_again_when_a_hint_expires(
    schedule: Schedule, hints: tuple[AnyHint, ...], redecide_at: datetime | None, moment: Moment
) -> None:
    """next_run_at is decided again when a hint expires."""
    assert decide(NOW, job_state(schedule, hints=hints), moment=moment).redecide_at == redecide_at


def test_baseline_comes_back_when_the_hint_has_expired() -> None:
    hint = interval_hint(6 * HOUR, today("10:20"))
    before = decide(NOW, job_state(HALF_PAST, hints=(hint,), last_completed_at=NOW))
    assert (*answer(before), before.redecide_at) == (today("16:00"), HINT, today("10:20"))
    state = job_state(HALF_PAST, hints=(hint,), last_completed_at=NOW, planned=before)
    after = decide(today("10:20"), state)
    assert (*answer(after), after.redecide_at) == (today("10:30"), CRON, None)


def test_overdue_baseline_is_due_now_when_a_slower_hint_expires() -> None:
    hint = interval_hint(6 * HOUR, today("10:20"))
    state = job_state(hints=(hint,), last_completed_at=NOW, planned=planned(today("16:00"), HINT))
    assert answer(decide(today("10:20"), state)) == (today("10:20"), BASELINE)


def test_hints_are_not_looked_at_when_the_schedule_has_no_clock() -> None:
    hints = (interval_hint(MINUTE), oneshot_hint(NOW), interval_hint(MINUTE, NOW))
    for schedule in (Manual(), Once(today("12:00"))):
        decision = decide(NOW, job_state(schedule, hints=hints), moment=Moment.SETTLED)
        assert rules(decision) == [Rule.ASKED, Rule.CANDIDATE, Rule.CHOSEN]
