"""SPEC section 3, rules 1 to 3: the candidates, the choice between them, and what has passed."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest

from rota.core.backoff import Ladder, Multiply, NoBackoff
from rota.core.calendar import LAST, Daily, MonthDay, Monthly, NthWeekday, Weekday, Weekly
from rota.core.chain import After
from rota.core.decision import Moment, Rule, Source, Step
from rota.core.governor import decide
from rota.core.hint import AnyHint, IntervalHint, OneShotHint
from rota.core.schedule import Chat, Cron, Every, Manual, Once, Schedule, Webhook
from tests.core.states import (
    DAY,
    EVERY_5M,
    HALF_PAST,
    HOUR,
    MINUTE,
    NOW,
    TICK,
    answer,
    asked,
    hints_of,
    interval_hint,
    job_state,
    on_march,
    oneshot_hint,
    pause_hint,
    rules,
    today,
)

NINE = time(9)
COMPLETED = today("09:00")

BASELINES = [
    (EVERY_5M, today("10:05"), Source.BASELINE_INTERVAL),
    (HALF_PAST, today("10:30"), Source.BASELINE_CRON),
    (Cron("0 10 * * *"), on_march(3, "10:00"), Source.BASELINE_CRON),
    (Cron("1 10 * * *"), today("10:01"), Source.BASELINE_CRON),
    (Daily(NINE), on_march(3, "09:00"), Source.BASELINE_CALENDAR),
    (Daily(time(10)), on_march(3, "10:00"), Source.BASELINE_CALENDAR),
    (Daily(time(10, 0, 1)), today("10:00:01"), Source.BASELINE_CALENDAR),
    (Weekly((Weekday.MON, Weekday.THU), NINE), on_march(5, "09:00"), Source.BASELINE_CALENDAR),
    (Monthly(MonthDay(31), NINE), on_march(31, "09:00"), Source.BASELINE_CALENDAR),
    (Monthly(MonthDay(LAST), NINE), on_march(31, "09:00"), Source.BASELINE_CALENDAR),
    (Monthly(NthWeekday(1, Weekday.TUE), NINE), on_march(3, "09:00"), Source.BASELINE_CALENDAR),
    (Monthly(NthWeekday(LAST, Weekday.FRI), NINE), on_march(27, "09:00"), Source.BASELINE_CALENDAR),
    (Once(today("12:00")), today("12:00"), Source.BASELINE_ONCE),
    (Once(NOW), NOW, Source.BASELINE_ONCE),
]
OUTSIDE = [Manual(), Webhook(), Chat(), After("build")]
CLOCKED = [EVERY_5M, HALF_PAST, Daily(NINE), Weekly((Weekday.MON,), NINE), Monthly(MonthDay(1), NINE)]


@pytest.mark.parametrize(("schedule", "at", "source"), BASELINES)
def test_baseline_is_planned_when_there_are_no_hints(schedule: Schedule, at: datetime, source: Source) -> None:
    """Candidates: baseline (baseline-cron, baseline-interval, baseline-calendar, baseline-once). None: the baseline."""
    decision = decide(NOW, job_state(schedule, last_completed_at=COMPLETED), moment=Moment.SETTLED)
    assert answer(decision) == (at, source)
    assert [(step.rule, step.at, step.source) for step in decision.trail[1:]] == [
        (Rule.CANDIDATE, at, source),
        (Rule.CHOSEN, at, source),
    ]


@pytest.mark.parametrize("schedule", OUTSIDE)
@pytest.mark.parametrize("moment", list(Moment))
def test_nothing_is_planned_when_a_job_is_fired_from_outside(schedule: Schedule, moment: Moment) -> None:
    """manual, webhook, chat, after: none."""
    decision = decide(NOW, job_state(schedule, last_completed_at=COMPLETED), moment=moment)
    assert answer(decision) == (None, Source.NONE)
    assert decision.trail == (
        asked(moment),
        Step(Rule.CANDIDATE, None, Source.NONE, None, "it has no due times"),
        Step(Rule.CHOSEN, None, Source.NONE, None, "hints do not apply to this type of schedule"),
    )


@pytest.mark.parametrize("schedule", [*CLOCKED, Once(today("12:00")), *OUTSIDE])
@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("is_running", [False, True])
def test_nothing_is_planned_when_a_job_is_disabled(schedule: Schedule, moment: Moment, is_running: bool) -> None:
    state = job_state(schedule, is_enabled=False, is_running=is_running, last_completed_at=COMPLETED)
    decision = decide(NOW, state, moment=moment)
    assert answer(decision) == (None, Source.NONE)
    assert decision.trail == (
        asked(moment),
        Step(Rule.CANDIDATE, None, Source.NONE, None, "the job is not enabled"),
        Step(Rule.CHOSEN, None, Source.NONE),
    )


@pytest.mark.parametrize("schedule", CLOCKED)
@pytest.mark.parametrize("is_running", [False, True])
@pytest.mark.parametrize("hint", [interval_hint(MINUTE), oneshot_hint(today("10:01"))])
def test_hints_plan_nothing_when_a_job_is_disabled(schedule: Schedule, is_running: bool, hint: AnyHint) -> None:
    state = job_state(schedule, is_enabled=False, is_running=is_running, hints=(hint,), last_completed_at=COMPLETED)
    decision = decide(NOW, state)
    assert answer(decision) == (None, Source.NONE)
    assert rules(decision) == [Rule.ASKED, Rule.CANDIDATE, Rule.CHOSEN]


def test_trail_names_every_step_when_an_interval_is_settled() -> None:
    """The trail lists every candidate, rule and clamp with its times, as data."""
    decision = decide(NOW, job_state(last_completed_at=COMPLETED), moment=Moment.SETTLED)
    because = "the interval counts from the last completion"
    assert decision.trail == (
        Step(Rule.ASKED, NOW, None, None, "settled"),
        Step(Rule.CANDIDATE, today("10:05"), Source.BASELINE_INTERVAL, NOW, because),
        Step(Rule.CHOSEN, today("10:05"), Source.BASELINE_INTERVAL, None, ""),
    )
    assert decision.redecide_at is None


def test_trail_names_the_zone_when_a_wall_time_is_planned() -> None:
    """Every job has an IANA zone, used at every computation."""
    decision = decide(NOW, job_state(Cron("30 11 * * *"), zone="Europe/Berlin"))
    assert decision.trail[1:] == (
        Step(Rule.CANDIDATE, today("10:30"), Source.BASELINE_CRON, None, "the next match in Europe/Berlin"),
        Step(Rule.CHOSEN, today("10:30"), Source.BASELINE_CRON),
    )


def test_trail_is_short_when_a_job_runs_once() -> None:
    """Hints and clamps apply to every, cron and calendar."""
    hints = (interval_hint(MINUTE), oneshot_hint(today("10:01")), interval_hint(MINUTE, NOW))
    state = job_state(Once(today("12:00")), hints=hints, min_interval=5 * HOUR, max_interval=6 * HOUR)
    decision = decide(NOW, state, moment=Moment.CREATED)
    assert decision.trail == (
        asked(Moment.CREATED),
        Step(Rule.CANDIDATE, today("12:00"), Source.BASELINE_ONCE),
        Step(Rule.CHOSEN, today("12:00"), Source.BASELINE_ONCE, None, "hints do not apply to this type of schedule"),
    )


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_once_reads_its_time_in_the_zone_when_it_has_no_offset(zone: str) -> None:
    wall = today("12:00").replace(tzinfo=None)
    expected = {"Europe/Berlin": today("11:00"), "UTC": today("12:00")}[zone]
    assert answer(decide(NOW, job_state(Once(wall), zone=zone))) == (expected, Source.BASELINE_ONCE)


@pytest.mark.parametrize(
    ("moment", "fired_until", "at"),
    [
        (Moment.REPLANNED, None, today("12:00")),
        (Moment.REPLANNED, today("12:00") - TICK, today("12:00")),
        (Moment.REPLANNED, today("12:00"), None),
        (Moment.REPLANNED, today("12:01"), None),
        (Moment.CREATED, None, today("12:00")),
        (Moment.SETTLED, None, today("12:00")),
        (Moment.SETTLED, today("12:00"), None),
        (Moment.FIRED, None, None),
        (Moment.SKIPPED, None, None),
    ],
)
def test_once_comes_once_when_it_has_been_fired(
    moment: Moment, fired_until: datetime | None, at: datetime | None
) -> None:
    """That instant; afterwards none."""
    decision = decide(NOW, job_state(Once(today("12:00")), fired_until=fired_until), moment=moment)
    assert answer(decision) == (at, Source.BASELINE_ONCE if at else Source.NONE)
    because = "" if at else "its one time has been fired"
    assert decision.trail[1] == Step(Rule.CANDIDATE, at, decision.source, None, because)


INTERVAL, ONESHOT, CRON = Source.AI_INTERVAL, Source.AI_ONESHOT, Source.BASELINE_CRON
BOTH, OVER = "the earlier of both hints wins", "an interval hint overrides the baseline"
CHOICES = [
    # both hints: the earlier of the two, whatever the baseline (10:30) says
    (interval_hint(10 * MINUTE), oneshot_hint(today("10:09")), today("10:09"), ONESHOT, BOTH),
    (interval_hint(10 * MINUTE), oneshot_hint(today("10:11")), today("10:10"), INTERVAL, BOTH),
    (interval_hint(2 * HOUR), oneshot_hint(today("11:59")), today("11:59"), ONESHOT, BOTH),
    (interval_hint(2 * HOUR), oneshot_hint(today("12:01")), today("12:00"), INTERVAL, BOTH),
    # a tie: interval
    (interval_hint(10 * MINUTE), oneshot_hint(today("10:10")), today("10:10"), INTERVAL, BOTH),
    (interval_hint(10 * MINUTE), oneshot_hint(today("10:10") - TICK), today("10:10") - TICK, ONESHOT, BOTH),
    # interval hint alone: it wins over the baseline, sooner or later
    (interval_hint(MINUTE), None, today("10:01"), INTERVAL, OVER),
    (interval_hint(3 * HOUR), None, today("13:00"), INTERVAL, OVER),
    # one-shot alone: the earlier of it and the baseline
    (None, oneshot_hint(today("10:29")), today("10:29"), ONESHOT, "the one-shot hint comes before the baseline"),
    (None, oneshot_hint(today("10:30")), today("10:30"), CRON, ""),
    (None, oneshot_hint(today("10:31")), today("10:30"), CRON, ""),
    (None, None, today("10:30"), CRON, ""),
]


@pytest.mark.parametrize(("interval", "oneshot", "at", "source", "because"), CHOICES)
@pytest.mark.parametrize("oneshot_first", [False, True])
def test_choice_follows_the_rules_when_hints_are_given(
    interval: IntervalHint | None,
    oneshot: OneShotHint | None,
    at: datetime,
    source: Source,
    because: str,
    oneshot_first: bool,
) -> None:
    """Both hints: the earlier of the two (tie: interval). Interval hint alone: it wins over the baseline.
    One-shot alone: the earlier of it and the baseline. None: the baseline.
    """
    hints = hints_of(oneshot, interval) if oneshot_first else hints_of(interval, oneshot)
    decision = decide(NOW, job_state(HALF_PAST, hints=hints), moment=Moment.SETTLED)
    assert answer(decision) == (at, source)
    assert decision.trail[-1] == Step(Rule.CHOSEN, at, source, None, because)


@pytest.mark.parametrize("schedule", CLOCKED)
def test_hints_apply_when_the_schedule_is_a_clock(schedule: Schedule) -> None:
    """Hints and clamps apply to every, cron and calendar."""
    state = job_state(schedule, hints=(interval_hint(MINUTE),), last_completed_at=COMPLETED)
    assert answer(decide(NOW, state, moment=Moment.SETTLED)) == (today("10:01"), INTERVAL)


def test_oneshot_wins_when_the_baseline_has_no_time_left() -> None:
    last = datetime(9999, 12, 31, 23, 59, 30, tzinfo=UTC)
    state = job_state(Cron("* * * * *"), hints=(oneshot_hint(last, last + 20 * timedelta(seconds=1)),))
    assert answer(decide(last - timedelta(seconds=1), state)) == (last, ONESHOT)


def test_nothing_is_planned_when_the_calendar_has_no_match_left() -> None:
    last = datetime(9999, 12, 31, 23, 59, 30, tzinfo=UTC)
    assert answer(decide(last, job_state(Cron("* * * * *")))) == (None, Source.BASELINE_CRON)


@pytest.mark.parametrize(("expires_at", "counts"), [(NOW - TICK, False), (NOW, False), (NOW + TICK, True)])
def test_hint_counts_only_when_its_expiry_is_ahead(expires_at: datetime, counts: bool) -> None:
    """A hint counts only while its own expiry > now."""
    interval = decide(NOW, job_state(HALF_PAST, hints=(interval_hint(MINUTE, expires_at),)), moment=Moment.SETTLED)
    oneshot = decide(NOW, job_state(HALF_PAST, hints=(oneshot_hint(today("10:02"), expires_at),)))
    baseline = (today("10:30"), CRON)
    assert answer(interval) == ((today("10:01"), INTERVAL) if counts else baseline)
    assert answer(oneshot) == ((today("10:02"), ONESHOT) if counts else baseline)
    assert interval.redecide_at == oneshot.redecide_at == (expires_at if counts else None)


def test_each_hint_has_its_own_expiry_when_both_are_given() -> None:
    hints = (interval_hint(MINUTE, NOW), oneshot_hint(today("10:02"), today("10:20")))
    decision = decide(NOW, job_state(HALF_PAST, hints=hints))
    assert answer(decision) == (today("10:02"), ONESHOT)
    assert decision.redecide_at == today("10:20")


def test_trail_lists_hints_when_they_count_and_when_they_have_expired() -> None:
    """The trail lists every candidate, rule and clamp with its times, as data."""
    expired = today("09:59")
    hints = (
        interval_hint(HOUR, expired),
        oneshot_hint(today("10:01"), expired),
        pause_hint(today("12:00"), expired),
        interval_hint(20 * MINUTE, today("11:00"), author="planner", reason="the queue is long"),
        oneshot_hint(today("10:25"), today("10:40"), reason="a look before lunch"),
    )
    decision = decide(NOW, job_state(HALF_PAST, hints=hints), moment=Moment.SETTLED)
    gone = "the hint has expired"
    assert decision.trail == (
        asked(Moment.SETTLED),
        Step(Rule.CANDIDATE, today("10:30"), CRON, None, "the next match in UTC"),
        Step(Rule.IGNORED, None, INTERVAL, expired, gone),
        Step(Rule.IGNORED, None, ONESHOT, expired, gone),
        Step(Rule.IGNORED, None, Source.PAUSED, expired, gone),
        Step(Rule.CANDIDATE, today("10:20"), INTERVAL, today("11:00"), "planner: the queue is long"),
        Step(Rule.CANDIDATE, today("10:25"), ONESHOT, today("10:40"), "a hint: a look before lunch"),
        Step(Rule.CHOSEN, today("10:20"), INTERVAL, None, BOTH),
    )
    assert decision.redecide_at == today("10:40")


@pytest.mark.parametrize(
    ("author", "reason", "because"),
    [("", "", ""), ("ana", "", "ana"), ("ana", "busy", "ana: busy"), ("", "busy", "a hint: busy")],
)
def test_trail_says_who_gave_a_hint_when_it_is_known(author: str, reason: str, because: str) -> None:
    hint = interval_hint(MINUTE, today("11:00"), author, reason)
    trail = decide(NOW, job_state(hints=(hint,)), moment=Moment.SETTLED).trail
    assert trail[2] == Step(Rule.CANDIDATE, today("10:01"), INTERVAL, today("11:00"), because)


LATE = "what is overdue is due now"
PAST = [
    (EVERY_5M, (), today("09:05"), Source.BASELINE_INTERVAL),
    (HALF_PAST, (interval_hint(59 * MINUTE),), today("09:59"), INTERVAL),
    (HALF_PAST, (oneshot_hint(NOW - TICK),), NOW - TICK, ONESHOT),
    (Once(today("09:00")), (), today("09:00"), Source.BASELINE_ONCE),
    (EVERY_5M, (interval_hint(10 * MINUTE), oneshot_hint(today("09:09"))), today("09:09"), ONESHOT),
    (EVERY_5M, (interval_hint(10 * MINUTE), oneshot_hint(today("09:10"))), today("09:10"), INTERVAL),
]


@pytest.mark.parametrize(("schedule", "hints", "was", "source"), PAST)
def test_candidate_is_due_now_when_it_has_passed(
    schedule: Schedule, hints: tuple[AnyHint, ...], was: datetime, source: Source
) -> None:
    """A candidate in the past is replanned from now: one-shot → now. What is overdue is due now."""
    decision = decide(NOW, job_state(schedule, hints=hints, last_completed_at=COMPLETED))
    assert answer(decision) == (NOW, source)
    assert decision.trail[-1] == Step(Rule.OVERDUE, NOW, source, was, LATE)
    assert rules(decision)[-2] is Rule.CHOSEN


@pytest.mark.parametrize(
    ("schedule", "hints", "source"),
    [
        (Every(HOUR), (), Source.BASELINE_INTERVAL),
        (HALF_PAST, (interval_hint(HOUR),), INTERVAL),
        (HALF_PAST, (oneshot_hint(NOW),), ONESHOT),
        (Once(NOW), (), Source.BASELINE_ONCE),
    ],
)
def test_candidate_is_not_overdue_when_it_is_due_now(
    schedule: Schedule, hints: tuple[AnyHint, ...], source: Source
) -> None:
    decision = decide(NOW, job_state(schedule, hints=hints, last_completed_at=COMPLETED))
    assert answer(decision) == (NOW, source)
    assert Rule.OVERDUE not in rules(decision)


def test_interval_counts_from_now_when_the_run_took_longer_than_it() -> None:
    """A candidate in the past is replanned from now: interval → now + interval."""
    state = job_state(last_completed_at=COMPLETED, hints=(interval_hint(3 * MINUTE),))
    assert answer(decide(NOW, state, moment=Moment.SETTLED)) == (today("10:03"), INTERVAL)


@pytest.mark.parametrize("moment", list(Moment))
def test_cron_goes_to_its_next_match_when_times_have_passed(moment: Moment) -> None:
    """A candidate in the past is replanned from now: cron/calendar → next after now."""
    state = job_state(HALF_PAST, last_completed_at=today("03:00"), fired_until=today("02:30"))
    assert answer(decide(NOW, state, moment=moment)) == (today("10:30"), CRON)


@pytest.mark.parametrize(
    ("fired_until", "at"),
    [
        (None, today("10:30")),
        (today("10:29:59.999999"), today("10:30")),
        (today("10:30"), today("11:30")),
        (today("13:00"), today("13:30")),
    ],
)
def test_wall_time_is_not_repeated_when_the_clock_steps_back(fired_until: datetime | None, at: datetime) -> None:
    """A step back fires nothing twice: a per-job high-water mark is the truth."""
    assert answer(decide(NOW, job_state(HALF_PAST, fired_until=fired_until))) == (at, CRON)


STAGGERED = today("10:31:06")


@pytest.mark.parametrize(
    ("now", "fired_until", "at"),
    [
        (NOW, None, STAGGERED),
        (today("10:30:30"), None, STAGGERED),
        (STAGGERED - TICK, None, STAGGERED),
        (STAGGERED, None, STAGGERED + HOUR),
        (NOW, today("10:30") - TICK, STAGGERED),
        (NOW, today("10:30"), STAGGERED + HOUR),
    ],
)
def test_wall_times_move_by_a_fixed_share_when_staggered(
    now: datetime, fired_until: datetime | None, at: datetime
) -> None:
    """stagger: 2m moves a job by a fixed share of two minutes derived from its name; for "report" that is 66 s."""
    state = job_state(HALF_PAST, stagger=2 * MINUTE, fired_until=fired_until)
    assert answer(decide(now, state)) == (at, CRON)


def test_interval_is_not_moved_when_staggered() -> None:
    state = job_state(stagger=2 * MINUTE, last_completed_at=NOW)
    assert decide(NOW, state).next_run_at == today("10:05")


def test_wall_times_stay_when_the_calendar_ends_before_the_stagger() -> None:
    last = datetime(9999, 12, 31, 23, 58, 30, tzinfo=UTC)
    assert decide(last, job_state(Cron("0 0 1 1 *"), stagger=2 * MINUTE)).next_run_at is None


@pytest.mark.parametrize("backoff", [Multiply(), Ladder(), NoBackoff()])
def test_backoff_leaves_the_baseline_alone_when_nothing_has_failed(backoff: Multiply | Ladder | NoBackoff) -> None:
    """One success resets it."""
    state = job_state(backoff=backoff, last_completed_at=COMPLETED)
    assert answer(decide(NOW, state, moment=Moment.SETTLED)) == (today("10:05"), Source.BASELINE_INTERVAL)
    wall = job_state(HALF_PAST, backoff=backoff, last_completed_at=COMPLETED)
    assert answer(decide(NOW, wall, moment=Moment.SETTLED)) == (today("10:30"), CRON)


def test_baseline_runs_daily_when_the_zone_changes_its_clock() -> None:
    """A fixed time that a clock change removes fires once, at the first instant after the gap."""
    before = on_march(29, "00:00")
    state = job_state(Daily(time(2, 30)), zone="Europe/Berlin")
    assert answer(decide(before, state)) == (on_march(29, "01:00"), Source.BASELINE_CALENDAR)
    assert answer(decide(before + DAY, state)) == (on_march(30, "00:30"), Source.BASELINE_CALENDAR)
