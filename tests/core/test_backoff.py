"""Backoff: how failures stretch the baseline (SPEC section 3), and how long a retry waits (section 6)."""

from __future__ import annotations

from datetime import datetime, time, timedelta

import pytest

from rota.core.action import ActionKind
from rota.core.backoff import (
    LADDER,
    MAX_MULTIPLIER,
    Backoff,
    Ladder,
    Multiply,
    NoBackoff,
    Retry,
    check_backoff,
    check_retry,
    default_backoff,
    ladder_step,
    multiplier,
    retry_delay,
)
from rota.core.calendar import Daily, MonthDay, Monthly, Weekday, Weekly
from rota.core.chain import After
from rota.core.decision import Moment, Rule, Source, Step
from rota.core.governor import decide
from rota.core.schedule import Chat, Cron, Every, Manual, Once, Schedule, Webhook
from rota.errors import ScheduleError
from tests.core.states import EVERY_5M, HOUR, MINUTE, NOW, answer, interval_hint, job_state, on_march, today

SECOND = timedelta(seconds=1)
EACH_MINUTE = Cron("* * * * *")
MULTIPLIERS = [(0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 32), (31, 32), (33, 32), (10**9, 32)]
STEPS = [
    (1, 30 * SECOND),
    (2, MINUTE),
    (3, 5 * MINUTE),
    (4, 15 * MINUTE),
    (5, 60 * MINUTE),
    (6, 60 * MINUTE),
    (10**9, 60 * MINUTE),
]


@pytest.mark.parametrize(("failures", "factor"), MULTIPLIERS)
def test_interval_doubles_up_to_32_times_when_runs_fail(failures: int, factor: int) -> None:
    """An interval is multiplied by 2^failures, at most 32."""
    assert multiplier(failures) == factor
    state = job_state(backoff=Multiply(), failure_count=failures)
    decision = decide(NOW, state, moment=Moment.SETTLED)
    at = NOW + factor * 5 * MINUTE
    assert answer(decision) == (at, Source.BASELINE_INTERVAL)
    because = "the interval counts from the last completion"
    if failures:
        because = f"{failures} failures multiply the interval by {factor}"
    assert decision.trail[1] == Step(Rule.CANDIDATE, at, Source.BASELINE_INTERVAL, NOW, because)


def test_multiplier_is_bounded_when_named() -> None:
    assert MAX_MULTIPLIER == 32


@pytest.mark.parametrize(("failures", "step"), STEPS)
def test_ladder_climbs_a_step_and_holds_the_last_when_runs_fail(failures: int, step: timedelta) -> None:
    """backoff: [30s, 1m, 5m, 15m, 60m] (the ladder)."""
    assert ladder_step(Ladder(), failures) == step
    assert ladder_step(Ladder((step,)), failures) == step


def test_ladder_has_the_documented_steps_when_none_are_given() -> None:
    assert LADDER == (30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR)
    assert Ladder().steps == LADDER


WALL_LADDER = [
    (EACH_MINUTE, 1, NOW, today("10:01"), "1 failures wait at least 0:00:30"),
    (EACH_MINUTE, 2, NOW, today("10:01"), "2 failures wait at least 0:01:00"),
    (EACH_MINUTE, 2, today("10:00:00.000001"), today("10:02"), "2 failures wait at least 0:01:00"),
    (EACH_MINUTE, 1, today("10:00:30"), today("10:01"), "1 failures wait at least 0:00:30"),
    (EACH_MINUTE, 1, today("10:00:30.000001"), today("10:02"), "1 failures wait at least 0:00:30"),
    (EACH_MINUTE, 3, NOW, today("10:05"), "3 failures wait at least 0:05:00"),
    (EACH_MINUTE, 5, NOW, today("11:00"), "5 failures wait at least 1:00:00"),
    (Cron("30 * * * *"), 4, NOW, today("10:30"), "4 failures wait at least 0:15:00"),
    (Cron("30 * * * *"), 5, NOW, today("11:30"), "5 failures wait at least 1:00:00"),
    (Daily(time(11)), 5, NOW, today("11:00"), "5 failures wait at least 1:00:00"),
    (Daily(time(10, 59, 59)), 5, NOW, on_march(3, "10:59:59"), "5 failures wait at least 1:00:00"),
]


