"""SPEC section 3, rules 4 and 5, with the limits of life and the quiet hours of section 2 between them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import pytest

from rota.core.backoff import Ladder
from rota.core.calendar import Daily, Weekday
from rota.core.decision import Moment, Rule, Source, Step
from rota.core.governor import decide
from rota.core.hint import AnyHint
from rota.core.job import FOREVER
from rota.core.quiet import QuietDates, QuietDay, QuietHours, QuietPolicy
from rota.core.schedule import Cron, Every, Manual, Once, Schedule
from tests.core.states import (
    CREATED_AT,
    DAY,
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
    on_march,
    oneshot_hint,
    pause_hint,
    planned,
    rules,
    today,
)

MIN, MAX = Source.CLAMPED_MIN, Source.CLAMPED_MAX
INTERVAL, CRON = Source.BASELINE_INTERVAL, Source.BASELINE_CRON
SECOND = timedelta(seconds=1)

CLAMPS = [
    # min_interval: at least so long after now
    (EVERY_5M, (), {"min_interval": 5 * MINUTE}, today("10:05"), INTERVAL),
    (EVERY_5M, (), {"min_interval": 5 * MINUTE + TICK}, today("10:05") + TICK, MIN),
    (EVERY_5M, (), {"min_interval": 5 * MINUTE - TICK}, today("10:05"), INTERVAL),
    (HALF_PAST, (), {"min_interval": 45 * MINUTE}, today("10:45"), MIN),
    (Daily(time(10, 10)), (), {"min_interval": HOUR}, today("11:00"), MIN),
    # max_interval: at most so long after now
    (EVERY_5M, (), {"max_interval": 5 * MINUTE}, today("10:05"), INTERVAL),
    (EVERY_5M, (), {"max_interval": 5 * MINUTE - TICK}, today("10:05") - TICK, MAX),
    (EVERY_5M, (), {"max_interval": 5 * MINUTE + TICK}, today("10:05"), INTERVAL),
    (HALF_PAST, (), {"max_interval": 10 * MINUTE}, today("10:10"), MAX),
    (Daily(time(9)), (), {"max_interval": HOUR}, today("11:00"), MAX),
    # over hints too
    (HALF_PAST, (interval_hint(SECOND),), {"min_interval": MINUTE}, today("10:01"), MIN),
    (HALF_PAST, (interval_hint(3 * HOUR),), {"max_interval": HOUR}, today("11:00"), MAX),
    (HALF_PAST, (oneshot_hint(NOW),), {"min_interval": MINUTE}, today("10:01"), MIN),
    (HALF_PAST, (oneshot_hint(today("09:00")),), {"min_interval": MINUTE}, today("10:01"), MIN),
    (HALF_PAST, (oneshot_hint(today("10:20")),), {"max_interval": MINUTE}, today("10:01"), MAX),
    # both: each leaves alone what lies between, and one that equals the other holds it exactly
    (EVERY_5M, (), {"min_interval": 4 * MINUTE, "max_interval": 6 * MINUTE}, today("10:05"), INTERVAL),
    (EVERY_5M, (), {"min_interval": 7 * MINUTE, "max_interval": 9 * MINUTE}, today("10:07"), MIN),
    (EVERY_5M, (), {"min_interval": 7 * MINUTE, "max_interval": 7 * MINUTE}, today("10:07"), MIN),
    (EVERY_5M, (), {"min_interval": 2 * MINUTE, "max_interval": 3 * MINUTE}, today("10:03"), MAX),
    # over backoff too
    (HALF_PAST, (), {"backoff": Ladder(), "failure_count": 5, "max_interval": 20 * MINUTE}, today("10:20"), MAX),
]


@pytest.mark.parametrize(("schedule", "hints", "fields", "at", "source"), CLAMPS)
@pytest.mark.parametrize("moment", [Moment.SETTLED, Moment.SKIPPED])
def test_clamps_hold_when_counted_from_now(
    schedule: Schedule,
    hints: tuple[AnyHint, ...],
    fields: dict[str, object],
    at: datetime,
    source: Source,
    moment: Moment,
) -> None:
    """Clamps: min_interval (clamped-min), then max_interval (clamped-max). Over hints too.
    Right after a run, clamps count from now.
    """
    state = job_state(schedule, hints=hints, last_completed_at=today("04:00"), **fields)
    assert answer(decide(NOW, state, moment=moment)) == (at, source)


def test_trail_shows_both_clamps_when_the_limits_contradict_each_other() -> None:
    """min_interval, then max_interval: the maximum has the last word, although saving refuses such limits."""
    state = job_state(min_interval=20 * MINUTE, max_interval=10 * MINUTE)
    decision = decide(NOW, state, moment=Moment.SETTLED)
    assert answer(decision) == (today("10:10"), MAX)
    assert decision.trail[-2:] == (
        Step(Rule.CLAMPED, today("10:20"), MIN, today("10:05"), "min_interval is 0:20:00"),
        Step(Rule.CLAMPED, today("10:10"), MAX, today("10:20"), "max_interval is 0:10:00"),
    )


def test_clamps_follow_the_overdue_rule_when_both_apply() -> None:
    state = job_state(last_completed_at=today("09:50"), min_interval=15 * MINUTE)
    decision = decide(NOW, state)
    assert answer(decision) == (today("10:05"), MIN)
    assert decision.trail[-2:] == (
        Step(Rule.OVERDUE, NOW, INTERVAL, today("09:55"), "what is overdue is due now"),
        Step(Rule.CLAMPED, today("10:05"), MIN, NOW, "min_interval is 0:15:00"),
    )


FROM_COMPLETION = [
    (EVERY_5M, {"min_interval": 20 * MINUTE}, today("09:50"), today("10:10"), MIN),
    (EVERY_5M, {"min_interval": 10 * MINUTE}, today("09:50"), NOW, INTERVAL),
    (EVERY_5M, {"min_interval": 10 * MINUTE + TICK}, today("09:50"), NOW + TICK, MIN),
    (HALF_PAST, {"min_interval": 45 * MINUTE}, today("09:50"), today("10:35"), MIN),
    (HALF_PAST, {"min_interval": 40 * MINUTE}, today("09:50"), today("10:30"), CRON),
    (HALF_PAST, {"max_interval": 35 * MINUTE}, today("09:50"), today("10:25"), MAX),
    (HALF_PAST, {"max_interval": 40 * MINUTE}, today("09:50"), today("10:30"), CRON),
    (HALF_PAST, {"max_interval": 10 * MINUTE}, today("09:50"), NOW, MAX),
    (HALF_PAST, {"max_interval": 5 * MINUTE}, today("09:50"), NOW, MAX),
    (EVERY_5M, {"max_interval": MINUTE}, today("09:50"), NOW, INTERVAL),
    # a job that has never run: no distance to keep, and the maximum counts from when its schedule began
    (HALF_PAST, {"min_interval": 5 * HOUR}, None, today("10:30"), CRON),
    (HALF_PAST, {"max_interval": 5 * HOUR}, None, NOW, MAX),
    (HALF_PAST, {"max_interval": 26 * HOUR + 5 * MINUTE}, None, today("10:05"), MAX),
    (HALF_PAST, {"max_interval": 27 * HOUR}, None, today("10:30"), CRON),
]


@pytest.mark.parametrize(("schedule", "limits", "completed", "at", "source"), FROM_COMPLETION)
@pytest.mark.parametrize("moment", [Moment.REPLANNED, Moment.CREATED])
def test_clamps_count_from_the_last_completion_when_asked_at_another_time(
    schedule: Schedule,
    limits: dict[str, timedelta],
    completed: datetime | None,
    at: datetime,
    source: Source,
    moment: Moment,
) -> None:
    """At any other re-decision they count from the last completion, and what is overdue is due now."""
    state = job_state(schedule, last_completed_at=completed, **limits)
    assert answer(decide(NOW, state, moment=moment)) == (at, source)


@pytest.mark.parametrize("limits", [{"min_interval": 5 * HOUR}, {"max_interval": MINUTE}])
def test_clamps_do_not_apply_when_the_job_runs_once(limits: dict[str, timedelta]) -> None:
    """Hints and clamps apply to every, cron and calendar."""
    state = job_state(Once(today("12:00")), last_completed_at=today("09:00"), **limits)
    assert answer(decide(NOW, state, moment=Moment.SETTLED)) == (today("12:00"), Source.BASELINE_ONCE)


BEGINS = [
    (EVERY_5M, {}, today("10:05"), today("10:05"), INTERVAL, False),
    (EVERY_5M, {}, today("10:05") + TICK, today("10:05") + TICK, INTERVAL, True),
    (EVERY_5M, {}, today("10:05") - TICK, today("10:05"), INTERVAL, False),
    (HALF_PAST, {}, today("12:10"), today("12:30"), CRON, False),
    (HALF_PAST, {}, today("12:30"), today("12:30"), CRON, False),
    (HALF_PAST, {}, today("12:30") + TICK, today("13:30"), CRON, False),
    (HALF_PAST, {}, today("08:00"), today("10:30"), CRON, False),
    (HALF_PAST, {"stagger": 2 * MINUTE}, today("12:31:06"), today("12:31:06"), CRON, False),
    (HALF_PAST, {"stagger": 2 * MINUTE}, today("12:31:06") + TICK, today("13:31:06"), CRON, False),
    (Once(today("12:00")), {}, today("13:00"), today("13:00"), Source.BASELINE_ONCE, True),
    (HALF_PAST, {"hints": (oneshot_hint(today("10:10")),)}, today("10:20"), today("10:20"), Source.AI_ONESHOT, True),
    (HALF_PAST, {"max_interval": MINUTE}, today("10:20"), today("10:20"), MAX, True),
    (Manual(), {}, today("10:20"), None, Source.NONE, False),
]


@pytest.mark.parametrize(("schedule", "fields", "begins_at", "at", "source", "moved"), BEGINS)
def test_nothing_is_planned_before_from_when_it_is_given(
    schedule: Schedule,
    fields: dict[str, object],
    begins_at: datetime,
    at: datetime | None,
    source: Source,
    moved: bool,
) -> None:
    """Limits of life: from."""
    decision = decide(NOW, job_state(schedule, begins_at=begins_at, **fields), moment=Moment.SETTLED)
    assert answer(decision) == (at, source)
    assert (Rule.NOT_BEFORE in rules(decision)) is moved
    if moved:
        assert decision.trail[-1] == Step(Rule.NOT_BEFORE, at, source, None, "the job begins then")


ENDS = [
    (HALF_PAST, {"until": today("10:30")}, today("10:30"), CRON, None),
    (HALF_PAST, {"until": today("10:30") - TICK}, None, Source.NONE, "until comes before"),
    (HALF_PAST, {"max_runs": 3, "started_count": 2}, today("10:30"), CRON, None),
    (HALF_PAST, {"max_runs": 3, "started_count": 3}, None, Source.NONE, "max_runs is 3"),
    (HALF_PAST, {"max_runs": 3, "started_count": 4}, None, Source.NONE, "max_runs is 3"),
    (HALF_PAST, {"max_runs": 1, "started_count": 1, "until": today("10:00")}, None, Source.NONE, "max_runs is 1"),
    (EVERY_5M, {"until": today("10:05")}, today("10:05"), INTERVAL, None),
    (EVERY_5M, {"until": today("10:04")}, None, Source.NONE, "until comes before"),
    (Manual(), {"until": today("09:00")}, None, Source.NONE, None),
]


@pytest.mark.parametrize(("schedule", "fields", "at", "source", "because"), ENDS)
def test_nothing_is_planned_when_the_life_of_a_job_is_over(
    schedule: Schedule, fields: dict[str, object], at: datetime | None, source: Source, because: str | None
) -> None:
    """Limits of life: from, until, max_runs (started scheduled occurrences)."""
    decision = decide(NOW, job_state(schedule, **fields), moment=Moment.SETTLED)
    assert answer(decision) == (at, source)
    assert (Rule.ENDED in rules(decision)) is (because is not None)
    if because is not None:
        limit = fields["until"] if because.startswith("until") else None
        assert decision.trail[-1] == Step(Rule.ENDED, None, Source.NONE, limit, because)


MIDDAY = QuietHours(time(10), time(12))
DEFER, SKIP = QuietPolicy.DEFER, QuietPolicy.SKIP
QUIETS = [
    # cron and calendar move only when told to; skipping is for the admission to record
    (HALF_PAST, {}, MIDDAY, DEFER, today("12:00"), Source.QUIET),
    (HALF_PAST, {}, MIDDAY, SKIP, today("10:30"), CRON),
    (Daily(time(11)), {}, MIDDAY, DEFER, today("12:00"), Source.QUIET),
    (Daily(time(11)), {}, MIDDAY, SKIP, today("11:00"), Source.BASELINE_CALENDAR),
    (Once(today("11:00")), {}, MIDDAY, DEFER, today("12:00"), Source.QUIET),
    (Once(today("11:00")), {}, MIDDAY, SKIP, today("11:00"), Source.BASELINE_ONCE),
    (HALF_PAST, {"hints": (oneshot_hint(today("10:10")),)}, MIDDAY, SKIP, today("10:10"), Source.AI_ONESHOT),
    (HALF_PAST, {"hints": (oneshot_hint(today("10:10")),)}, MIDDAY, DEFER, today("12:00"), Source.QUIET),
    # an interval job runs once at the end either way
    (EVERY_5M, {}, MIDDAY, DEFER, today("12:00"), Source.QUIET),
    (EVERY_5M, {}, MIDDAY, SKIP, today("12:00"), Source.QUIET),
    (EVERY_5M, {"hints": (oneshot_hint(NOW),)}, MIDDAY, SKIP, today("12:00"), Source.QUIET),
    (EVERY_5M, {"min_interval": HOUR}, MIDDAY, SKIP, today("12:00"), Source.QUIET),
    (HALF_PAST, {"hints": (interval_hint(MINUTE),)}, MIDDAY, SKIP, today("12:00"), Source.QUIET),
    # outside quiet hours nothing moves: the end is no longer quiet
    (HALF_PAST, {}, QuietHours(time(10), time(10, 30)), DEFER, today("10:30"), CRON),
    (HALF_PAST, {}, QuietHours(time(10, 30), time(10, 31)), DEFER, today("10:31"), Source.QUIET),
    (EVERY_5M, {}, QuietHours(time(11), time(12)), SKIP, today("10:05"), INTERVAL),
    (HALF_PAST, {}, QuietDay(Weekday.MON), DEFER, on_march(3, "00:00"), Source.QUIET),
    (HALF_PAST, {}, QuietDates(date(2026, 3, 2), date(2026, 3, 4)), DEFER, on_march(5, "00:00"), Source.QUIET),
    # after the clamps: even max_interval waits
    (HALF_PAST, {"max_interval": MINUTE}, MIDDAY, DEFER, today("12:00"), Source.QUIET),
    (HALF_PAST, {"zone": "Europe/Berlin"}, QuietHours(time(10), time(11)), DEFER, today("10:30"), CRON),
    (HALF_PAST, {"zone": "Europe/Berlin"}, QuietHours(time(11), time(12)), DEFER, today("11:00"), Source.QUIET),
    # an appointment in time that quiet hours move past the end of a job's life stays, to be recorded as expired
    (HALF_PAST, {"until": today("11:00")}, MIDDAY, DEFER, today("12:00"), Source.QUIET),
    (HALF_PAST, {"until": today("10:29")}, MIDDAY, DEFER, None, Source.NONE),
    (EVERY_5M, {"until": today("11:00")}, MIDDAY, DEFER, None, Source.NONE),
    (HALF_PAST, {"until": today("12:00")}, MIDDAY, DEFER, today("12:00"), Source.QUIET),
    (Manual(), {}, MIDDAY, DEFER, None, Source.NONE),
]


@pytest.mark.parametrize(("schedule", "fields", "quiet", "policy", "at", "source"), QUIETS)
def test_quiet_hours_move_a_time_when_it_may_not_be_skipped(
    schedule: Schedule,
    fields: dict[str, object],
    quiet: QuietHours,
    policy: QuietPolicy,
    at: datetime | None,
    source: Source,
) -> None:
    """Quiet hours, after the clamps: skipped with that reason, or moved to the end; an interval job runs once at the
    end either way.
    """
    decision = decide(NOW, job_state(schedule, quiet=(quiet,), quiet_policy=policy, **fields), moment=Moment.SETTLED)
    assert answer(decision) == (at, source)


def test_trail_keeps_the_quiet_time_when_it_was_moved() -> None:
    state = job_state(HALF_PAST, quiet=(MIDDAY,), quiet_policy=DEFER)
    assert decide(NOW, state).trail[-1] == Step(
        Rule.QUIET, today("12:00"), Source.QUIET, today("10:30"), "quiet hours end then"
    )


AT_NOON = today("12:00")
PAUSES = [
    (None, (), None),
    (NOW - TICK, (), None),
    (NOW, (), None),
    (NOW + TICK, (), NOW + TICK),
    (AT_NOON, (), AT_NOON),
    # a pause hint never shortens or replaces a person's pause
    (None, (pause_hint(AT_NOON),), AT_NOON),
    (today("11:00"), (pause_hint(AT_NOON),), AT_NOON),
    (AT_NOON, (pause_hint(today("11:00")),), AT_NOON),
    (NOW, (pause_hint(AT_NOON),), AT_NOON),
    (None, (pause_hint(NOW),), None),
    (None, (pause_hint(NOW + TICK),), NOW + TICK),
    (None, (pause_hint(AT_NOON, NOW),), None),
    (None, (pause_hint(AT_NOON, NOW + TICK),), AT_NOON),
]


@pytest.mark.parametrize(("paused_until", "hints", "end"), PAUSES)
@pytest.mark.parametrize("moment", list(Moment))
def test_pause_wins_when_its_end_is_ahead(
    paused_until: datetime | None, hints: tuple[AnyHint, ...], end: datetime | None, moment: Moment
) -> None:
    """Pause: paused_until > now returns it, source paused, over everything."""
    decision = decide(NOW, job_state(HALF_PAST, paused_until=paused_until, hints=hints), moment=moment)
    assert answer(decision) == ((today("10:30"), CRON) if end is None else (end, Source.PAUSED))
    assert (Rule.PAUSED in rules(decision)) is (end is not None)
    if end is not None:
        assert decision.trail[-1] == Step(Rule.PAUSED, end, Source.PAUSED, None, "a pause wins over everything")


OVER_EVERYTHING = [
    (HALF_PAST, {"hints": (interval_hint(MINUTE), oneshot_hint(NOW))}),
    (HALF_PAST, {"min_interval": 9 * HOUR}),
    (HALF_PAST, {"max_interval": MINUTE}),
    (HALF_PAST, {"begins_at": on_march(9, "00:00")}),
    (HALF_PAST, {"until": today("09:00")}),
    (HALF_PAST, {"max_runs": 1, "started_count": 1}),
    (HALF_PAST, {"quiet": (QuietDay(Weekday.MON),), "quiet_policy": DEFER}),
    (EVERY_5M, {"is_running": True}),
    (EVERY_5M, {"last_completed_at": CREATED_AT}),
    (Once(today("10:30")), {}),
    (Manual(), {}),
]


@pytest.mark.parametrize(("schedule", "fields"), OVER_EVERYTHING)
def test_pause_wins_over_every_other_rule_when_both_apply(schedule: Schedule, fields: dict[str, object]) -> None:
    """Pause: source paused, over everything."""
    state = job_state(schedule, paused_until=AT_NOON, **fields)
    assert answer(decide(NOW, state, moment=Moment.SETTLED)) == (AT_NOON, Source.PAUSED)


def test_pause_has_no_time_when_it_has_no_end() -> None:
    decision = decide(NOW, job_state(paused_until=FOREVER))
    assert answer(decision) == (None, Source.PAUSED)
    assert decision.trail[-1] == Step(Rule.PAUSED, None, Source.PAUSED, None, "a pause wins over everything")
    assert datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC) == FOREVER
    almost = decide(NOW, job_state(paused_until=FOREVER - TICK))
    assert answer(almost) == (FOREVER - TICK, Source.PAUSED)


def test_pause_is_not_shown_when_the_job_is_disabled() -> None:
    state = job_state(is_enabled=False, paused_until=AT_NOON, last_completed_at=NOW)
    decision = decide(NOW, state)
    assert answer(decision) == (None, Source.NONE)
    assert Rule.PAUSED not in rules(decision)


def test_pause_hint_does_not_apply_when_the_job_runs_once() -> None:
    """Hints and clamps apply to every, cron and calendar."""
    state = job_state(Once(today("10:30")), hints=(pause_hint(AT_NOON),))
    assert answer(decide(NOW, state)) == (today("10:30"), Source.BASELINE_ONCE)


AFTER_PAUSE = [
    (HALF_PAST, {"fired_until": today("05:30")}, today("12:30"), CRON),
    (Cron("0 12 * * *"), {}, on_march(3, "12:00"), CRON),
    (Daily(time(9)), {}, on_march(3, "09:00"), Source.BASELINE_CALENDAR),
    (EVERY_5M, {"last_completed_at": today("09:00")}, AT_NOON, INTERVAL),
    (EVERY_5M, {"last_completed_at": None}, AT_NOON, INTERVAL),
    (Every(3 * HOUR + TICK), {"last_completed_at": today("09:00")}, AT_NOON + TICK, INTERVAL),
    (Every(DAY), {"last_completed_at": today("11:00")}, on_march(3, "11:00"), INTERVAL),
    (Once(today("11:00")), {}, AT_NOON, Source.BASELINE_ONCE),
]


@pytest.mark.parametrize(("schedule", "fields", "at", "source"), AFTER_PAUSE)
def test_pause_is_a_point_of_replanning_when_it_ends(
    schedule: Schedule, fields: dict[str, object], at: datetime, source: Source
) -> None:
    """A pause that ends is a point of replanning, not a due time: cron and calendar go to their next match,
    intervals run.
    """
    state = job_state(schedule, planned=planned(AT_NOON, Source.PAUSED), paused_until=AT_NOON, **fields)
    assert answer(decide(AT_NOON, state)) == (at, source)
    assert answer(decide(AT_NOON - TICK, state)) == (AT_NOON, Source.PAUSED)


def test_trail_ends_with_the_pause_when_everything_applies() -> None:
    state = job_state(
        hints=(interval_hint(MINUTE),),
        last_completed_at=today("09:00"),
        min_interval=70 * MINUTE,
        begins_at=today("10:20"),
        quiet=(MIDDAY,),
        until=today("11:00"),
        paused_until=on_march(3, "00:00"),
    )
    decision = decide(NOW, state)
    assert decision.trail == (
        asked(Moment.REPLANNED),
        Step(
            Rule.CANDIDATE,
            today("09:05"),
            INTERVAL,
            today("09:00"),
            "the interval counts from the last completion",
        ),
        Step(Rule.CANDIDATE, today("09:01"), Source.AI_INTERVAL, today("23:00")),
        Step(Rule.CHOSEN, today("09:01"), Source.AI_INTERVAL, None, "an interval hint overrides the baseline"),
        Step(Rule.OVERDUE, NOW, Source.AI_INTERVAL, today("09:01"), "what is overdue is due now"),
        Step(Rule.CLAMPED, today("10:10"), MIN, NOW, "min_interval is 1:10:00"),
        Step(Rule.NOT_BEFORE, today("10:20"), MIN, None, "the job begins then"),
        Step(Rule.QUIET, today("12:00"), Source.QUIET, today("10:20"), "quiet hours end then"),
        Step(Rule.ENDED, None, Source.NONE, today("11:00"), "until comes before"),
        Step(Rule.PAUSED, on_march(3, "00:00"), Source.PAUSED, None, "a pause wins over everything"),
    )
    assert decision.redecide_at == today("23:00")
