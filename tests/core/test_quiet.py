"""Quiet hours: ``quiet: ["22:00-07:00", "sat", "2026-12-24..2026-12-26"]``."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.calendar import Weekday
from rota.core.quiet import (
    Quiet,
    QuietDates,
    QuietDay,
    QuietHours,
    QuietPolicy,
    check_quiet,
    format_quiet,
    parse_quiet,
    quiet_end,
)
from rota.core.zone import zone_named
from rota.errors import ScheduleError
from tests.core.brute import utc, wall

EXAMPLE = '"22:00-07:00", "sat", "2026-12-24..2026-12-26"'
FORMS = "hours HH:MM-HH:MM, a weekday, a date, or dates YYYY-MM-DD..YYYY-MM-DD"
EXISTS = "a date that exists, from 1970-01-01 to 9998-12-31"
CLOCK = "HH:MM from 00:00 to 23:59"
NEW_YORK = "America/New_York"
WEEK = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def periods(*texts: str) -> tuple[Quiet, ...]:
    return tuple(parse_quiet(text) for text in texts)


@pytest.mark.parametrize(
    ("text", "expected", "printed"),
    [
        ("22:00-07:00", QuietHours(time(22), time(7)), "22:00:00-07:00:00"),
        (" 9:00 - 17:30 ", QuietHours(time(9), time(17, 30)), "09:00:00-17:30:00"),
        ("00:00-00:00:01", QuietHours(time(0), time(0, 0, 1)), "00:00:00-00:00:01"),
        ("sat", QuietDay(Weekday.SAT), "sat"),
        (" Monday ", QuietDay(Weekday.MON), "mon"),
        ("2026-12-25", QuietDates(date(2026, 12, 25), date(2026, 12, 25)), "2026-12-25..2026-12-25"),
        ("2026-12-24..2026-12-26", QuietDates(date(2026, 12, 24), date(2026, 12, 26)), "2026-12-24..2026-12-26"),
        (" 2024-02-29 ", QuietDates(date(2024, 2, 29), date(2024, 2, 29)), "2024-02-29..2024-02-29"),
    ],
)
def test_period_is_read_and_printed_when_it_is_valid(text: str, expected: Quiet, printed: str) -> None:
    """Quiet hours (quiet: ["22:00-07:00", "sat", "2026-12-24..2026-12-26"])."""
    assert parse_quiet(text) == expected
    assert format_quiet(expected) == printed
    assert parse_quiet(printed) == expected


@pytest.mark.parametrize(
    ("text", "value", "expected", "example"),
    [
        ("", "", FORMS, EXAMPLE),
        (" holiday ", " holiday ", FORMS, EXAMPLE),
        ("22:00", "22:00", FORMS, EXAMPLE),
        ("22:00-", "22:00-", FORMS, EXAMPLE),
        ("sat-sun", "sat-sun", FORMS, EXAMPLE),
        ("2026-12-24..", "2026-12-24..", FORMS, EXAMPLE),
        ("2026-12-24...2026-12-26", "2026-12-24...2026-12-26", FORMS, EXAMPLE),
        ("٢٠٢٦-12-24", "٢٠٢٦-12-24", FORMS, EXAMPLE),
        ("22:00-22:00", "22:00-22:00", "two different times", EXAMPLE),
        ("9:00-09:00", "9:00-09:00", "two different times", EXAMPLE),
        ("22:00-24:00", "24:00", CLOCK, '"09:00"'),
        ("25:00-07:00", "25:00", CLOCK, '"09:00"'),
        ("22-07", "22", CLOCK, '"09:00"'),
        ("2026-12-26..2026-12-24", "2026-12-26..2026-12-24", "a first date before the last", EXAMPLE),
        ("2026-02-29", "2026-02-29", EXISTS, "2026-12-24"),
        ("2026-02-01..2026-02-30", "2026-02-30", EXISTS, "2026-12-24"),
        ("0000-01-01", "0000-01-01", EXISTS, "2026-12-24"),
        ("1969-12-31", "1969-12-31", EXISTS, "2026-12-24"),
        ("2026-01-01..9999-01-01", "9999-01-01", EXISTS, "2026-12-24"),
    ],
)
def test_error_names_field_value_forms_and_example_when_a_period_is_wrong(
    text: str, value: str, expected: str, example: str
) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_quiet(text)
    error = caught.value
    assert str(error) == f'Invalid quiet "{value}": expected {expected}. Example: {example}'
    assert (error.field, error.value, error.expected, error.example) == ("quiet", value, expected, example)


def test_policy_is_skip_or_defer_when_listed() -> None:
    """Skipped with that reason, or moved to the end (quiet_policy: skip|defer)."""
    assert [str(policy) for policy in QuietPolicy] == ["skip", "defer"]


# 25 December 2026 is a Friday; 10 March 2024 and 3 November 2024 are Sundays.
@pytest.mark.parametrize(
    ("quiet", "instant", "expected"),
    [
        ((), "2026-12-25T23:00", None),
        (("22:00-07:00",), "2026-12-25T21:59:59.999999", None),
        (("22:00-07:00",), "2026-12-25T22:00", "2026-12-26T07:00"),
        (("22:00-07:00",), "2026-12-25T23:59:59", "2026-12-26T07:00"),
        (("22:00-07:00",), "2026-12-26T00:00", "2026-12-26T07:00"),
        (("22:00-07:00",), "2026-12-26T06:59:59.999999", "2026-12-26T07:00"),
        (("22:00-07:00",), "2026-12-26T07:00", None),
        (("22:00-00:00",), "2026-12-25T23:00", "2026-12-26T00:00"),
        (("22:00-00:00",), "2026-12-26T00:00", None),
        (("00:00-07:00",), "2026-12-26T00:00", "2026-12-26T07:00"),
        (("09:00-17:00",), "2026-12-25T08:59:59", None),
        (("09:00-17:00",), "2026-12-25T09:00", "2026-12-25T17:00"),
        (("09:00-17:00",), "2026-12-25T16:59:59.999999", "2026-12-25T17:00"),
        (("09:00-17:00",), "2026-12-25T17:00", None),
        (("sat",), "2026-12-25T23:59:59.999999", None),
        (("sat",), "2026-12-26T00:00", "2026-12-27T00:00"),
        (("sat",), "2026-12-26T23:59:59.999999", "2026-12-27T00:00"),
        (("sat",), "2026-12-27T00:00", None),
        (("2026-12-24..2026-12-26",), "2026-12-23T23:59:59", None),
        (("2026-12-24..2026-12-26",), "2026-12-24T00:00", "2026-12-27T00:00"),
        (("2026-12-24..2026-12-26",), "2026-12-26T23:59:59", "2026-12-27T00:00"),
        (("2026-12-24..2026-12-26",), "2026-12-27T00:00", None),
        (("2026-12-25",), "2026-12-25T12:00", "2026-12-26T00:00"),
        # Touching and overlapping periods are one.
        (("sat", "sun"), "2026-12-26T12:00", "2026-12-28T00:00"),
        (("sun", "sat"), "2026-12-26T12:00", "2026-12-28T00:00"),
        (("22:00-07:00", "sat", "sun"), "2026-12-25T22:00", "2026-12-28T07:00"),
        (("22:00-07:00", "sat", "2026-12-24..2026-12-26"), "2026-12-23T22:30", "2026-12-27T07:00"),
        (("09:00-12:00", "12:00-13:00"), "2026-12-25T09:00", "2026-12-25T13:00"),
        (("12:00-13:00", "09:00-12:00"), "2026-12-25T09:00", "2026-12-25T13:00"),
        (("09:00-12:00", "12:00:01-13:00"), "2026-12-25T09:00", "2026-12-25T12:00"),
        (("09:00-12:00", "10:00-11:00"), "2026-12-25T10:30", "2026-12-25T12:00"),
        (("mon", "tue", "wed", "thu", "fri", "sat", "22:00-07:00"), "2026-12-20T23:00", "2026-12-27T07:00"),
        (tuple(f"{hour:02d}:00-{hour + 1:02d}:00" for hour in range(23)), "2026-12-25T00:30", "2026-12-25T23:00"),
    ],
)
def test_quiet_time_ends_with_the_last_touching_period_when_the_zone_is_utc(
    quiet: tuple[str, ...], instant: str, expected: str | None
) -> None:
    assert quiet_end(utc(instant), periods(*quiet), "UTC") == (expected and utc(expected))


@pytest.mark.parametrize(
    ("zone", "quiet", "instant", "expected"),
    [
        ("Europe/Berlin", ("22:00-07:00",), "2026-12-25T20:59:59", None),
        ("Europe/Berlin", ("22:00-07:00",), "2026-12-25T21:00", "2026-12-26T06:00"),
        ("Asia/Tokyo", ("sat",), "2026-12-25T14:59:59", None),
        ("Asia/Tokyo", ("sat",), "2026-12-25T15:00", "2026-12-26T15:00"),
        # The night that loses an hour, and the night that has one twice.
        (NEW_YORK, ("22:00-07:00",), "2024-03-10T03:00", "2024-03-10T11:00"),
        (NEW_YORK, ("22:00-07:00",), "2024-11-03T02:00", "2024-11-03T12:00"),
        # The end is removed: quiet until the first instant after the gap.
        (NEW_YORK, ("22:00-02:30",), "2024-03-10T06:59:59", "2024-03-10T07:00"),
        (NEW_YORK, ("22:00-02:30",), "2024-03-10T07:00", None),
        # The begin is removed.
        (NEW_YORK, ("02:30-05:00",), "2024-03-10T06:59:59", None),
        (NEW_YORK, ("02:30-05:00",), "2024-03-10T07:00", "2024-03-10T09:00"),
        # The end happens twice: quiet until the first time.
        (NEW_YORK, ("22:00-01:30",), "2024-11-03T05:29:59", "2024-11-03T05:30"),
        (NEW_YORK, ("22:00-01:30",), "2024-11-03T05:30", None),
        (NEW_YORK, ("22:00-01:30",), "2024-11-03T06:10", None),
        (NEW_YORK, ("00:30-01:30",), "2024-11-03T06:29:59", None),
        # The begin happens twice.
        (NEW_YORK, ("01:30-03:00",), "2024-11-03T05:29:59", None),
        (NEW_YORK, ("01:30-03:00",), "2024-11-03T05:30", "2024-11-03T08:00"),
        (NEW_YORK, ("01:30-03:00",), "2024-11-03T06:30", "2024-11-03T08:00"),
        # Midnight is removed: Saturday ends when the clock shows 01:00 on Sunday.
        ("America/Santiago", ("sat",), "2024-09-08T03:59:59", "2024-09-08T04:00"),
        ("America/Santiago", ("sun",), "2024-09-08T04:00", "2024-09-09T03:00"),
        ("America/Santiago", ("sat",), "2024-04-07T02:30", "2024-04-07T04:00"),
        ("America/Santiago", ("sat",), "2024-04-07T03:30", "2024-04-07T04:00"),
        # 30 December 2011 did not exist.
        ("Pacific/Apia", ("2011-12-29",), "2011-12-30T09:59:59", "2011-12-30T10:00"),
        ("Pacific/Apia", ("2011-12-30",), "2011-12-30T10:00", None),
        ("Pacific/Apia", ("2011-12-29", "2011-12-31"), "2011-12-30T09:00", "2011-12-31T10:00"),
        ("Pacific/Apia", ("thu", "fri"), "2011-12-29T12:00", "2011-12-30T10:00"),
        ("Pacific/Apia", ("22:00-07:00",), "2011-12-30T09:00", "2011-12-30T17:00"),
        ("Australia/Lord_Howe", ("01:00-02:15",), "2024-10-05T15:29", "2024-10-05T15:30"),
    ],
)
def test_quiet_time_is_kept_on_the_jobs_wall_clock_when_clocks_change(
    zone: str, quiet: tuple[str, ...], instant: str, expected: str | None
) -> None:
    assert quiet_end(utc(instant), periods(*quiet), zone) == (expected and utc(expected))


def test_whole_stretch_is_quiet_when_its_begin_happens_twice() -> None:
    """An occurrence moved to the end passes no instant that is not quiet."""
    quiet = periods("01:30-03:00")
    end = quiet_end(utc("2024-11-03T05:30"), quiet, NEW_YORK)
    assert end == utc("2024-11-03T08:00")
    between = [utc("2024-11-03T05:30") + timedelta(minutes=count) for count in range(150)]
    assert [str(instant) for instant in between if quiet_end(instant, quiet, NEW_YORK) != end] == []


@pytest.mark.parametrize(
    "quiet",
    [
        (),
        ("22:00-07:00",),
        ("00:00-23:59:59",),
        ("00:00:01-00:00",),
        tuple(WEEK[:6]),
        tuple(WEEK[1:]),
        (*WEEK[:6], "00:00-23:59"),
        ("1970-01-01..9998-12-31",),
        ("00:00-12:00", "12:00:01-00:00"),
    ],
)
def test_periods_are_accepted_when_some_time_is_left(quiet: tuple[str, ...]) -> None:
    check_quiet(periods(*quiet))


@pytest.mark.parametrize(
    ("quiet", "value"),
    [
        (tuple(WEEK), "mon, tue, wed, thu, fri, sat, sun"),
        (("00:00-12:00", "12:00-00:00"), "00:00:00-12:00:00, 12:00:00-00:00:00"),
        (("22:00-07:00", "2026-01-01", "06:00-22:00"), "22:00:00-07:00:00, 06:00:00-22:00:00"),
        (
            (*WEEK[:6], "22:00-12:00", "12:00-22:00"),
            "mon, tue, wed, thu, fri, sat, 22:00:00-12:00:00, 12:00:00-22:00:00",
        ),
        (
            tuple(f"{hour:02d}:00-{(hour + 1) % 24:02d}:00" for hour in range(24)),
            ", ".join(f"{hour:02d}:00:00-{(hour + 1) % 24:02d}:00:00" for hour in range(24)),
        ),
    ],
)
def test_periods_are_refused_when_no_time_of_the_week_is_left(quiet: tuple[str, ...], value: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_quiet(periods(*quiet))
    error = caught.value
    assert str(error) == f'Invalid quiet "{value}": expected some time of the week left over. Example: {EXAMPLE}'
    assert (error.field, error.value) == ("quiet", value)


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", NEW_YORK])
def test_dates_end_when_they_reach_the_last_one_allowed(zone: str) -> None:
    """A period that is accepted when read must not fail when it is used."""
    end = quiet_end(utc("9998-12-31T08:00"), periods("9998-12-31"), zone)
    assert end is None or end.astimezone(zone_named(zone)).replace(tzinfo=None) == wall("9999-01-01")


QUIETS = st.one_of(
    st.tuples(st.times(), st.times())
    .map(lambda pair: tuple(clock.replace(microsecond=0) for clock in pair))
    .filter(lambda pair: pair[0] != pair[1])
    .map(lambda pair: QuietHours(*pair)),
    st.sampled_from(Weekday).map(QuietDay),
    st.tuples(st.dates(date(1970, 1, 1), date(9998, 1, 1)), st.integers(0, 300)).map(
        lambda pair: QuietDates(pair[0], pair[0] + timedelta(days=pair[1]))
    ),
)


@settings(max_examples=200, deadline=None)
@given(QUIETS)
def test_period_survives_when_printed_and_read(quiet: Quiet) -> None:
    assert parse_quiet(format_quiet(quiet)) == quiet


@settings(max_examples=100, deadline=None)
@given(
    st.lists(QUIETS, max_size=4),
    st.sampled_from(["UTC", NEW_YORK, "Pacific/Apia", "America/Santiago"]),
    st.datetimes(min_value=wall("2011-01-01"), max_value=wall("2030-01-01"), timezones=st.just(UTC)),
)
def test_end_is_later_and_itself_not_quiet_when_some_time_is_left(
    quiet: list[Quiet], zone: str, instant: datetime
) -> None:
    try:
        check_quiet(quiet)
    except ScheduleError:
        return
    end = quiet_end(instant, quiet, zone)
    if end is not None:
        assert end > instant
        assert quiet_end(end, quiet, zone) is None


@settings(max_examples=200, deadline=None)
@given(st.text() | st.text(alphabet="0123456789:-. satun", max_size=24))
def test_only_the_documented_error_is_raised_when_text_is_arbitrary(text: str) -> None:
    try:
        parse_quiet(text)
    except ScheduleError as error:
        assert error.field == "quiet"  # noqa: PT017
