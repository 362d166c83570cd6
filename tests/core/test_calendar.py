"""Calendar schedules: daily, weekly, monthly; day 31 means the last day of a shorter month."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.calendar import (
    LAST,
    ORDINALS,
    Calendar,
    Daily,
    MonthDay,
    Monthly,
    NthWeekday,
    Weekday,
    Weekly,
    format_calendar,
    matching_dates,
    next_calendar,
    parse_clock,
    parse_month_day,
    parse_weekday,
    parse_weekdays,
)
from rota.errors import ScheduleError
from tests.core.brute import first_after, scan, utc, wall

NEW_YORK, BERLIN, LORD_HOWE = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"
APIA, SANTIAGO, NUUK = "Pacific/Apia", "America/Santiago", "America/Nuuk"
MON, TUE, WED, THU, FRI, SAT, SUN = Weekday


def at(hour: int, minute: int = 0, second: int = 0) -> time:
    return time(hour, minute, second)


def following(schedule: Calendar, after: str, count: int, zone: str = "UTC") -> list[str]:
    found, instant = [], utc(after)
    for _ in range(count):
        upcoming = next_calendar(schedule, instant, zone)
        assert upcoming is not None
        assert upcoming > instant
        assert upcoming.tzinfo is UTC
        found.append(upcoming.isoformat(timespec="minutes").removesuffix("+00:00"))
        instant = upcoming
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("09:00", at(9)),
        ("9:05", at(9, 5)),
        ("00:00", at(0)),
        ("0:00", at(0)),
        ("23:59", at(23, 59)),
        ("19:59:59", at(19, 59, 59)),
        (" 20:00 ", at(20)),
    ],
)
def test_clock_is_read_when_it_is_valid(text: str, expected: time) -> None:
    assert parse_clock(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9",
        "24:00",
        "23:60",
        "9:5",
        "12:00:60",
        "-1:00",
        "12:00pm",
        "9.00",
        "009:00",
        "\u0660\u0669:\u0660\u0660",
        "12:00:00.5",
    ],
)
def test_error_names_field_value_range_and_example_when_a_clock_is_wrong(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_clock(text, field="daily")
    error = caught.value
    assert str(error) == f'Invalid daily "{text}": expected HH:MM from 00:00 to 23:59. Example: "09:00"'
    assert (error.field, error.value) == ("daily", text)
    with pytest.raises(ScheduleError, match=r'^Invalid time "'):
        parse_clock(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mon", MON),
        ("Tuesday", TUE),
        (" WEDN ", WED),
        ("thurs", THU),
        ("fri", FRI),
        ("saturday", SAT),
        ("sun", SUN),
    ],
)
def test_weekday_is_read_by_three_letters_or_more_when_it_is_valid(text: str, expected: Weekday) -> None:
    assert parse_weekday(text) is expected


@pytest.mark.parametrize("text", ["", "mo", "m", "mondays", "montag", "1", "xyz"])
def test_error_names_field_value_range_and_example_when_a_weekday_is_wrong(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_weekday(text)
    error = caught.value
    assert str(error) == f'Invalid weekday "{text}": expected a day from mon to sun. Example: mon'
    assert (error.field, error.value, error.expected, error.example) == (
        "weekday",
        text,
        "a day from mon to sun",
        "mon",
    )


def test_weekdays_are_sorted_and_single_when_read() -> None:
    assert parse_weekdays("thu, Mon,thursday") == (MON, THU)
    assert parse_weekdays("sun") == (SUN,)
    for text, value in (("mon,", ""), ("mon thu", "mon thu"), ("mon,foo", "foo")):
        with pytest.raises(ScheduleError) as caught:
            parse_weekdays(text)
        assert (caught.value.field, caught.value.value) == ("weekly.on", value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", MonthDay(1)),
        ("01", MonthDay(1)),
        ("31", MonthDay(31)),
        (" last ", MonthDay(LAST)),
        ("LAST", MonthDay(LAST)),
        ("first mon", NthWeekday(1, MON)),
        ("second tuesday", NthWeekday(2, TUE)),
        ("Third  Wed", NthWeekday(3, WED)),
        ("fourth thu", NthWeekday(4, THU)),
        ("fifth sat", NthWeekday(5, SAT)),
        ("last fri", NthWeekday(LAST, FRI)),
    ],
)
def test_month_day_is_read_when_it_is_valid(text: str, expected: MonthDay | NthWeekday) -> None:
    """Monthly: on: 31, also on: last, on: first mon, on: last fri."""
    assert parse_month_day(text) == expected


@pytest.mark.parametrize(
    "text", ["", "0", "32", "-1", "001", "first", "mon", "sixth mon", "mon first", "first mon tue", "٣", "last last x"]
)
def test_error_names_field_value_range_and_example_when_a_month_day_is_wrong(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_month_day(text)
    error = caught.value
    expected = "a day 1-31, last, or first|second|third|fourth|fifth|last with a weekday"
    assert str(error) == f'Invalid monthly.on "{text}": expected {expected}. Example: 31, last, first mon'
    assert (error.field, error.value, error.expected) == ("monthly.on", text, expected)


def test_error_names_the_weekday_when_the_ordinal_is_right() -> None:
    with pytest.raises(ScheduleError, match=r'^Invalid monthly\.on "foo": expected a day from mon to sun'):
        parse_month_day("first foo")
    assert ORDINALS == {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        (Daily(at(9)), "daily 09:00"),
        (Daily(at(9, 5, 7)), "daily 09:05:07"),
        (Weekly((MON, THU), at(0)), "weekly mon,thu 00:00"),
        (Monthly(MonthDay(31), at(23, 59)), "monthly 31 23:59"),
        (Monthly(MonthDay(LAST), at(9)), "monthly last 09:00"),
        (Monthly(NthWeekday(1, MON), at(9)), "monthly first mon 09:00"),
        (Monthly(NthWeekday(5, SUN), at(9)), "monthly fifth sun 09:00"),
        (Monthly(NthWeekday(LAST, FRI), at(9)), "monthly last fri 09:00"),
    ],
)
def test_calendar_is_one_line_when_printed(schedule: Calendar, text: str) -> None:
    assert format_calendar(schedule) == text


NINE = at(9)


# 2024 is a leap year; 1 January 2024 is a Monday.
@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        (Daily(NINE), "2024-01-01T08:59", ["2024-01-01T09:00", "2024-01-02T09:00"]),
        (Daily(NINE), "2024-01-01T09:00", ["2024-01-02T09:00"]),
        (Daily(NINE), "2024-02-28T09:00", ["2024-02-29T09:00", "2024-03-01T09:00"]),
        (Daily(NINE), "2100-02-28T09:00", ["2100-03-01T09:00"]),
        (Daily(NINE), "1969-12-31T09:00:00.5", ["1970-01-01T09:00"]),
        (Weekly((MON, THU), NINE), "2024-01-01T08:00", ["2024-01-01T09:00", "2024-01-04T09:00", "2024-01-08T09:00"]),
        (Weekly((SUN,), at(0)), "2024-01-01T00:00", ["2024-01-07T00:00", "2024-01-14T00:00"]),
        (
            Monthly(MonthDay(31), NINE),
            "2024-01-31T09:00",
            ["2024-02-29T09:00", "2024-03-31T09:00", "2024-04-30T09:00", "2024-05-31T09:00"],
        ),
        (Monthly(MonthDay(30), NINE), "2023-01-31T09:00", ["2023-02-28T09:00", "2023-03-30T09:00"]),
        (Monthly(MonthDay(29), NINE), "2100-02-01T00:00", ["2100-02-28T09:00", "2100-03-29T09:00"]),
        (Monthly(MonthDay(1), NINE), "2024-12-01T09:00", ["2025-01-01T09:00", "2025-02-01T09:00"]),
        (Monthly(MonthDay(LAST), NINE), "2024-01-01T00:00", ["2024-01-31T09:00", "2024-02-29T09:00"]),
        (Monthly(MonthDay(LAST), NINE), "2024-11-30T09:00", ["2024-12-31T09:00", "2025-01-31T09:00"]),
        (Monthly(NthWeekday(1, MON), NINE), "2024-01-01T09:00", ["2024-02-05T09:00", "2024-03-04T09:00"]),
        (Monthly(NthWeekday(2, SUN), NINE), "2024-01-01T09:00", ["2024-01-14T09:00", "2024-02-11T09:00"]),
        (Monthly(NthWeekday(4, THU), NINE), "2024-02-01T00:00", ["2024-02-22T09:00", "2024-03-28T09:00"]),
        (Monthly(NthWeekday(5, THU), NINE), "2024-01-01T00:00", ["2024-02-29T09:00", "2024-05-30T09:00"]),
        (Monthly(NthWeekday(5, WED), NINE), "2024-01-01T00:00", ["2024-01-31T09:00", "2024-05-29T09:00"]),
        (Monthly(NthWeekday(LAST, FRI), NINE), "2024-01-01T00:00", ["2024-01-26T09:00", "2024-02-23T09:00"]),
        (Monthly(NthWeekday(LAST, WED), NINE), "2024-01-01T00:00", ["2024-01-31T09:00", "2024-02-28T09:00"]),
    ],
)
def test_next_match_is_the_next_wall_clock_match_when_the_zone_is_utc(
    schedule: Calendar, after: str, expected: list[str]
) -> None:
    """Next wall-clock match; day 31 means the last day of a shorter month."""
    assert following(schedule, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("zone", "schedule", "after", "expected"),
    [
        (NEW_YORK, Daily(at(2, 30)), "2024-03-09T08:00", ["2024-03-10T07:00", "2024-03-11T06:30"]),
        (NEW_YORK, Daily(at(1, 30)), "2024-11-02T06:00", ["2024-11-03T05:30", "2024-11-04T06:30"]),
        (NEW_YORK, Daily(at(1, 30)), "2024-11-03T06:29", ["2024-11-04T06:30"]),
        (NEW_YORK, Weekly((SUN,), at(2)), "2024-03-04T00:00", ["2024-03-10T07:00", "2024-03-17T06:00"]),
        (
            NEW_YORK,
            Monthly(NthWeekday(2, SUN), at(2, 59)),
            "2024-03-04T00:00",
            ["2024-03-10T07:00", "2024-04-14T06:59"],
        ),
        (BERLIN, Daily(at(2, 30)), "2024-03-30T02:00", ["2024-03-31T01:00", "2024-04-01T00:30"]),
        (
            BERLIN,
            Monthly(NthWeekday(LAST, SUN), at(2, 30)),
            "2024-10-01T00:00",
            ["2024-10-27T00:30", "2024-11-24T01:30"],
        ),
        (BERLIN, Monthly(MonthDay(31), at(2)), "2024-03-01T02:00", ["2024-03-31T01:00", "2024-04-30T00:00"]),
        (LORD_HOWE, Daily(at(2, 15)), "2024-10-04T16:00", ["2024-10-05T15:30", "2024-10-06T15:15"]),
        (LORD_HOWE, Daily(at(1, 45)), "2024-04-05T15:00", ["2024-04-06T14:45", "2024-04-07T15:15"]),
        (APIA, Daily(NINE), "2011-12-29T18:59", ["2011-12-29T19:00", "2011-12-30T10:00", "2011-12-30T19:00"]),
        (APIA, Daily(at(0)), "2011-12-29T10:00", ["2011-12-30T10:00", "2011-12-31T10:00"]),
        (APIA, Weekly((FRI,), NINE), "2011-12-24T00:00", ["2011-12-30T10:00", "2012-01-05T19:00"]),
        (APIA, Monthly(MonthDay(30), NINE), "2011-12-01T00:00", ["2011-12-30T10:00", "2012-01-29T19:00"]),
        (APIA, Daily(at(3, 30)), "2012-03-30T14:00", ["2012-03-31T13:30", "2012-04-01T14:30"]),
        (SANTIAGO, Daily(at(0)), "2024-09-07T04:00", ["2024-09-08T04:00", "2024-09-09T03:00"]),
        (SANTIAGO, Weekly((SUN,), at(0, 30)), "2024-09-02T04:00", ["2024-09-08T04:00", "2024-09-15T03:30"]),
        (SANTIAGO, Daily(at(23, 30)), "2024-04-06T03:00", ["2024-04-07T02:30", "2024-04-08T03:30"]),
        (NUUK, Daily(at(23, 30)), "2024-03-30T02:00", ["2024-03-31T01:00", "2024-04-01T00:30"]),
        (NUUK, Weekly((SAT,), at(23, 30)), "2024-10-25T00:00", ["2024-10-27T00:30", "2024-11-03T01:30"]),
    ],
)
def test_calendar_time_fires_once_when_a_change_removes_or_doubles_it(
    zone: str, schedule: Calendar, after: str, expected: list[str]
) -> None:
    """A removed time fires once, at the first instant after the gap; one that happens twice, the first time."""
    assert following(schedule, after, len(expected), zone) == expected


def test_match_is_strictly_after_when_the_time_has_seconds() -> None:
    schedule = Daily(at(9, 0, 30))
    assert next_calendar(schedule, utc("2024-01-01T09:00:29.999999"), "UTC") == utc("2024-01-01T09:00:30")
    assert next_calendar(schedule, utc("2024-01-01T09:00:30"), "UTC") == utc("2024-01-02T09:00:30")
    assert next_calendar(schedule, utc("2024-01-01T09:00:30.5"), "UTC") == utc("2024-01-02T09:00:30")


def test_nothing_is_due_when_the_calendar_ends_first() -> None:
    assert next_calendar(Daily(NINE), utc("9999-12-31T09:00"), "UTC") is None
    assert next_calendar(Daily(NINE), utc("9999-12-31T08:59:59"), "UTC") == utc("9999-12-31T09:00")
    assert next_calendar(Weekly((MON,), NINE), utc("9999-12-30"), "UTC") is None
    assert next_calendar(Monthly(MonthDay(1), NINE), utc("9999-12-30"), "UTC") is None
    assert next_calendar(Daily(at(23)), utc("9999-12-31T12:00"), NEW_YORK) is None


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Daily(NINE), ["2024-02-28", "2024-02-29", "2024-03-01"]),
        (Weekly((WED, FRI), NINE), ["2024-02-28", "2024-03-01", "2024-03-06"]),
        (Monthly(MonthDay(28), NINE), ["2024-02-28", "2024-03-28", "2024-04-28"]),
        (Monthly(MonthDay(27), NINE), ["2024-03-27", "2024-04-27", "2024-05-27"]),
        (Monthly(NthWeekday(5, FRI), NINE), ["2024-03-29", "2024-05-31", "2024-08-30"]),
    ],
)
def test_dates_begin_with_the_first_one_when_it_matches(schedule: Calendar, expected: list[str]) -> None:
    dates = matching_dates(schedule, date(2024, 2, 28))
    assert [str(day) for day in islice(dates, 3)] == expected


def test_weekdays_count_from_monday_when_compared_with_dates() -> None:
    assert [int(day) for day in Weekday] == list(range(7))
    assert date(2024, 1, 1).weekday() == MON


def test_last_day_equals_the_calendar_when_every_month_of_a_leap_cycle_is_tried() -> None:
    days = islice(matching_dates(Monthly(MonthDay(31), NINE), date(2096, 1, 1)), 12 * 9)
    assert all((day + timedelta(days=1)).day == 1 for day in days)


def day_rules() -> st.SearchStrategy[tuple[Callable[[time], Calendar], Callable[[date], bool]]]:
    def month_day(number: int) -> tuple[Callable[[time], Calendar], Callable[[date], bool]]:
        return lambda when: Monthly(
            MonthDay(number), when
        ), lambda day: day.day == number or (day.day < number and (day + timedelta(days=1)).day == 1)

    def nth(number: int, weekday: Weekday) -> tuple[Callable[[time], Calendar], Callable[[date], bool]]:
        return lambda when: Monthly(
            NthWeekday(number, weekday), when
        ), lambda day: day.weekday() == weekday and (day.day + 6) // 7 == number

    def weekly(days: set[Weekday]) -> tuple[Callable[[time], Calendar], Callable[[date], bool]]:
        return lambda when: Weekly(tuple(sorted(days)), when), lambda day: day.weekday() in days

    return st.one_of(
        st.just((Daily, lambda _: True)),
        st.sets(st.sampled_from(Weekday), min_size=1).map(weekly),
        st.integers(1, 31).map(month_day),
        st.builds(nth, st.integers(1, 5), st.sampled_from(Weekday)),
    )


@settings(max_examples=100, deadline=None)
@given(
    day_rules(),
    st.times().map(lambda when: when.replace(second=0, microsecond=0)),
    st.sampled_from([NEW_YORK, BERLIN, LORD_HOWE, APIA, SANTIAGO, NUUK]),
    st.datetimes(min_value=wall("2011-12-25"), max_value=wall("2012-01-03"), timezones=st.just(UTC))
    | st.datetimes(min_value=wall("2024-03-01"), max_value=wall("2024-12-01"), timezones=st.just(UTC)),
)
def test_next_match_equals_the_minute_scan_when_any_calendar_is_asked(
    rule: tuple[Callable[[time], Calendar], Callable[[date], bool]], when: time, zone: str, after: datetime
) -> None:
    make, is_day = rule
    end = after + timedelta(days=3)
    times = list(scan(lambda shown: shown.time() == when and is_day(shown.date()), zone, after, end, fixed=True))
    expected = first_after(times, after)
    found = next_calendar(make(when), after, zone)
    assert found is not None
    assert found > after
    assert found == expected if expected else found > end
    later = next_calendar(make(when), after + timedelta(hours=5), zone)
    assert later is not None
    assert later >= found


@settings(max_examples=200, deadline=None)
@given(st.text() | st.text(alphabet="0123456789: lastfirmon,", max_size=10))
def test_only_the_documented_error_is_raised_when_text_is_arbitrary(text: str) -> None:
    for parse in (parse_clock, parse_weekday, parse_weekdays, parse_month_day):
        try:
            parse(text)
        except ScheduleError as error:
            assert str(error).startswith("Invalid ")  # noqa: PT017