@pytest.mark.parametrize(("schedule", "failures", "now", "at", "because"), WALL_LADDER)
@pytest.mark.parametrize("moment", [Moment.SETTLED, Moment.SKIPPED])
def test_ladder_waits_for_the_first_match_at_or_after_the_step_when_runs_fail(
    schedule: Schedule, failures: int, now: datetime, at: datetime, because: str, moment: Moment
) -> None:
    """The ladder applies to any type instead: the first match at or after now + step, source backoff."""
    state = job_state(schedule, backoff=Ladder(), failure_count=failures)
    decision = decide(now, state, moment=moment)
    assert answer(decision) == (at, Source.BACKOFF)
    assert decision.trail[1] == Step(Rule.CANDIDATE, at, Source.BACKOFF, None, because)


@pytest.mark.parametrize(
    ("completed", "at"),
    [(today("09:30"), today("10:30")), (today("09:00"), today("10:01")), (today("09:01"), today("10:01"))],
)
@pytest.mark.parametrize("moment", [Moment.REPLANNED, Moment.CREATED])
def test_ladder_counts_from_the_last_completion_when_replanned(
    completed: datetime, at: datetime, moment: Moment
) -> None:
    """At any other re-decision they count from the last completion."""
    state = job_state(EACH_MINUTE, backoff=Ladder(), failure_count=5, last_completed_at=completed)
    assert answer(decide(NOW, state, moment=moment)) == (at, Source.BACKOFF)


def test_ladder_counts_from_now_when_no_completion_is_known() -> None:
    state = job_state(EACH_MINUTE, backoff=Ladder(), failure_count=3)
    assert answer(decide(NOW, state)) == (today("10:05"), Source.BACKOFF)


def test_ladder_respects_from_and_the_high_water_mark_when_they_are_later() -> None:
    late = today("12:00")
    for fields in ({"begins_at": late}, {"fired_until": today("11:59")}):
        state = job_state(EACH_MINUTE, backoff=Ladder(), failure_count=1, **fields)
        assert answer(decide(NOW, state, moment=Moment.SETTLED)) == (late, Source.BACKOFF)


def test_ladder_reaches_the_staggered_match_when_the_step_ends_there() -> None:
    """Staggered by 66 s, the matches of "report" lie at 6 s past each minute."""
    for now, at in ((today("10:00:06"), today("10:05:06")), (today("10:00:06.000001"), today("10:06:06"))):
        state = job_state(EACH_MINUTE, backoff=Ladder(), failure_count=3, stagger=2 * MINUTE)
        assert answer(decide(now, state, moment=Moment.SETTLED)) == (at, Source.BACKOFF)


def test_ladder_waits_for_the_settlement_when_a_job_is_fired() -> None:
    """Cron and calendar move at the fire (baseline) and again at the settlement (with hints and backoff)."""
    state = job_state(EACH_MINUTE, backoff=Ladder(), failure_count=5)
    assert answer(decide(NOW, state, moment=Moment.FIRED)) == (today("10:01"), Source.BASELINE_CRON)
    assert answer(decide(NOW, state, moment=Moment.SETTLED)) == (today("11:00"), Source.BACKOFF)


@pytest.mark.parametrize("backoff", [Multiply(), NoBackoff()])
def test_wall_job_keeps_its_times_when_it_has_no_ladder(backoff: Backoff) -> None:
    """An interval is multiplied; backoff: none."""
    state = job_state(EACH_MINUTE, backoff=backoff, failure_count=5)
    assert answer(decide(NOW, state, moment=Moment.SETTLED)) == (today("10:01"), Source.BASELINE_CRON)


