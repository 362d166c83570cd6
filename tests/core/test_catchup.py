"""Catch-up: what becomes of every due time that has passed."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, time, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.catchup import (
    Accounting,
    CatchUp,
    DueTime,
    Fold,
    LateRules,
    MissReason,
    account,
    check_late,
    default_catch_up,
    passed_due_times,
    spread,
)
from rota.core.decision import Decision, Moment, Rule, Source, Step
from rota.core.governor import decide
from rota.core.hint import AnyHint
from rota.core.job import JobState
from rota.core.quiet import QuietHours
from rota.core.run import RunState
from rota.core.schedule import Cron, Every, Manual, Once, Schedule
from rota.errors import ScheduleError
from tests.core.states import (
    DAY,
    HALF_PAST,
    HOUR,
    MINUTE,
    NOW,
    TICK,
    interval_hint,
    job_state,
    on_march,
    oneshot_hint,
    pause_hint,
    planned,
    today,
)

CRON = Source.BASELINE_CRON
ALL = LateRules(catch_up=CatchUp.ALL)
LATEST = LateRules(catch_up=CatchUp.LATEST)
SKIP = LateRules()


def down_since(clock: str, schedule: Cron = HALF_PAST, **fields: object) -> JobState:
    """A cron job whose next run was planned for a time of this day, and then nothing ran."""
    return job_state(schedule, planned=planned(today(clock), CRON), **fields)


def times(dues: tuple[DueTime, ...]) -> list[str]:
    return [f"{due.due_at:%H:%M}" for due in dues]


def fold(first: str, last: str, count: int, reason: MissReason) -> Fold:
    return Fold(today(first), today(last), count, reason)


def test_the_rules_are_those_of_the_specification_when_nothing_is_said() -> None:
    """SPEC 4: "`start_within` (default 5m)", "`catch_up: skip` (default)", "`catch_up_window` (1d)", "limit (10)"."""
    assert LateRules() == LateRules(5 * MINUTE, CatchUp.SKIP, DAY, 10)


def test_only_a_single_appointment_is_caught_up_when_nothing_is_said() -> None:
    """SPEC 4: "`catch_up: skip` (default; `once`: `latest`)"."""
    assert default_catch_up(Once(NOW)) is CatchUp.LATEST
    assert [default_catch_up(schedule) for schedule in (HALF_PAST, Every(HOUR), Manual())] == [CatchUp.SKIP] * 3


@pytest.mark.parametrize("plan", [None, planned(None, Source.AFTER_RUN), planned(NOW + TICK, CRON)])
def test_nothing_is_accounted_for_when_nothing_was_due(plan: Decision | None) -> None:
    """SPEC 3: "A pause that ends is a point of replanning, not a due time"."""
    assert account(NOW, job_state(HALF_PAST, planned=plan), ALL) == Accounting((), (), (), None, None)


@pytest.mark.parametrize("rules", [SKIP, LATEST, ALL])
@pytest.mark.parametrize(
    ("late_by", "is_late"), [(timedelta(), False), (5 * MINUTE, False), (5 * MINUTE + TICK, True), (HOUR - TICK, True)]
)
def test_a_due_time_still_fires_when_it_is_up_to_start_within_late(
    rules: LateRules, late_by: timedelta, is_late: bool
) -> None:
    """SPEC 4: "an occurrence up to `start_within` (default 5m) late still fires"."""
    state = down_since("09:30")
    due = DueTime(today("09:30"), CRON, (Step(Rule.ASKED, today("09:00"), because="earlier"),), today("09:30"))
    missed = Fold(today("09:30"), today("09:30"), 1, MissReason.LATE)
    if not is_late:
        expected = Accounting((due,), (), (), today("09:30"))
    elif rules is SKIP:
        expected = Accounting((), (), (missed,), today("09:30"))
    else:
        expected = Accounting((), (due,), (), today("09:30"))
    assert account(today("09:30") + late_by, state, rules) == expected


@pytest.mark.parametrize(
    ("rules", "now", "on_time", "caught_up", "missed"),
    [
        (SKIP, "10:00", [], [], [("05:30", "09:30", 5, MissReason.LATE)]),
        (SKIP, "10:31", ["10:30"], [], [("05:30", "09:30", 5, MissReason.LATE)]),
        (LATEST, "10:00", [], ["09:30"], [("05:30", "08:30", 4, MissReason.SUPERSEDED)]),
        (LATEST, "10:31", ["10:30"], [], [("05:30", "09:30", 5, MissReason.SUPERSEDED)]),
        (ALL, "10:00", [], ["05:30", "06:30", "07:30", "08:30", "09:30"], []),
        (ALL, "10:31", ["10:30"], ["05:30", "06:30", "07:30", "08:30", "09:30"], []),
    ],
)
def test_catch_up_decides_when_due_times_are_late(
    rules: LateRules,
    now: str,
    on_time: list[str],
    caught_up: list[str],
    missed: list[tuple[str, str, int, MissReason]],
) -> None:
    """SPEC 4: "later it is missed, and `catch_up: skip | latest | all` decides, … oldest first"."""
    result = account(today(now), down_since("05:30"), rules)
    assert (times(result.on_time), times(result.caught_up)) == (on_time, caught_up)
    assert result.passed == tuple(fold(*one) for one in missed)
    assert result.accounted_until == today((on_time or ["09:30"])[-1])
    assert result.resume is None


@pytest.mark.parametrize(
    ("limit", "caught_up", "over"),
    [(0, [], 5), (1, ["09:30"], 4), (4, ["06:30", "07:30", "08:30", "09:30"], 1), (5, None, 0), (6, None, 0)],
)
def test_the_oldest_are_given_up_when_more_are_late_than_the_limit(
    limit: int, caught_up: list[str] | None, over: int
) -> None:
    """SPEC 4: "within … `catch_up_limit` (10)"."""
    result = account(NOW, down_since("05:30"), LateRules(catch_up=CatchUp.ALL, limit=limit))
    assert times(result.caught_up) == (caught_up or (["05:30", "06:30", "07:30", "08:30", "09:30"] if limit else []))
    last = f"{4 + over:02}:30"
    assert result.passed == ((fold("05:30", last, over, MissReason.OVER_LIMIT),) if over else ())


@pytest.mark.parametrize(
    ("window", "outside"),
    [(90 * MINUTE, 4), (90 * MINUTE - TICK, 5), (150 * MINUTE, 3), (5 * HOUR, 1), (330 * MINUTE - TICK, 1)],
)
def test_a_due_time_is_given_up_when_it_lies_outside_the_window(window: timedelta, outside: int) -> None:
    """SPEC 4: "within `catch_up_window` (1d)"; the boundary itself lies inside."""
    # Due at 04:30 … 09:30, six in all; at 10:00 the one at 08:30 is 90 minutes old.
    result = account(NOW, down_since("04:30"), LateRules(catch_up=CatchUp.ALL, window=window))
    assert times(result.caught_up) == ["04:30", "05:30", "06:30", "07:30", "08:30", "09:30"][outside:]
    assert result.passed == (fold("04:30", f"{3 + outside:02}:30", outside, MissReason.OUTSIDE_WINDOW),)


def test_the_latest_is_given_up_too_when_it_lies_outside_the_window() -> None:
    once = job_state(Once(today("07:00")), planned=planned(today("07:00"), Source.BASELINE_ONCE))
    rules = LateRules(catch_up=CatchUp.LATEST, window=HOUR)
    expected = Accounting((), (), (fold("07:00", "07:00", 1, MissReason.OUTSIDE_WINDOW),), today("07:00"))
    assert account(NOW, once, rules) == expected
    assert times(account(today("08:00"), once, rules).caught_up) == ["07:00"]


def test_each_fate_is_one_row_when_window_and_limit_both_cut() -> None:
    """SPEC 4: "equal consecutive skips or misses fold into one row with first, last and count"."""
    result = account(NOW, down_since("03:30"), LateRules(catch_up=CatchUp.ALL, window=4 * HOUR, limit=2))
    assert times(result.caught_up) == ["08:30", "09:30"]
    assert result.passed == (
        fold("03:30", "05:30", 3, MissReason.OUTSIDE_WINDOW),
        fold("06:30", "07:30", 2, MissReason.OVER_LIMIT),
    )


def test_the_window_has_no_say_when_nothing_is_caught_up() -> None:
    result = account(NOW, down_since("05:30"), LateRules(window=HOUR))
    assert result.passed == (fold("05:30", "09:30", 5, MissReason.LATE),)


def test_an_interval_is_never_late_when_it_was_due_long_ago() -> None:
    """SPEC 4: "Intervals are never late"; there is one due time, for the next counts from a run that has not been."""
    state = job_state(Every(HOUR), planned=planned(on_march(1, "09:00")))
    result = account(NOW, state, SKIP)
    assert [due.due_at for due in result.on_time] == [on_march(1, "09:00")]
    assert (result.caught_up, result.passed, result.accounted_until) == ((), (), on_march(1, "09:00"))


QUIET = (QuietHours(time(10), time(11)),)


@pytest.mark.parametrize(
    ("schedule", "fields", "source", "at"),
    [
        (Every(HOUR), {"hints": (oneshot_hint(today("10:10")),)}, Source.AI_ONESHOT, "10:10"),
        (Every(HOUR), {"max_interval": 5 * MINUTE}, Source.CLAMPED_MAX, "10:05"),
        (Every(MINUTE), {"quiet": QUIET}, Source.QUIET, "11:00"),
        (HALF_PAST, {"hints": (interval_hint(HOUR),)}, Source.AI_INTERVAL, "11:00"),
        (HALF_PAST, {"hints": (interval_hint(MINUTE),), "min_interval": 20 * MINUTE}, Source.CLAMPED_MIN, "10:20"),
        (HALF_PAST, {"hints": (interval_hint(MINUTE),), "quiet": QUIET}, Source.QUIET, "11:00"),
    ],
)
def test_an_interval_is_never_late_when_clamps_hints_or_quiet_hours_moved_it(
    schedule: Schedule, fields: dict[str, object], source: Source, at: str
) -> None:
    """SPEC 4: "Intervals are never late"."""
    state = job_state(schedule, last_completed_at=NOW, **fields)
    plan = decide(NOW, state, moment=Moment.SETTLED)
    assert (plan.source, plan.next_run_at) == (source, today(at))
    result = account(today(at) + 20 * MINUTE, msgspec.structs.replace(state, planned=plan), SKIP)
    assert (times(result.on_time), result.passed) == ([at], ())


@pytest.mark.parametrize("source", [Source.AI_ONESHOT, Source.BACKOFF, Source.CLAMPED_MIN])
def test_any_other_time_of_a_cron_job_is_missed_when_it_is_late(source: Source) -> None:
    state = job_state(HALF_PAST, planned=planned(today("09:40"), source))
    assert account(NOW, state, SKIP).passed == (fold("09:40", "09:40", 1, MissReason.LATE),)


def test_overridden_times_are_no_due_times_when_an_interval_hint_rules() -> None:
    """SPEC 4: "Times that an interval hint overrides are not due times"."""
    state = down_since("05:30", hints=(interval_hint(10 * MINUTE, expires_at=today("08:00")),))
    assert [f"{due.due_at:%H:%M}" for due in passed_due_times(NOW, state)] == ["05:30", "08:30", "09:30"]


@pytest.mark.parametrize(
    "other",
    [
        oneshot_hint(today("06:00"), expires_at=today("06:45")),
        interval_hint(HOUR, expires_at=today("06:45")),
        oneshot_hint(today("12:00"), expires_at=today("13:00")),
    ],
)
def test_due_times_come_again_when_the_last_of_several_hints_has_expired(other: AnyHint) -> None:
    """SPEC 4: "Every due time of an enabled job ends in a run, or as `skipped` …, or as `missed` with a reason"."""
    state = down_since("05:30", hints=(other, interval_hint(10 * MINUTE, expires_at=today("08:00"))))
    assert [f"{due.due_at:%H:%M}" for due in passed_due_times(NOW, state)] == ["05:30", "08:30", "09:30"]


def test_due_times_keep_a_distance_when_the_job_has_a_min_interval() -> None:
    state = down_since("05:30", min_interval=90 * MINUTE)
    dues = list(passed_due_times(NOW, state))
    assert [f"{due.due_at:%H:%M}" for due in dues] == ["05:30", "07:00", "08:30", "10:00"]
    assert [due.source for due in dues] == [CRON, *[Source.CLAMPED_MIN] * 3]


def test_due_times_stop_when_the_life_of_the_job_ends() -> None:
    state = down_since("05:30", until=today("07:30"))
    assert [f"{due.due_at:%H:%M}" for due in passed_due_times(NOW, state)] == ["05:30", "06:30", "07:30"]


def test_due_times_stop_when_a_pause_holds() -> None:
    """SPEC 3: the end of a pause is "not a due time"; what it swallows is counted when it ends."""
    state = down_since("05:30", paused_until=today("12:00"))
    assert [f"{due.due_at:%H:%M}" for due in passed_due_times(NOW, state)] == ["05:30"]


@pytest.mark.parametrize(
    "pause",
    [{"paused_until": today("07:00")}, {"hints": (pause_hint(today("07:00"), expires_at=today("07:00")),)}],
    ids=["person", "hint"],
)
def test_no_due_time_is_left_in_silence_when_a_pause_began_and_ended_in_an_outage(pause: dict[str, object]) -> None:
    """SPEC 4: "Every due time of an enabled job ends in a run, or as `skipped` …, or as `missed` with a reason"."""
    # 06:30 lies in the pause; 07:30, 08:30 and 09:30 come after it, and somebody must account for them.
    result = account(NOW, down_since("05:30", **pause), SKIP)
    assert result.resume is not None or result.accounted_until == today("09:30")


def test_a_due_time_has_a_trail_of_its_own_when_it_follows_another() -> None:
    """SPEC 3: the trail is "copied to the run it causes"."""
    first, second = list(passed_due_times(today("06:30"), down_since("05:30")))
    asked = Step(Rule.ASKED, today("09:00"), because="earlier")
    assert first == DueTime(today("05:30"), CRON, (asked,), today("05:30"))
    assert second.trail[0] == Step(Rule.ASKED, today("05:30"), because="fired")
    assert second.trail[-1] == Step(Rule.CHOSEN, today("06:30"), CRON)


def test_an_outage_takes_several_passes_when_it_has_many_due_times_outside_the_window() -> None:
    rules = LateRules(catch_up=CatchUp.LATEST, window=2 * HOUR)
    first = account(NOW, down_since("02:30"), rules, per_pass=3)
    assert first.passed == (fold("02:30", "04:30", 3, MissReason.OUTSIDE_WINDOW),)
    assert (first.on_time, first.caught_up, first.accounted_until) == ((), (), today("04:30"))
    assert first.resume is not None
    assert (first.resume.due_at, first.resume.source) == (today("05:30"), CRON)
    # From the third on the due times lie inside the window, and are taken however many they are.
    second = account(NOW, down_since("05:30"), rules, per_pass=3)
    assert second.passed == (
        fold("05:30", "07:30", 3, MissReason.OUTSIDE_WINDOW),
        fold("08:30", "08:30", 1, MissReason.SUPERSEDED),
    )
    assert (times(second.caught_up), second.accounted_until, second.resume) == (["09:30"], today("09:30"), None)


@pytest.mark.parametrize(("window", "is_cut"), [(150 * MINUTE, False), (150 * MINUTE - TICK, True)])
def test_a_pass_is_cut_when_the_next_due_time_lies_before_the_window(window: timedelta, is_cut: bool) -> None:
    result = account(NOW, down_since("06:30"), LateRules(catch_up=CatchUp.ALL, window=window), per_pass=1)
    assert (result.resume is not None) is is_cut
    assert result.accounted_until == today("06:30" if is_cut else "09:30")


def test_a_pass_is_not_cut_when_start_within_reaches_further_than_the_window() -> None:
    rules = LateRules(start_within=5 * HOUR, catch_up=CatchUp.ALL, window=HOUR)
    result = account(NOW, down_since("05:30"), rules, per_pass=1)
    assert times(result.on_time) == ["05:30", "06:30", "07:30", "08:30", "09:30"]


def test_a_thousand_due_times_are_one_pass_when_nothing_is_said() -> None:
    state = job_state(Cron("* * * * *"), planned=planned(on_march(1, "00:00"), CRON))
    result = account(on_march(3, "00:00"), state, SKIP)
    assert result.passed == (Fold(on_march(1, "00:00"), on_march(1, "16:39"), 1_000, MissReason.LATE),)
    assert result.resume is not None
    assert result.resume.due_at == on_march(1, "16:40")


@pytest.mark.parametrize("newest", ["09:30", "09:45"])
def test_no_run_is_caught_up_early_when_a_pass_leaves_newer_times(newest: str) -> None:
    """The newest late time is run only once, in the pass that reaches it."""
    rules = LateRules(catch_up=CatchUp.LATEST, window=10 * HOUR)
    assert times(account(today(newest), down_since("05:30"), rules, per_pass=1).caught_up) == (
        ["09:30"] if newest == "09:45" else []
    )


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("08:30", "10:30", fold("09:30", "10:30", 2, MissReason.PAUSED)),
        ("08:29", "10:29", fold("08:30", "09:30", 2, MissReason.PAUSED)),
        ("08:30", "09:30", fold("09:30", "09:30", 1, MissReason.PAUSED)),
        ("08:30", "09:29", None),
    ],
)
def test_a_pause_leaves_one_row_when_due_times_passed_in_it(since: str, until: str, expected: Fold | None) -> None:
    """SPEC 3: "The times passed become one `skipped: paused` row with a count"."""
    pause = {"planned": planned(today(until), Source.PAUSED), "paused_until": today(until)}
    state = job_state(HALF_PAST, fired_until=today(since), hints=(interval_hint(MINUTE),), **pause)
    passed = account(today(until), state, LateRules(catch_up=CatchUp.ALL)).passed
    assert passed == ((expected,) if expected else ())
    assert [one.state for one in passed] == [RunState.SKIPPED] * len(passed)


def test_a_pause_leaves_a_row_from_the_edit_on_when_the_schedule_was_edited_before_it() -> None:
    pause = {"planned": planned(today("15:10"), Source.PAUSED), "paused_until": today("15:10")}
    state = job_state(HALF_PAST, fired_until=today("08:30"), scheduled_at=today("12:40"), **pause)
    assert account(today("15:15"), state, LateRules()).passed == (fold("13:30", "14:30", 2, MissReason.PAUSED),)


def test_a_pause_leaves_no_row_when_the_job_is_an_interval() -> None:
    """SPEC 3: after a pause "intervals run"."""
    pause = {"planned": planned(today("12:00"), Source.PAUSED), "paused_until": today("12:00")}
    state = job_state(Every(MINUTE), last_completed_at=today("08:00"), **pause)
    result = account(today("12:00"), state, LateRules())
    assert (times(result.on_time), result.passed) == (["12:00"], ())


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_batch_starts_at_once_when_it_is_small(count: int) -> None:
    """SPEC 4: "a batch above `jitter_threshold` (3) is spread"."""
    assert spread(NOW, [0.5] * count) == (None,) * count


def test_a_batch_is_spread_when_it_is_large() -> None:
    """SPEC 4: "each run gets its own `start_after`, up to `max_jitter` (30s)"."""
    seconds = [0, 7.5, 15, 30]
    assert spread(NOW, [0.0, 0.25, 0.5, 1.0]) == tuple(NOW + timedelta(seconds=wait) for wait in seconds)
    assert spread(NOW, [0.5, 1.0], threshold=1, max_jitter=MINUTE) == (NOW + MINUTE / 2, NOW + MINUTE)
    assert spread(NOW, [0.5, 1.0], threshold=2) == (None, None)


@pytest.mark.parametrize(
    ("rules", "field", "expected"),
    [
        (LateRules(limit=-1), "catch_up_limit", "zero or more"),
        (LateRules(start_within=-TICK), "start_within", "a duration from zero to 36525d"),
        (LateRules(window=timedelta.max), "catch_up_window", "a duration from zero to 36525d"),
    ],
)
def test_rules_are_refused_when_they_could_never_work(rules: LateRules, field: str, expected: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_late(rules)
    assert (caught.value.field, caught.value.expected) == (field, expected)
    check_late(LateRules(timedelta(), CatchUp.ALL, timedelta(), 0))


def test_nothing_is_caught_up_when_the_limit_is_below_zero() -> None:
    assert account(NOW, down_since("05:30"), LateRules(catch_up=CatchUp.ALL, limit=-1)).caught_up == ()


def brute_due_times(step: int, first: datetime, now: datetime) -> list[datetime]:
    """Every minute divisible by the step, found by looking at each minute."""
    minutes = range((now - first) // MINUTE + 1)
    return [at for at in (first + minute * MINUTE for minute in minutes) if at.minute % step == 0]


RULES = st.builds(
    LateRules,
    start_within=st.integers(0, 90).map(lambda minutes: minutes * MINUTE),
    catch_up=st.sampled_from(CatchUp),
    window=st.integers(0, 600).map(lambda minutes: minutes * MINUTE),
    limit=st.integers(0, 8),
)


@settings(deadline=None, max_examples=150)
@given(
    step=st.sampled_from([5, 10, 15, 20, 30]),
    first_hour=st.integers(0, 9),
    late_seconds=st.integers(0, 4 * 3600),
    rules=RULES,
    per_pass=st.integers(1, 30),
)
def test_every_due_time_is_accounted_for_once_when_an_outage_ends(
    step: int, first_hour: int, late_seconds: int, rules: LateRules, per_pass: int
) -> None:
    first = today(f"{first_hour:02}:00")
    now = NOW + timedelta(seconds=late_seconds)
    state = job_state(Cron(f"*/{step} * * * *"), planned=planned(first, CRON))
    expected = brute_due_times(step, first, now)
    fired: list[datetime] = []
    late_runs = folded = passes = 0
    seen: Counter[datetime] = Counter()
    while True:
        result = account(now, state, rules, per_pass=per_pass)
        passes += 1
        runs = [due.due_at for due in (*result.caught_up, *result.on_time)]
        fired += runs
        late_runs += len(result.caught_up)
        folded += sum(one.count for one in result.passed)
        for one in result.passed:
            inside = [at for at in expected if one.first_at <= at <= one.last_at]
            assert (inside[0], inside[-1], len(inside)) == (one.first_at, one.last_at, one.count)
            seen.update(inside)
        assert list(result.caught_up) == sorted(result.caught_up, key=lambda due: due.due_at)
        assert all(now - due.due_at <= rules.start_within for due in result.on_time)
        assert all(rules.start_within < now - due.due_at <= rules.window for due in result.caught_up)
        if result.resume is None:
            break
        state = msgspec.structs.replace(
            state,
            planned=Decision(
                result.resume.due_at, result.resume.source, result.resume.trail, match_at=result.resume.match_at
            ),
            fired_until=result.accounted_until,
        )
    seen.update(fired)
    assert late_runs <= {CatchUp.SKIP: 0, CatchUp.LATEST: 1, CatchUp.ALL: rules.limit}[rules.catch_up]
    assert len(fired) + folded == len(expected)
    assert seen == Counter(expected)
    assert result.accounted_until == expected[-1]
    assert passes <= len(expected)
