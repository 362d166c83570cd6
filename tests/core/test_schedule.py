"""The kinds of schedule, their text form, the next due time of each, and their spread."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.calendar import LAST, Daily, MonthDay, Monthly, NthWeekday, Weekday, Weekly
from rota.core.chain import After, ChainOn, ChainPass
from rota.core.duration import MAX_DURATION
from rota.core.schedule import (
    MAX_JITTER,
    Chat,
    Cron,
    Every,
    First,
    Manual,
    Once,
    Schedule,
    Webhook,
    calculate_next_trigger,
    check_schedule,
    due_times,
    format_schedule,
    is_schedule_due,
    jitter_delay,
    next_time,
    next_times,
    next_wall,
    once_instant,
    parse_instant,
    parse_schedule,
    schedule_type,
    stagger_offset,
)
from rota.errors import CronParseError, InputError, IntervalParseError, ScheduleError
from tests.core.brute import utc, wall

NOW = utc("2026-05-01T12:00")
FIVE = timedelta(minutes=5)
NINE = time(9)
NEW_YORK = "America/New_York"
OUTSIDE: list[Schedule] = [Manual(), Webhook(), Chat(), After("build")]

# text, what it reads as, how that is printed
READ: list[tuple[str, Schedule, str]] = [
    ("every 5m", Every(FIVE), "every 5m"),
    (" EVERY   90m ", Every(timedelta(minutes=90)), "every 1h30m"),
    ("daily 09:00", Daily(NINE), "daily 09:00"),
    ("Daily 9:00", Daily(NINE), "daily 09:00"),
    ("weekly mon,thu 09:00", Weekly((Weekday.MON, Weekday.THU), NINE), "weekly mon,thu 09:00"),
    ("weekly Thursday, mon  9:00", Weekly((Weekday.MON, Weekday.THU), NINE), "weekly mon,thu 09:00"),
    ("monthly 31 09:00", Monthly(MonthDay(31), NINE), "monthly 31 09:00"),
    ("monthly last 09:00", Monthly(MonthDay(LAST), NINE), "monthly last 09:00"),
    ("monthly first mon 09:00", Monthly(NthWeekday(1, Weekday.MON), NINE), "monthly first mon 09:00"),
    ("monthly last fri 09:00:30", Monthly(NthWeekday(LAST, Weekday.FRI), time(9, 0, 30)), "monthly last fri 09:00:30"),
    ("once 2026-12-01T09:00", Once(wall("2026-12-01T09:00")), "once 2026-12-01T09:00:00"),
    ("at 2026-12-01 09:00", Once(wall("2026-12-01T09:00")), "once 2026-12-01T09:00:00"),
    ("once 2026-12-01T09:00+02:00", Once(utc("2026-12-01T07:00")), "once 2026-12-01T07:00:00+00:00"),
    ("once 2026-12-01T09:00Z", Once(utc("2026-12-01T09:00")), "once 2026-12-01T09:00:00+00:00"),
    ("in 20m", Once(utc("2026-05-01T12:20")), "once 2026-05-01T12:20:00+00:00"),
    ("0 9 * * 1-5", Cron("0 9 * * 1-5"), "0 9 * * 1-5"),
    ("  @daily ", Cron("@daily"), "@daily"),
    ("manual", Manual(), "manual"),
    ("Webhook", Webhook(), "webhook"),
    ("chat ", Chat(), "chat"),
    ("after build", After("build"), "after build on success"),
    ("after build on failure", After("build", ChainOn.FAILURE), "after build on failure"),
    ("AFTER build on done", After("build", ChainOn.DONE), "after build on done"),
]


@pytest.mark.parametrize(("text", "schedule", "printed"), READ)
def test_schedule_is_read_and_printed_when_it_is_valid(text: str, schedule: Schedule, printed: str) -> None:
    found = parse_schedule(text, now=NOW)
    assert found == schedule
    assert type(found) is type(schedule)
    assert format_schedule(schedule) == printed
    assert parse_schedule(printed, now=NOW + FIVE) == schedule
    assert check_schedule(schedule) == ()


@pytest.mark.parametrize(
    ("text", "kind", "field", "value"),
    [
        ("", CronParseError, "expression", ""),
        ("every", IntervalParseError, "every", ""),
        ("every 5x", IntervalParseError, "every", "5x"),
        ("every 0m", IntervalParseError, "every", "0m"),
        ("in -5m", IntervalParseError, "in", "-5m"),
        ("daily", ScheduleError, "daily", ""),
        ("daily 24:00", ScheduleError, "daily", "24:00"),
        ("weekly 09:00", ScheduleError, "weekly", "09:00"),
        ("weekly", ScheduleError, "weekly", ""),
        ("weekly foo 09:00", ScheduleError, "weekly.on", "foo"),
        ("weekly mon 9", ScheduleError, "weekly.at", "9"),
        ("monthly 09:00", ScheduleError, "monthly", "09:00"),
        ("monthly 32 09:00", ScheduleError, "monthly.on", "32"),
        ("monthly 31 25:00", ScheduleError, "monthly.at", "25:00"),
        ("once", ScheduleError, "once.at", ""),
        ("once tomorrow", ScheduleError, "once.at", "tomorrow"),
        ("at 2026-13-01", ScheduleError, "once.at", "2026-13-01"),
        ("after", ScheduleError, "after", ""),
        ("manual now", CronParseError, "expression", "manual now"),
        ("chat x y z w", CronParseError, "minute", "chat x y z w"),
        ("0 25 * * *", CronParseError, "hour", "0 25 * * *"),
        ("nonsense", CronParseError, "expression", "nonsense"),
    ],
)
def test_error_names_field_and_value_when_a_schedule_is_wrong(
    text: str, kind: type[InputError], field: str, value: str
) -> None:
    with pytest.raises(kind) as caught:
        parse_schedule(text, now=NOW)
    assert (caught.value.field, caught.value.value) == (field, value)


@pytest.mark.parametrize(("word", "example"), [("weekly", "weekly mon,thu 09:00"), ("monthly", "monthly 31 09:00")])
def test_error_shows_day_and_time_when_one_is_missing(word: str, example: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(f"{word} x", now=NOW)
    assert str(caught.value) == f'Invalid {word} "x": expected day and time. Example: {example}'


def test_instant_is_a_wall_time_when_it_has_no_offset() -> None:
    assert parse_instant(" 2026-12-01T09:00 ", field="from") == wall("2026-12-01T09:00")
    assert parse_instant("2026-12-01T09:00-05:00", field="from") == utc("2026-12-01T14:00")
    assert parse_instant("2026-12-01T09:00-05:00", field="from").tzinfo is UTC
    assert parse_instant("2026-12-01", field="from") == wall("2026-12-01T00:00")
    for text in ("soon", "", "0001-01-01T00:00+05:00", "9999-12-31T23:00-05:00", "1969-12-31", "9999-01-01"):
        with pytest.raises(ScheduleError) as caught:
            parse_instant(text, field="until")
        assert str(caught.value) == (
            f'Invalid until "{text}": expected an ISO 8601 date and time, 1970 to 9998. Example: 2026-12-01T09:00'
        )
        assert caught.value.field == "until"


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Once(NOW), "once"),
        (Every(FIVE), "every"),
        (Cron("@daily"), "cron"),
        (Daily(NINE), "calendar"),
        (Weekly((Weekday.MON,), NINE), "calendar"),
        (Monthly(MonthDay(1), NINE), "calendar"),
        (Manual(), "manual"),
        (Webhook(), "webhook"),
        (Chat(), "chat"),
        (After("build"), "after"),
    ],
)
def test_type_is_one_of_the_words_when_asked(schedule: Schedule, expected: str) -> None:
    assert schedule_type(schedule) == expected


def test_defaults_hold_when_nothing_is_said() -> None:
    """keep: false removes the job; first run at once when the job is created (first: after waits one interval)."""
    assert (Once(NOW).keep, Every(FIVE).first) == (True, First.NOW)
    assert [str(word) for word in First] == ["now", "after"]
    assert MAX_JITTER == 10.0


@pytest.mark.parametrize(
    ("schedule", "after", "zone", "expected"),
    [
        (Once(utc("2026-12-01T09:00")), "2026-12-01T08:59:59.999999", "UTC", "2026-12-01T09:00"),
        (Once(utc("2026-12-01T09:00")), "2026-12-01T09:00", "UTC", None),
        (Once(wall("2026-12-01T09:00")), "2026-05-01T00:00", "Europe/Berlin", "2026-12-01T08:00"),
        (Once(wall("2024-03-10T02:30")), "2024-01-01T00:00", NEW_YORK, "2024-03-10T07:00"),
        (Once(wall("2024-11-03T01:30")), "2024-01-01T00:00", NEW_YORK, "2024-11-03T05:30"),
        (Every(FIVE), "2026-05-01T12:00:30", "UTC", "2026-05-01T12:05:30"),
        (Every(timedelta(days=1)), "2024-03-09T12:00", NEW_YORK, "2024-03-10T12:00"),
        (Every(FIVE), "9999-12-31T23:56", "UTC", None),
        (Every(FIVE), "9999-12-31T23:54", "UTC", "9999-12-31T23:59"),
        (Cron("0 9 * * *"), "2026-05-01T12:00", "Europe/Berlin", "2026-05-02T07:00"),
        (Daily(NINE), "2026-05-01T12:00", "Europe/Berlin", "2026-05-02T07:00"),
        (Weekly((Weekday.MON,), NINE), "2026-05-01T12:00", "UTC", "2026-05-04T09:00"),
        (Monthly(MonthDay(31), NINE), "2026-05-31T12:00", "UTC", "2026-06-30T09:00"),
        *[(schedule, "2026-05-01T12:00", "UTC", None) for schedule in OUTSIDE],
    ],
)
def test_next_time_follows_the_table_when_asked(
    schedule: Schedule, after: str, zone: str, expected: str | None
) -> None:
    """That instant, afterwards none; intervals follow elapsed time; none for what is fired from outside."""
    assert next_time(schedule, utc(after), zone) == (expected and utc(expected))


def test_once_is_an_instant_in_utc_when_it_was_given_with_any_zone() -> None:
    aware = once_instant(Once(datetime.fromisoformat("2026-12-01T09:00+05:00")), NEW_YORK)
    assert (aware, aware.tzinfo) == (utc("2026-12-01T04:00"), UTC)
    naive = once_instant(Once(wall("2026-12-01T09:00")), NEW_YORK)
    assert (naive, naive.tzinfo) == (utc("2026-12-01T14:00"), UTC)


@pytest.mark.parametrize("text", ["once 9999-12-31T23:59", "once 0001-01-01T00:00"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", NEW_YORK, "UTC"])
def test_one_time_is_refused_or_answered_when_it_lies_at_the_edge_of_the_calendar(text: str, zone: str) -> None:
    """A schedule that is accepted when read must not fail when it is used."""
    try:
        schedule = parse_schedule(text, now=NOW)
        check_schedule(schedule)
    except ScheduleError:
        return
    found = next_time(schedule, NOW, zone)
    assert found is None or found > NOW


def test_delay_is_refused_when_it_leads_past_the_end_of_the_calendar() -> None:
    with pytest.raises(InputError):
        parse_schedule("in 36525d", now=utc("9950-01-01"))


def test_wall_schedules_share_one_search_when_asked() -> None:
    for schedule in (Cron("0 9 * * *"), Daily(NINE)):
        assert next_wall(schedule, utc("2024-01-01T09:00"), "UTC") == utc("2024-01-02T09:00")


def test_next_five_due_times_are_shown_when_saving() -> None:
    """Saving shows the next five due times."""
    days = tuple(utc(f"2026-05-0{day}T09:00") for day in range(2, 7))
    assert next_times("0 9 * * *", after=NOW, count=5) == days
    assert next_times(Daily(NINE), after=NOW, count=5, zone="UTC") == days
    assert next_times("daily 11:00", after=NOW, count=1, zone="Europe/Berlin") == (utc("2026-05-02T09:00"),)
    assert next_times("every 5m", after=NOW, count=2) == (NOW + FIVE, NOW + 2 * FIVE)
    assert next_times("in 20m", after=NOW, count=5) == (NOW + 4 * FIVE,)
    assert next_times("manual", after=NOW, count=5) == ()
    assert next_times("@daily", after=NOW, count=0) == ()
    assert list(due_times(Every(timedelta(days=365)), utc("9998-01-01"), "UTC")) == [utc("9999-01-01")]


def test_check_refuses_or_warns_when_a_schedule_cannot_work() -> None:
    """A date that never comes is refused when saved; both day fields restricted: warn when saved."""
    assert check_schedule(Cron("0 0 13 * 5")) == (
        'day of month "13" or day of week "5": a day that matches either one counts',
    )
    with pytest.raises(CronParseError, match="no date ever matches"):
        check_schedule(Cron("0 0 31 2 *"))
    for interval, value in (
        (timedelta(), "0:00:00"),
        (timedelta(seconds=-1), "-1 day, 23:59:59"),
        (MAX_DURATION + timedelta(seconds=1), "36525 days, 0:00:01"),
    ):
        with pytest.raises(ScheduleError) as caught:
            check_schedule(Every(interval))
        assert str(caught.value) == f'Invalid every "{value}": expected more than zero, at most 36525d. Example: 5m'
        assert caught.value.field == "every"
    assert check_schedule(Every(timedelta(microseconds=1))) == ()
    with pytest.raises(ScheduleError) as caught:
        check_schedule(Weekly((), NINE))
    assert str(caught.value) == ('Invalid weekly.on "": expected at least one day from mon to sun. Example: mon,thu')
    assert (caught.value.field, caught.value.value) == ("weekly.on", "")


@pytest.mark.parametrize(
    ("name", "stagger", "expected"),
    [
        # The share is blake2b of the name, eight bytes, over 2**64: b2sum -l 64.
        ("backup", 120, 89),
        ("backup", 3600, 2676),
        ("nightly-report", 120, 60),
        ("a", 120, 30),
        ("a", 3600, 913),
        ("a", 1, 0),
        ("a", 0, 0),
    ],
)
def test_stagger_is_a_fixed_share_derived_from_its_name_when_asked(name: str, stagger: int, expected: int) -> None:
    """stagger: 2m moves a job by a fixed share of two minutes derived from its name."""
    assert stagger_offset(name, timedelta(seconds=stagger)) == timedelta(seconds=expected)


def test_stagger_spreads_evenly_when_many_jobs_share_it() -> None:
    offsets = [stagger_offset(f"job-{number}", timedelta(minutes=2)) for number in range(2000)]
    assert len(set(offsets)) == 120
    assert (min(offsets), max(offsets)) == (timedelta(), timedelta(seconds=119))
    assert stagger_offset("job", timedelta(seconds=1.9)) == timedelta()
    assert stagger_offset("\ud800", timedelta(minutes=2)) < timedelta(minutes=2)


@settings(max_examples=150, deadline=None)
@given(st.text(), st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=36_525)))
def test_stagger_stays_within_its_span_when_the_name_is_arbitrary(name: str, stagger: timedelta) -> None:
    offset = stagger_offset(name, stagger)
    assert timedelta() <= offset < stagger
    assert offset.microseconds == 0
    assert stagger_offset.__wrapped__(name, stagger) == offset


@pytest.mark.parametrize(
    ("jitter", "share", "expected"),
    [(0.0, 1.0, 0.0), (5.0, 0.0, 0.0), (5.0, 0.5, 2.5), (5.0, 1.0, 5.0), (10.0, 1.0, 10.0), (10.0, 0.25, 2.5)],
)
def test_jitter_adds_its_share_of_the_interval_when_asked(jitter: float, share: float, expected: float) -> None:
    """jitter: 5 adds a uniform 0-5% of the interval; the share is an argument."""
    assert jitter_delay(timedelta(seconds=100), jitter, share) == timedelta(seconds=expected)


@pytest.mark.parametrize(
    ("completed", "interval", "jitter", "share", "expected"),
    [
        (None, FIVE, 0.0, 0.0, "2026-05-01T12:00"),
        (None, "5m", 10.0, 1.0, "2026-05-01T12:00"),
        ("2026-05-01T11:58", FIVE, 0.0, 0.0, "2026-05-01T12:03"),
        ("2026-05-01T11:58", "5m", 0.0, 1.0, "2026-05-01T12:03"),
        ("2026-05-01T11:58", "5m", 10.0, 1.0, "2026-05-01T12:03:30"),
        ("2026-05-01T11:58", "5m", 10.0, 0.5, "2026-05-01T12:03:15"),
        ("2026-05-01T11:55", "5m", 0.0, 0.0, "2026-05-01T12:00"),
        ("2026-05-01T11:54:59", "5m", 0.0, 0.0, "2026-05-01T12:00"),
        ("2026-05-01T11:55:01", "5m", 0.0, 0.0, "2026-05-01T12:00:01"),
        ("2026-05-01T08:00", "5m", 0.0, 0.0, "2026-05-01T12:00"),
    ],
)
def test_trigger_is_completion_plus_interval_when_not_overdue(
    completed: str | None, interval: timedelta | str, jitter: float, share: float, expected: str
) -> None:
    """Completion of the previous run + interval; first run at once."""
    last = utc(completed) if completed else None
    assert calculate_next_trigger(last, interval, now=NOW, jitter=jitter, share=share) == utc(expected)


def test_trigger_has_no_jitter_when_none_is_given() -> None:
    assert calculate_next_trigger(NOW, "5m", now=NOW) == NOW + FIVE
    assert calculate_next_trigger(NOW, "5m", now=NOW, share=1.0) == NOW + FIVE
    assert calculate_next_trigger(NOW, "5m", now=NOW, jitter=10.0) == NOW + FIVE
    with pytest.raises(IntervalParseError, match="Zero interval is not allowed"):
        calculate_next_trigger(None, "0m", now=NOW)


def test_schedule_is_due_when_its_time_has_come() -> None:
    assert is_schedule_due(NOW, NOW)
    assert is_schedule_due(NOW - timedelta(microseconds=1), NOW)
    assert not is_schedule_due(NOW + timedelta(microseconds=1), NOW)
    assert not is_schedule_due(None, NOW)


CLOCKS = st.times().map(lambda at: at.replace(microsecond=0))
DAYS = st.sampled_from(Weekday)
SCHEDULES = st.one_of(
    st.builds(
        Every,
        st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=36_525)),
        st.sampled_from(First),
    ),
    st.builds(Daily, CLOCKS),
    st.builds(Weekly, st.sets(DAYS, min_size=1).map(lambda days: tuple(sorted(days))), CLOCKS),
    st.builds(Monthly, st.builds(MonthDay, st.just(LAST) | st.integers(1, 31)), CLOCKS),
    st.builds(Monthly, st.builds(NthWeekday, st.sampled_from([1, 2, 3, 4, 5, LAST]), DAYS), CLOCKS),
    st.builds(Once, st.datetimes(wall("1970-01-01"), wall("9998-12-31")), keep=st.booleans()),
    st.builds(Once, st.datetimes(wall("1970-01-01"), wall("9998-12-31"), timezones=st.just(UTC)), keep=st.booleans()),
    st.builds(
        After,
        st.text("abc-/.", min_size=1),
        st.sampled_from(ChainOn),
        st.none() | st.sampled_from(["done", "/[1-9] failed/", "on failure delay 5m"]),
        st.timedeltas(timedelta(), timedelta(days=3)),
        st.sampled_from(ChainPass),
    ),
    st.sampled_from(["0 9 * * 1-5", "@hourly", "*/5 1 L * ?"]).map(Cron),
    st.sampled_from(OUTSIDE),
)


@settings(max_examples=200, deadline=None)
@given(SCHEDULES)
def test_schedule_survives_when_printed_and_read(schedule: Schedule) -> None:
    assert parse_schedule(format_schedule(schedule), now=NOW) == schedule


@settings(max_examples=100, deadline=None)
@given(SCHEDULES, st.datetimes(min_value=wall("1990-01-01"), max_value=wall("2100-01-01"), timezones=st.just(UTC)))
def test_due_times_rise_strictly_when_listed(schedule: Schedule, after: datetime) -> None:
    times = (after, *next_times(schedule, after=after, count=5))
    assert all(earlier < later for earlier, later in pairwise(times))


WORDS = st.sampled_from(["every", "daily", "weekly", "monthly", "once", "in", "after", "manual", "5m", "09:00", "mon"])


@settings(max_examples=200, deadline=None)
@given(st.text() | st.lists(WORDS | st.text(max_size=3), max_size=4).map(" ".join))
def test_only_the_documented_errors_are_raised_when_text_is_arbitrary(text: str) -> None:
    try:
        parse_schedule(text, now=NOW)
    except InputError as error:
        assert isinstance(error, (IntervalParseError, CronParseError, ScheduleError))  # noqa: PT017


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"interval": timedelta()}, "every"),
        ({"interval": timedelta.max}, "every"),
        ({"jitter": -1.0}, "jitter"),
        ({"jitter": 11.0}, "jitter"),
        ({"jitter": float("nan")}, "jitter"),
        ({"share": 1.1}, "share"),
        ({"share": -0.1}, "share"),
        ({"now": wall("2026-05-01T12:00")}, "now"),
        ({"last_completed_at": wall("2026-05-01T12:00")}, "last_completed_at"),
    ],
)
def test_trigger_is_refused_when_an_argument_makes_no_sense(arguments: dict[str, object], field: str) -> None:
    """No input of the public helpers raises anything but the documented errors."""
    given = {"last_completed_at": NOW, "interval": FIVE, "now": NOW} | arguments
    with pytest.raises(ScheduleError) as caught:
        calculate_next_trigger(**given)
    assert caught.value.field == field


def test_trigger_stays_within_the_calendar_when_it_would_pass_its_end() -> None:
    late = utc("9999-12-31T23:59")
    assert calculate_next_trigger(late, "1h", now=late) == datetime.max.replace(tzinfo=UTC)


def test_times_are_refused_or_read_as_wall_times_when_asked_without_an_offset() -> None:
    assert next_times("0 9 * * *", after=wall("2026-05-01T08:59"), count=1, zone=NEW_YORK) == (utc("2026-05-01T13:00"),)
    assert next_times("every 5m", after=wall("2026-05-01T08:00"), count=1, zone=NEW_YORK) == (utc("2026-05-01T12:05"),)
    with pytest.raises(ScheduleError) as caught:
        next_times("every 5m", after=NOW, count=-1)
    assert (caught.value.field, caught.value.value, caught.value.expected) == ("count", "-1", "zero or more")
    with pytest.raises(ScheduleError, match=r"Invalid monthly\.on"):
        next_times(Monthly(MonthDay(0), NINE), after=NOW, count=1)


@pytest.mark.parametrize(
    ("schedule", "field", "value"),
    [
        (Weekly((), NINE), "weekly.on", ""),
        (Weekly((Weekday.MON, 7), NINE), "weekly.on", "0,7"),
        (Monthly(MonthDay(0), NINE), "monthly.on", "0"),
        (Monthly(MonthDay(32), NINE), "monthly.on", "32"),
        (Monthly(MonthDay(-2), NINE), "monthly.on", "-2"),
        (Monthly(NthWeekday(0, Weekday.MON), NINE), "monthly.on", "0"),
        (Monthly(NthWeekday(6, Weekday.MON), NINE), "monthly.on", "6"),
    ],
)
def test_a_day_is_refused_when_no_week_or_month_has_it(schedule: Schedule, field: str, value: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_schedule(schedule)
    assert (caught.value.field, caught.value.value) == (field, value)


def test_a_day_is_accepted_when_every_week_or_month_can_have_it() -> None:
    for schedule in (Weekly(tuple(Weekday), NINE), Monthly(MonthDay(1), NINE), Monthly(MonthDay(31), NINE)):
        assert check_schedule(schedule) == ()
    for nth in (1, 5, LAST):
        assert check_schedule(Monthly(NthWeekday(nth, Weekday.SUN), NINE)) == ()
    assert check_schedule(Monthly(MonthDay(LAST), NINE)) == ()


@pytest.mark.parametrize("text", ["0   9 *\t* 1-5 ", " 0 9 * * 1-5"])
def test_cron_is_kept_in_one_form_when_it_is_written_with_more_spaces(text: str) -> None:
    assert format_schedule(parse_schedule(text, now=NOW)) == "0 9 * * 1-5"