@pytest.mark.parametrize(
    ("interval", "failures", "at", "step"),
    [
        (5 * MINUTE, 1, today("10:05"), "0:00:30"),
        (5 * MINUTE, 3, today("10:05"), "0:05:00"),
        (5 * MINUTE, 4, today("10:15"), "0:15:00"),
        (5 * MINUTE, 9, today("11:00"), "1:00:00"),
        (2 * HOUR, 9, today("12:00"), "1:00:00"),
    ],
)
def test_interval_waits_at_least_a_step_when_it_has_a_ladder(
    interval: timedelta, failures: int, at: datetime, step: str
) -> None:
    state = job_state(Every(interval), backoff=Ladder(), failure_count=failures)
    decision = decide(NOW, state, moment=Moment.SETTLED)
    because = f"{failures} failures wait at least {step}"
    assert decision.trail[1] == Step(Rule.CANDIDATE, at, Source.BACKOFF, NOW, because)
    assert answer(decision) == (at, Source.BACKOFF)


def test_interval_keeps_its_cadence_when_backoff_is_none() -> None:
    """backoff: none."""
    state = job_state(backoff=NoBackoff(), failure_count=4)
    assert answer(decide(NOW, state, moment=Moment.SETTLED)) == (today("10:05"), Source.BASELINE_INTERVAL)


def test_once_keeps_its_time_when_it_has_a_ladder() -> None:
    state = job_state(Once(today("10:01")), backoff=Ladder(), failure_count=5)
    assert answer(decide(NOW, state)) == (today("10:01"), Source.BASELINE_ONCE)


def test_jitter_is_part_of_the_stretched_interval_when_runs_fail() -> None:
    state = job_state(Every(50 * MINUTE), backoff=Multiply(), failure_count=1, jitter=10.0)
    assert decide(NOW, state, moment=Moment.SETTLED, share=0.5).next_run_at == today("11:45")


def test_interval_hint_is_not_stretched_when_runs_fail() -> None:
    """Backoff enters the baseline."""
    state = job_state(backoff=Multiply(), failure_count=5, hints=(interval_hint(MINUTE),))
    assert answer(decide(NOW, state, moment=Moment.SETTLED)) == (today("10:01"), Source.AI_INTERVAL)


def test_interval_counts_its_backoff_from_the_last_completion_when_replanned() -> None:
    state = job_state(backoff=Multiply(), failure_count=2, last_completed_at=today("09:50"))
    assert answer(decide(NOW, state)) == (today("10:10"), Source.BASELINE_INTERVAL)


AT_NINE = time(9)
WALLS = [EACH_MINUTE, Daily(AT_NINE), Weekly((Weekday.MON,), AT_NINE), Monthly(MonthDay(1), AT_NINE)]
OTHERS = [Once(NOW), Manual(), Webhook(), Chat(), After("build")]


@pytest.mark.parametrize("action", list(ActionKind))
def test_default_backoff_follows_schedule_and_action_when_none_is_given(action: ActionKind) -> None:
    """Defaults: the multiplier for intervals, the ladder for agent and chat on cron or calendar, none for the rest."""
    assert default_backoff(EVERY_5M, action) == Multiply()
    for schedule in WALLS:
        climbs = action in {"agent", "chat"}
        assert default_backoff(schedule, action) == (Ladder() if climbs else NoBackoff())
    for schedule in OTHERS:
        assert default_backoff(schedule, action) == NoBackoff()


def test_retry_is_off_when_nothing_is_said() -> None:
    """retry: {max: 2, first: 30s, factor: 2, cap: 1h} (default max 0)."""
    assert Retry() == Retry(max=0, first=30 * SECOND, factor=2.0, cap=HOUR, on_lost=0, on_interrupted=0)


