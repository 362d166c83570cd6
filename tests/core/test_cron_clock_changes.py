"""Cron around clock changes.

A fixed time that a clock change removes fires once, at the first instant after the gap; one that happens twice fires
once, the first time; a time whose minute or hour begins with ``*`` follows the wall clock (both passes of a doubled
hour, nothing made up for a gap).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.cron import calculate_next_cron_trigger, next_cron
from tests.core.brute import cron_times, first_after, utc

NEW_YORK, BERLIN, LORD_HOWE = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"
APIA, SANTIAGO, NUUK = "Pacific/Apia", "America/Santiago", "America/Nuuk"

# zone, the instant of the change
CHANGES = [
    (NEW_YORK, "2024-03-10T07:00"),
    (NEW_YORK, "2024-11-03T06:00"),
    (BERLIN, "2024-03-31T01:00"),
    (BERLIN, "2024-10-27T01:00"),
    (LORD_HOWE, "2024-04-06T15:00"),
    (LORD_HOWE, "2024-10-05T15:30"),
    (APIA, "2011-04-02T14:00"),
    (APIA, "2011-09-24T14:00"),
    (APIA, "2011-12-30T10:00"),
    (APIA, "2012-03-31T14:00"),
    (APIA, "2012-09-29T14:00"),
    (SANTIAGO, "2024-04-07T03:00"),
    (SANTIAGO, "2024-09-08T04:00"),
    (NUUK, "2024-03-31T01:00"),
    (NUUK, "2024-10-27T01:00"),
    ("America/St_Johns", "2006-10-29T02:31"),  # back from 00:01 to 23:01 of the day before
    ("America/Havana", "2024-11-03T05:00"),  # back from 01:00 to 00:00
]

FIXED = ["30 2 * * *", "0,15,30,45 0-3 * * *", "30 1 * * *", "59 23 * * *", "0 0 * * *", "5/25 0/1 * * *", "0 3 * * 0"]
WILD = ["* * * * *", "*/20 * * * *", "30 * * * *", "*/15 1,2 * * *", "0 */2 * * *", "50 */1 * * *", "*/30 23 * * 6"]


def after_each(text: str, zone: str, after: str, count: int) -> list[str]:
    found, at = [], utc(after)
    for _ in range(count):
        upcoming = next_cron(text, at, zone)
        assert upcoming is not None
        found.append(upcoming.strftime("%m-%dT%H:%M"))
        at = upcoming
    return found


@pytest.mark.parametrize(
    ("zone", "text", "after", "expected"),
    [
        # 02:00-02:59 on 10 March is removed: at 07:00 UTC the clock goes from 01:59 to 03:00.
        (NEW_YORK, "30 2 * * *", "2024-03-09T08:00", ["03-10T07:00", "03-11T06:30", "03-12T06:30"]),
        (NEW_YORK, "0,20,40 2 * * *", "2024-03-09T08:00", ["03-10T07:00", "03-11T06:00", "03-11T06:20"]),
        (NEW_YORK, "0 2,3 * * *", "2024-03-09T09:00", ["03-10T07:00", "03-11T06:00", "03-11T07:00"]),
        (NEW_YORK, "30 2 * * 0", "2024-03-04T00:00", ["03-10T07:00", "03-17T06:30"]),
        (NEW_YORK, "30 2 10 3 *", "2024-03-04T00:00", ["03-10T07:00", "03-10T06:30"]),
        # 01:00-01:59 on 3 November happens twice, from 05:00 and from 06:00 UTC.
        (NEW_YORK, "30 1 * * *", "2024-11-02T06:00", ["11-03T05:30", "11-04T06:30"]),
        (NEW_YORK, "0,30 0-2 * * *", "2024-11-03T03:59", ["11-03T04:00", "11-03T04:30", "11-03T05:00", "11-03T05:30"]),
        (NEW_YORK, "0 1,2 * * *", "2024-11-03T05:00", ["11-03T07:00", "11-04T06:00"]),
        (BERLIN, "30 2 * * *", "2024-03-30T02:00", ["03-31T01:00", "04-01T00:30"]),
        (BERLIN, "30 2 * * *", "2024-10-26T01:00", ["10-27T00:30", "10-28T01:30"]),
        # Half an hour only: 02:00-02:29 removed in October, 01:30-01:59 doubled in April.
        (LORD_HOWE, "15 2 * * *", "2024-10-04T16:00", ["10-05T15:30", "10-06T15:15"]),
        (LORD_HOWE, "30 2 * * *", "2024-10-04T16:00", ["10-05T15:30", "10-06T15:30"]),
        (LORD_HOWE, "45 1 * * *", "2024-04-05T15:00", ["04-06T14:45", "04-07T15:15"]),
        (LORD_HOWE, "15 1 * * *", "2024-04-05T15:00", ["04-06T14:15", "04-07T14:45"]),
        # 30 December 2011 did not exist: 29 December 23:59 was followed by 31 December 00:00.
        (APIA, "0 9 * * *", "2011-12-28T20:00", ["12-29T19:00", "12-30T10:00", "12-30T19:00", "12-31T19:00"]),
        (APIA, "0 0 * * *", "2011-12-29T09:00", ["12-29T10:00", "12-30T10:00", "12-31T10:00"]),
        (APIA, "0 9 30 12 *", "2011-12-01T00:00", ["12-30T10:00", "12-29T19:00"]),
        (APIA, "0 9 * * fri", "2011-12-24T00:00", ["12-30T10:00", "01-05T19:00"]),
        (APIA, "30 3 * * *", "2012-03-30T14:00", ["03-31T13:30", "04-01T14:30"]),
        (APIA, "30 3 * * *", "2012-09-28T15:00", ["09-29T14:00", "09-30T13:30"]),
        # The gap is at midnight: 7 September 23:59 is followed by 8 September 01:00.
        (SANTIAGO, "0 0 * * *", "2024-09-07T04:00", ["09-08T04:00", "09-09T03:00"]),
        (SANTIAGO, "30 0 * * 0", "2024-09-02T04:00", ["09-08T04:00", "09-15T03:30"]),
        (SANTIAGO, "30 23 * * *", "2024-04-06T00:00", ["04-06T02:30", "04-07T02:30", "04-08T03:30"]),
        # 30 March 23:00-23:59 is removed; 26 October 23:00-23:59 happens twice.
        (NUUK, "30 23 * * *", "2024-03-30T02:00", ["03-31T01:00", "04-01T00:30"]),
        (NUUK, "30 23 30 3 *", "2024-03-30T02:00", ["03-31T01:00", "03-31T00:30"]),
        (NUUK, "30 23 * * *", "2024-10-26T01:00", ["10-27T00:30", "10-28T01:30"]),
    ],
)
def test_fixed_time_fires_once_when_a_change_removes_or_doubles_it(
    zone: str, text: str, after: str, expected: list[str]
) -> None:
    """A removed time fires once, at the first instant after the gap; one that happens twice, the first time."""
    assert after_each(text, zone, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("zone", "text", "after", "expected"),
    [
        (NEW_YORK, "30 * * * *", "2024-03-10T05:00", ["03-10T05:30", "03-10T06:30", "03-10T07:30", "03-10T08:30"]),
        (NEW_YORK, "*/30 2 * * *", "2024-03-09T07:30", ["03-11T06:00", "03-11T06:30"]),
        (NEW_YORK, "0 */2 * * *", "2024-03-10T05:00", ["03-10T08:00", "03-10T10:00"]),
        (NEW_YORK, "30 * * * *", "2024-11-03T04:00", ["11-03T04:30", "11-03T05:30", "11-03T06:30", "11-03T07:30"]),
        (NEW_YORK, "*/30 1 * * *", "2024-11-03T04:00", ["11-03T05:00", "11-03T05:30", "11-03T06:00", "11-03T06:30"]),
        (NEW_YORK, "*/30 1 * * *", "2024-11-03T06:30", ["11-04T06:00", "11-04T06:30"]),
        (NEW_YORK, "10 */1 * * *", "2024-11-03T05:45", ["11-03T06:10", "11-03T07:10"]),
        (BERLIN, "30 * * * *", "2024-10-26T23:45", ["10-27T00:30", "10-27T01:30", "10-27T02:30"]),
        (BERLIN, "*/30 2 * * *", "2024-03-30T02:00", ["04-01T00:00", "04-01T00:30"]),
        (LORD_HOWE, "*/15 1 * * *", "2024-04-06T14:15", ["04-06T14:30", "04-06T14:45", "04-06T15:00", "04-06T15:15"]),
        (LORD_HOWE, "*/15 2 * * *", "2024-10-05T15:00", ["10-05T15:30", "10-05T15:45", "10-06T15:00"]),
        (APIA, "0 */12 * * *", "2011-12-29T21:00", ["12-29T22:00", "12-30T10:00", "12-30T22:00"]),
        (APIA, "0 */12 30 * *", "2011-12-01T00:00", ["01-29T10:00", "01-29T22:00"]),
        (SANTIAGO, "*/30 0 * * *", "2024-09-07T05:00", ["09-09T03:00", "09-09T03:30"]),
        (SANTIAGO, "*/30 23 * * *", "2024-04-07T01:59", ["04-07T02:00", "04-07T02:30", "04-07T03:00", "04-07T03:30"]),
        (NUUK, "*/30 23 * * *", "2024-03-30T02:00", ["04-01T00:00", "04-01T00:30"]),
        (NUUK, "0 * * * *", "2024-10-26T23:00", ["10-27T00:00", "10-27T01:00", "10-27T02:00"]),
    ],
)
def test_wildcard_follows_the_wall_clock_when_clocks_change(
    zone: str, text: str, after: str, expected: list[str]
) -> None:
    """Both passes of a doubled hour, nothing made up for a gap."""
    assert after_each(text, zone, after, len(expected)) == expected


@pytest.mark.parametrize("text", [*FIXED, *WILD])
@pytest.mark.parametrize(("zone", "change"), CHANGES)
def test_next_match_equals_the_minute_scan_when_asked_at_every_minute_around_a_change(
    zone: str, change: str, text: str
) -> None:
    """The result is always strictly after the given instant, also in the second pass of a doubled hour."""
    middle = utc(change)
    start, end = middle - timedelta(minutes=135), middle + timedelta(minutes=135)
    times = cron_times(text, zone, start, middle + timedelta(days=2))
    edge = timedelta(microseconds=1)
    instant = start
    while instant <= end:
        expected = first_after(times, instant)
        if expected is None:
            break
        assert next_cron(text, instant, zone) == expected, instant
        assert next_cron(text, expected - edge, zone) == expected
        assert next_cron(text, instant + timedelta(seconds=59, microseconds=999_999), zone) == expected
        instant += timedelta(minutes=1)


def test_first_pass_comes_first_when_the_search_began_in_last_years_second_pass() -> None:
    """Both passes of a doubled hour: asked in the second pass of one year, the first pass of the next is due."""
    # The first Sunday of November is the day of the change, in both years.
    last = utc("2024-11-03T06:30")
    assert after_each("*/30 1 * 11 0#1", NEW_YORK, "2024-11-03T05:30", 2) == ["11-03T06:00", "11-03T06:30"]
    assert next_cron("*/30 1 * 11 0#1", last, NEW_YORK) == utc("2025-11-02T05:00")
    assert next_cron("*/15 2 * 10 7L", utc("2024-10-27T01:45"), BERLIN) == utc("2025-10-26T00:00")


def test_nothing_is_ever_due_when_every_match_falls_into_a_gap() -> None:
    """Nothing made up for a gap: the second Sunday of March loses its hour from two to three every year."""
    assert next_cron("*/30 2 * 3 0#2", utc("9950-01-01"), NEW_YORK) is None
    assert next_cron("30 2 * 3 0#2", utc("2024-01-01"), NEW_YORK) == utc("2024-03-10T07:00")


def test_second_pass_is_left_out_when_no_match_lies_in_it() -> None:
    assert next_cron("*/30 3 * * *", utc("2024-11-03T05:10"), NEW_YORK) == utc("2024-11-03T08:00")
    assert next_cron("0 */4 * * *", utc("2024-11-03T05:59"), NEW_YORK) == utc("2024-11-03T09:00")


def test_leap_day_is_found_when_the_zone_is_far_from_utc() -> None:
    assert next_cron("0 0 29 2 *", utc("2096-03-01"), "Pacific/Kiritimati") == utc("2104-02-28T10:00")
    assert next_cron("0 0 29 2 *", utc("2024-02-28T10:00"), "Pacific/Kiritimati") == utc("2028-02-28T10:00")
    assert next_cron("*/5 * 29 2 *", utc("2024-03-01T10:00"), "Pacific/Niue") == utc("2024-03-01T10:05")
    assert next_cron("*/5 * 29 2 *", utc("2024-03-01T10:55"), "Pacific/Niue") == utc("2028-02-29T11:00")


TEXTS = st.builds(
    "{} {} * * {}".format,
    st.sampled_from(["*", "*/7", "0", "30", "15,45", "29-31", "5/15"]),
    st.sampled_from(["*", "*/2", "*/3", "0", "1", "2", "23", "0-3", "22-23,0", "1/2"]),
    st.sampled_from(["*", "sun", "sat", "1-6"]),
)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from(CHANGES), st.integers(-300 * 60, 300 * 60), st.integers(0, 999_999))
def test_next_match_equals_the_minute_scan_when_asked_near_a_change(
    text: str, change: tuple[str, str], seconds: int, micro: int
) -> None:
    zone, at = change
    after: datetime = utc(at) + timedelta(seconds=seconds, microseconds=micro)
    end = after + timedelta(days=2)
    expected = first_after(cron_times(text, zone, after, end), after)
    found = next_cron(text, after, zone)
    assert found is not None
    assert found > after
    assert found.tzinfo is UTC
    assert (found.second, found.microsecond) == (0, 0)
    assert found == expected if expected else found > end


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("1971-06-01T00:44:29", "1971-06-01T00:44:30"),
        ("1971-06-01T00:44:30", "1971-06-02T00:44:30"),
        ("1973-01-01T00:00", "1973-01-02T00:00"),
    ],
)
def test_match_is_exact_when_the_offset_has_seconds(after: str, expected: str) -> None:
    """Liberia kept 44 minutes 30 seconds behind UTC until 1972."""
    assert next_cron("0 0 * * *", utc(after), "Africa/Monrovia") == utc(expected)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (utc("2024-06-03T07:00"), "2024-06-04T07:00"),
        (utc("2024-06-03T06:59"), "2024-06-03T07:00"),
        (datetime.fromisoformat("2024-06-03T09:00"), "2024-06-04T07:00"),
        (datetime.fromisoformat("2024-06-03T08:59"), "2024-06-03T07:00"),
    ],
)
def test_a_time_without_an_offset_is_a_wall_time_when_asked_through_the_public_name(
    after: datetime, expected: str
) -> None:
    assert calculate_next_cron_trigger("0 9 * * *", after, "Europe/Berlin") == utc(expected)