RETRY_DELAYS = [
    (Retry(), [(1, 30), (2, 60), (3, 120), (4, 240), (7, 1920), (8, 3600), (9, 3600), (10**6, 3600)]),
    (Retry(first=10 * SECOND, factor=1.5, cap=20 * SECOND), [(1, 10), (2, 15), (3, 20), (4, 20)]),
    (Retry(first=10 * SECOND, factor=3, cap=30 * SECOND), [(1, 10), (2, 30), (3, 30)]),
    (Retry(first=10 * SECOND, factor=1), [(1, 10), (2, 10), (50, 10)]),
    (Retry(first=2 * HOUR), [(1, 3600), (2, 3600)]),
]


@pytest.mark.parametrize(("retry", "delays"), RETRY_DELAYS)
def test_retry_waits_longer_up_to_the_cap_when_attempts_fail(retry: Retry, delays: list[tuple[int, int]]) -> None:
    assert [retry_delay(retry, attempt) / SECOND for attempt, _ in delays] == [seconds for _, seconds in delays]


def test_retry_waits_for_the_cap_when_the_factor_is_huge() -> None:
    retry = Retry(factor=1e15)
    check_retry(retry)
    assert retry_delay(retry, 2) == HOUR


@pytest.mark.parametrize("backoff", [Multiply(), NoBackoff(), Ladder(), Ladder((timedelta(microseconds=1),))])
def test_backoff_is_accepted_when_it_can_be_climbed(backoff: Backoff) -> None:
    check_backoff(backoff)


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        ((), ""),
        ((timedelta(),), "0:00:00"),
        ((MINUTE, timedelta()), "0:01:00, 0:00:00"),
        ((-SECOND, MINUTE), "-1 day, 23:59:59, 0:01:00"),
    ],
)
def test_ladder_is_refused_when_it_cannot_be_climbed(steps: tuple[timedelta, ...], value: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_backoff(Ladder(steps))
    error = caught.value
    assert (error.field, error.value) == ("backoff", value)
    assert error.expected == "at least one step, each more than zero"
    assert error.example == "[30s, 1m, 5m, 15m, 60m]"


@pytest.mark.parametrize(
    "retry",
    [
        Retry(),
        Retry(max=2, on_lost=1, on_interrupted=1),
        Retry(factor=1),
        Retry(first=timedelta(microseconds=1), cap=timedelta(microseconds=1)),
    ],
)
def test_retry_is_accepted_when_its_limits_hold(retry: Retry) -> None:
    check_retry(retry)


@pytest.mark.parametrize(
    ("retry", "field", "value", "expected", "example"),
    [
        (Retry(max=-1), "retry.max", "-1", "at least 0", "2"),
        (Retry(on_lost=-1), "retry.on_lost", "-1", "at least 0", "1"),
        (Retry(on_interrupted=-2), "retry.on_interrupted", "-2", "at least 0", "1"),
        (Retry(factor=0.99), "retry.factor", "0.99", "at least 1", "2"),
        (Retry(first=timedelta()), "retry.first", "0:00:00", "more than zero", "30s"),
        (Retry(cap=timedelta()), "retry.cap", "0:00:00", "more than zero", "30s"),
        (Retry(first=-SECOND), "retry.first", "-1 day, 23:59:59", "more than zero", "30s"),
    ],
)
def test_retry_is_refused_when_a_limit_is_broken(
    retry: Retry, field: str, value: str, expected: str, example: str
) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_retry(retry)
    error = caught.value
    assert (error.field, error.value, error.expected, error.example) == (field, value, expected, example)
    assert str(error) == f'Invalid {field} "{value}": expected {expected}. Example: {example}'


@pytest.mark.parametrize("factor", [float("nan"), float("inf")])
def test_retry_is_refused_when_its_factor_is_no_number(factor: float) -> None:
    with pytest.raises(ScheduleError):
        check_retry(Retry(factor=factor))
