"""Cron expressions: five fields, their grammar, their errors, and matches far from any clock change."""

from __future__ import annotations

import os
import time as clock
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.cron import is_valid_cron, next_cron, parse_cron
from rota.core.cron_fields import ALIASES, DAY, FIELDS, HOUR, MINUTE, MONTH, WEEKDAY, split_fields
from rota.errors import CronParseError
from tests.core.brute import cron_times, first_after, utc, wall

NEVER = "no date ever matches its day of month, month and day of week together"


def following(text: str, after: str, count: int, zone: str = "UTC") -> list[str]:
    found, at = [], utc(after)
    for _ in range(count):
        upcoming = next_cron(text, at, zone)
        assert upcoming is not None
        assert upcoming > at
        found.append(upcoming.strftime("%Y-%m-%dT%H:%M"))
        at = upcoming
    return found


# 2024 is a leap year; 1 January 2024 is a Monday.
@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("* * * * *", "2024-01-01T00:00", ["2024-01-01T00:01", "2024-01-01T00:02"]),
        ("*/15 * * * *", "2024-01-01T00:44", ["2024-01-01T00:45", "2024-01-01T01:00"]),
        ("5/15 * * * *", "2024-01-01T00:00", [f"2024-01-01T00:{m}" for m in ("05", 20, 35, 50)] + ["2024-01-01T01:05"]),
        ("10-12 3 * * *", "2024-01-01T03:10", ["2024-01-01T03:11", "2024-01-01T03:12", "2024-01-02T03:10"]),
        ("10-20/5 3 * * *", "2024-01-01T00:00", ["2024-01-01T03:10", "2024-01-01T03:15", "2024-01-01T03:20"]),
        ("5-5/15 3 * * *", "2024-01-01T00:00", ["2024-01-01T03:05", "2024-01-02T03:05"]),
        ("59 23 31 12 *", "2024-01-01T00:00", ["2024-12-31T23:59", "2025-12-31T23:59"]),
        ("0,30,10-11 9 * * *", "2024-01-01T09:00", ["2024-01-01T09:10", "2024-01-01T09:11", "2024-01-01T09:30"]),
        ("0 */6 * * *", "2024-01-01T12:00", ["2024-01-01T18:00", "2024-01-02T00:00"]),
        ("0 20/2 * * *", "2024-01-01T00:00", ["2024-01-01T20:00", "2024-01-01T22:00", "2024-01-02T20:00"]),
        ("0 9 * * 1-5", "2024-01-05T09:00", ["2024-01-08T09:00", "2024-01-09T09:00"]),
        ("0 9 * * mon-fri", "2024-01-05T08:59", ["2024-01-05T09:00", "2024-01-08T09:00"]),
        ("0 9 * * MON,Wed,fri", "2024-01-01T09:00", ["2024-01-03T09:00", "2024-01-05T09:00", "2024-01-08T09:00"]),
        ("0 0 1 jan,JUL *", "2024-01-01T00:00", ["2024-07-01T00:00", "2025-01-01T00:00"]),
        ("0 0 1 feb-apr *", "2024-01-01T00:00", ["2024-02-01T00:00", "2024-03-01T00:00", "2024-04-01T00:00"]),
        ("0 0 1 */5 *", "2024-01-01T00:00", ["2024-06-01T00:00", "2024-11-01T00:00", "2025-01-01T00:00"]),
        ("0 0 * * 0", "2024-01-01T00:00", ["2024-01-07T00:00", "2024-01-14T00:00"]),
        ("0 0 * * 7", "2024-01-01T00:00", ["2024-01-07T00:00", "2024-01-14T00:00"]),
        ("0 0 * * sun", "2024-01-01T00:00", ["2024-01-07T00:00", "2024-01-14T00:00"]),
        ("0 0 * * 6-7", "2024-01-01T00:00", ["2024-01-06T00:00", "2024-01-07T00:00", "2024-01-13T00:00"]),
        ("0 0 * * */2", "2024-01-01T00:00", ["2024-01-02T00:00", "2024-01-04T00:00", "2024-01-06T00:00"]),
        ("0 0 L * *", "2024-01-31T00:00", ["2024-02-29T00:00", "2024-03-31T00:00", "2024-04-30T00:00"]),
        ("0 0 l 2 *", "2024-03-01T00:00", ["2025-02-28T00:00", "2026-02-28T00:00", "2027-02-28T00:00"]),
        ("0 0 15,L 4 *", "2024-01-01T00:00", ["2024-04-15T00:00", "2024-04-30T00:00", "2025-04-15T00:00"]),
        ("0 0 LW * *", "2024-01-01T00:00", ["2024-01-31T00:00", "2024-02-29T00:00", "2024-03-29T00:00"]),
        ("0 0 lw 6,8 *", "2024-01-01T00:00", ["2024-06-28T00:00", "2024-08-30T00:00", "2025-06-30T00:00"]),
        ("0 0 * * 5L", "2024-01-01T00:00", ["2024-01-26T00:00", "2024-02-23T00:00", "2024-03-29T00:00"]),
        ("0 0 * * friL", "2024-01-01T00:00", ["2024-01-26T00:00", "2024-02-23T00:00", "2024-03-29T00:00"]),
        ("0 0 * * 7L", "2024-01-01T00:00", ["2024-01-28T00:00", "2024-02-25T00:00", "2024-03-31T00:00"]),
        ("0 0 * * 0L", "2024-01-01T00:00", ["2024-01-28T00:00", "2024-02-25T00:00", "2024-03-31T00:00"]),
        ("0 0 * * 1#2", "2024-01-01T00:00", ["2024-01-08T00:00", "2024-02-12T00:00", "2024-03-11T00:00"]),
        ("0 0 * * mon#1,thu#5", "2024-01-01T00:00", ["2024-02-05T00:00", "2024-02-29T00:00"]),
        ("0 0 * * 7#1", "2024-01-01T00:00", ["2024-01-07T00:00", "2024-02-04T00:00", "2024-03-03T00:00"]),
        ("0 9 ? * 1", "2024-01-01T09:00", ["2024-01-08T09:00", "2024-01-15T09:00"]),
        ("0 9 15 * ?", "2024-01-01T09:00", ["2024-01-15T09:00", "2024-02-15T09:00"]),
        ("0 9 ? * ?", "2024-01-01T09:00", ["2024-01-02T09:00", "2024-01-03T09:00"]),
        ("0 0 13 * 5", "2024-09-01T00:00", ["2024-09-06T00:00", "2024-09-13T00:00", "2024-09-20T00:00"]),
        ("0 0 10 * 2", "2024-09-03T00:00", ["2024-09-10T00:00", "2024-09-17T00:00"]),
        ("0 0 */10 * 1", "2024-01-01T00:00", ["2024-03-11T00:00", "2024-04-01T00:00", "2024-07-01T00:00"]),
        ("0 0 13 * */5", "2024-01-01T00:00", ["2024-09-13T00:00", "2024-10-13T00:00", "2024-12-13T00:00"]),
        ("0 0 29 2 *", "2024-02-29T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("0 0 29 2 *", "2096-01-01T00:00", ["2096-02-29T00:00", "2104-02-29T00:00"]),
        ("0 0 29 2 *", "2000-01-01T00:00", ["2000-02-29T00:00", "2004-02-29T00:00"]),
        ("0 0 29 2 */7", "2060-03-01T00:00", ["2088-02-29T00:00", "2128-02-29T00:00"]),
        ("0 0 31 * *", "2024-01-31T00:00", ["2024-03-31T00:00", "2024-05-31T00:00", "2024-07-31T00:00"]),
        ("0 0 30 2 1", "2024-02-01T00:00", ["2024-02-05T00:00", "2024-02-12T00:00"]),
        ("  0   9  *  *\t* ", "2024-01-01T00:00", ["2024-01-01T09:00"]),
        ("0000 0009 * * *", "2024-01-01T00:00", ["2024-01-01T09:00"]),
    ],
)
def test_next_match_follows_the_fields_when_the_zone_is_utc(text: str, after: str, expected: list[str]) -> None:
    """Five fields; *, ranges, steps, lists, month and weekday names, 7 = Sunday, L, n#k, ? in the two day fields."""
    assert following(text, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("alias", "expected"),
    [
        ("@hourly", ["2024-01-01T01:00", "2024-01-01T02:00"]),
        ("@daily", ["2024-01-02T00:00", "2024-01-03T00:00"]),
        ("@midnight", ["2024-01-02T00:00", "2024-01-03T00:00"]),
        ("@weekly", ["2024-01-07T00:00", "2024-01-14T00:00"]),
        ("@monthly", ["2024-02-01T00:00", "2024-03-01T00:00"]),
        ("@yearly", ["2025-01-01T00:00", "2026-01-01T00:00"]),
        ("@annually", ["2025-01-01T00:00", "2026-01-01T00:00"]),
        (" @Daily ", ["2024-01-02T00:00", "2024-01-03T00:00"]),
    ],
)
def test_shorthand_stands_for_its_fields_when_used(alias: str, expected: list[str]) -> None:
    """Shorthands @hourly @daily @midnight @weekly @monthly @yearly @annually."""
    assert following(alias, "2024-01-01T00:00", 2) == expected
    assert parse_cron(alias).text == alias


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("0 9 ? JAN-dec ?", ("0", "9", "*", "1-12", "*")),
        ("05 09 01 02 07", ("5", "9", "1", "2", "7")),
        ("*/5,1-2/1 5/3 L,LW,3 jan/2 sunL,mon#2,tue-sat", ("*/5,1-2/1", "5/3", "L,LW,3", "1/2", "0L,1#2,2-6")),
        ("0 0 1 dec sat", ("0", "0", "1", "12", "6")),
        ("@weekly", ("0", "0", "*", "*", "0")),
        ("*/59 */23 */30 */11 */7", ("*/59", "*/23", "*/30", "*/11", "*/7")),
        ("*/1 */01 * * *", ("*/1", "*/1", "*", "*", "*")),
    ],
)
def test_fields_are_canonical_when_split(text: str, fields: tuple[str, ...]) -> None:
    assert split_fields(text) == fields
    assert parse_cron(text).fields == fields


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("0 9 * * *", True),
        ("0,30 9-17 * * *", True),
        ("5/15 1/2 * * *", True),
        ("5,*/15 9 * * *", True),
        ("* 9 * * *", False),
        ("*/5 9 * * *", False),
        ("0 * * * *", False),
        ("0 */2 * * *", False),
        ("@hourly", False),
        ("@daily", True),
    ],
)
def test_time_is_fixed_when_neither_minute_nor_hour_begins_with_a_star(text: str, fixed: bool) -> None:
    """A time whose minute or hour begins with * follows the wall clock."""
    assert parse_cron(text).is_fixed is fixed


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("0 0 13 * *", ()),
        ("0 0 * * 5", ()),
        ("0 0 ? * 5", ()),
        ("0 0 13 * ?", ()),
        ("0 0 * * *", ()),
        ("0 0 * * */2", ()),
        ("0 0 13 * 5", ('day of month "13" or day of week "5": a day that matches either one counts',)),
        ("0 0 1,L * mon", ('day of month "1,L" or day of week "1": a day that matches either one counts',)),
        (
            "0 0 */2 * 1",
            ('day of month "*/2" and day of week "1" must both match, because one begins with "*"',),
        ),
        (
            "0 0 13 * */5",
            ('day of month "13" and day of week "*/5" must both match, because one begins with "*"',),
        ),
    ],
)
def test_warning_is_given_when_both_day_fields_are_restricted(text: str, warnings: tuple[str, ...]) -> None:
    """Both day fields restricted: either matches; if one begins with *, both must (Vixie; warn when saved)."""
    assert parse_cron(text).warnings == warnings


SPANS = {
    "minute": ("0-59", "*/15 * * * *"),
    "hour": ("0-23", "0 9 * * *"),
    "day of month": ("1-31", "0 9 1,15 * *"),
    "month": ("1-12 or jan-dec", "0 9 1 jan,jul *"),
    "day of week": ("0-7 or sun-sat", "0 9 * * mon-fri"),
}


@pytest.mark.parametrize(
    ("text", "field", "detail"),
    [
        ("60 * * * *", "minute", '"60" is out of range'),
        ("-1 * * * *", "minute", '"-1" is not valid'),
        ("0 9- * * *", "hour", '"9-" is not valid'),
        ("0 9 * * \u017fun", "day of week", '"\u017fun" is not valid'),
        ("x * * * *", "minute", '"x" is not valid'),
        ("1, * * * *", "minute", '"" is not valid'),
        ("jan * * * *", "minute", '"jan" is not valid'),
        ("00000 * * * *", "minute", '"00000" is not valid'),
        ("٣ * * * *", "minute", '"٣" is not valid'),
        ("*/0 * * * *", "minute", 'step "/0" must be 1-59'),
        ("*/60 * * * *", "minute", 'step "/60" must be 1-59'),
        ("*/ * * * *", "minute", 'step "/" must be 1-59'),
        ("*/x * * * *", "minute", 'step "/X" must be 1-59'),
        ("/5 * * * *", "minute", '"" is not valid'),
        ("1-2-3 * * * *", "minute", '"2-3" is not valid'),
        ("*-5 * * * *", "minute", '"*" is not valid'),
        ("30-10 * * * *", "minute", 'range "30-10" runs backwards; write 30-59,0-10'),
        ("? * * * *", "minute", '"?" is only for the two day fields'),
        ("L * * * *", "minute", '"l" is not valid'),
        ("0 25 * * *", "hour", '"25" is out of range'),
        ("0 24 * * *", "hour", '"24" is out of range'),
        ("0 */24 * * *", "hour", 'step "/24" must be 1-23'),
        ("0 22-6 * * *", "hour", 'range "22-6" runs backwards; write 22-23,0-6'),
        ("0 ? * * *", "hour", '"?" is only for the two day fields'),
        ("0 0 0 * *", "day of month", '"0" is out of range'),
        ("0 0 32 * *", "day of month", '"32" is out of range'),
        ("0 0 */31 * *", "day of month", 'step "/31" must be 1-30'),
        ("0 0 L/2 * *", "day of month", '"l" is not valid'),
        ("0 0 1#2 * *", "day of month", '"1#2" is not valid'),
        ("0 0 ?,1 * *", "day of month", '"?" is not valid'),
        ("0 0 * 0 *", "month", '"0" is out of range'),
        ("0 0 * 13 *", "month", '"13" is out of range'),
        ("0 0 * foo *", "month", '"foo" is not valid'),
        ("0 0 * mon *", "month", '"mon" is not valid'),
        ("0 0 * */12 *", "month", 'step "/12" must be 1-11'),
        ("0 0 * nov-feb *", "month", 'range "nov-feb" runs backwards; write 11-12,1-2'),
        ("0 0 * ? *", "month", '"?" is only for the two day fields'),
        ("0 0 * * 8", "day of week", '"8" is out of range'),
        ("0 0 * * L", "day of week", '"" is not valid'),
        ("0 0 * * 8L", "day of week", '"8" is out of range'),
        ("0 0 * * LW", "day of week", '"lw" is not valid'),
        ("0 0 * * 1#0", "day of week", '"#0" must be #1-#5, as in 1#2 for the second Monday'),
        ("0 0 * * 1#6", "day of week", '"#6" must be #1-#5, as in 1#2 for the second Monday'),
        ("0 0 * * 1#", "day of week", '"#" must be #1-#5, as in 1#2 for the second Monday'),
        ("0 0 * * 9#1", "day of week", '"9" is out of range'),
        ("0 0 * * */8", "day of week", 'step "/8" must be 1-7'),
        ("0 0 * * fri-mon", "day of week", 'range "fri-mon" runs backwards; write 5-7,0-1'),
        ("0 0 * * jan", "day of week", '"jan" is not valid'),
    ],
)
def test_error_names_expression_field_range_and_an_example_when_a_field_is_wrong(
    text: str, field: str, detail: str
) -> None:
    """Errors name expression, field, range and an example (hour must be 0-23)."""
    span, example = SPANS[field]
    with pytest.raises(CronParseError) as caught:
        parse_cron(text)
    error = caught.value
    assert (error.expression, error.field, error.reason) == (text, field, f"{field} must be {span}: {detail}")
    assert (error.value, error.expected, error.example) == (text, span, example)
    assert str(error) == f'Invalid cron expression "{text}" - {field} must be {span}: {detail}. Example: "{example}"'
    assert not is_valid_cron(text)


@pytest.mark.parametrize(
    ("text", "count", "cure"),
    [
        ("", 0, ""),
        ("  ", 0, ""),
        ("* * *", 3, ""),
        ("0 9 * *", 4, ""),
        ("0 0 9 * * *", 6, "; seconds are not supported, use every: 30s for short intervals"),
        ("0 0 9 * * * 2024", 7, ""),
    ],
)
def test_error_counts_the_fields_when_there_are_not_five(text: str, count: int, cure: str) -> None:
    """Expected 5 fields, got 3; six fields: advise every:."""
    with pytest.raises(CronParseError) as caught:
        parse_cron(text)
    error = caught.value
    assert (
        str(error) == f'Invalid cron expression "{text}" - expected 5 fields, got {count}{cure}. Example: "0 9 * * 1-5"'
    )
    assert (error.expression, error.field) == (text, "expression")
    assert error.reason == f"expected 5 fields, got {count}{cure}"
    assert error.expected == "minute hour day-of-month month day-of-week"


def test_error_lists_the_shorthands_when_one_is_unknown() -> None:
    valid = ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"]
    assert list(ALIASES) == valid
    with pytest.raises(CronParseError) as caught:
        parse_cron(" @Reboot ")
    error = caught.value
    assert error.reason == f'unknown shorthand "@Reboot"; valid are {", ".join(valid)}'
    assert (error.expression, error.field, error.example) == (" @Reboot ", "expression", "@daily")
    assert error.expected == f"one of {' '.join(valid)}"


@pytest.mark.parametrize(
    "text",
    [
        "0 0 31 2 *",
        "0 0 30 2 *",
        "0 0 30,31 2 *",
        "0 0 31 4,6,9,11 *",
        "0 0 */20 * 1#2",
        "0 0 */30 2 0#5",
        "* * 31 feb ?",
    ],
)
def test_date_that_never_comes_is_refused_when_saved(text: str) -> None:
    """A date that never comes (0 0 31 2 *) is refused when saved."""
    with pytest.raises(CronParseError) as caught:
        parse_cron(text)
    error = caught.value
    assert (error.expression, error.field, error.reason) == (text, "day of month", NEVER)
    assert str(error) == f'Invalid cron expression "{text}" - {NEVER}. Example: "0 0 28-31 2 *"'
    assert error.expected == "a day that exists in at least one of the months"
    assert error.__suppress_context__
    assert not is_valid_cron(text)


def test_example_in_an_error_is_valid_when_tried() -> None:
    assert [field.name for field in FIELDS] == list(SPANS)
    assert (MINUTE, HOUR, DAY, MONTH, WEEKDAY) == FIELDS
    assert all(is_valid_cron(field.example) for field in FIELDS)
    assert is_valid_cron("0 0 28-31 2 *")
    assert is_valid_cron("@daily")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("2024-01-01T08:59:59.999999", "2024-01-01T09:00"),
        ("2024-01-01T09:00:00", "2024-01-02T09:00"),
        ("2024-01-01T09:00:00.000001", "2024-01-02T09:00"),
        ("2024-01-01T09:00:59.999999", "2024-01-02T09:00"),
        ("1970-01-01T08:59:59.5", "1970-01-01T09:00"),
        ("1970-01-01T09:00:00.5", "1970-01-02T09:00"),
        ("1969-12-31T23:59:59", "1970-01-01T09:00"),
        ("1972-12-31T23:59:59.999999", "1973-01-01T09:00"),
        ("1973-01-01T00:00", "1973-01-01T09:00"),
    ],
)
def test_result_is_always_strictly_after_the_given_instant_when_it_has_seconds(after: str, expected: str) -> None:
    """The result is always strictly after the given instant."""
    assert next_cron("0 9 * * *", utc(after), "UTC") == utc(expected)


def test_match_is_found_to_the_second_when_the_old_offset_had_odd_seconds() -> None:
    """Monrovia was 44 minutes and 30 seconds behind until 7 January 1972."""
    assert next_cron("0 9 * * *", utc("1971-06-01T09:44:29"), "Africa/Monrovia") == utc("1971-06-01T09:44:30")
    assert next_cron("0 9 * * *", utc("1971-06-01T09:44:30"), "Africa/Monrovia") == utc("1971-06-02T09:44:30")
    assert next_cron("* * * * *", utc("1971-06-01T09:44:30"), "Africa/Monrovia") == utc("1971-06-01T09:45:30")


def test_nothing_is_due_when_the_calendar_ends_first() -> None:
    end = datetime.max.replace(tzinfo=UTC)
    assert next_cron("* * * * *", end, "UTC") is None
    assert next_cron("0 0 1 1 *", utc("9999-06-01"), "UTC") is None
    assert next_cron("0 23 31 12 *", utc("9999-06-01"), "America/New_York") is None
    assert next_cron("0 23 31 12 *", utc("9999-06-01"), "UTC") == utc("9999-12-31T23:00")


def test_instant_may_be_in_any_zone_when_it_is_aware() -> None:
    after = utc("2024-01-01T08:00").astimezone(ZoneInfo("Asia/Tokyo"))
    found = next_cron("0 9 * * *", after, "Europe/Berlin")
    assert found == utc("2024-01-02T08:00")
    assert found is not None
    assert found.tzinfo is UTC


def terms(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    pair = st.tuples(number, number).map(sorted)
    step = st.integers(1, high - low)
    return st.one_of(
        number.map(str),
        pair.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.builds("*/{}".format, step),
        st.builds("{}/{}".format, number, step),
        st.builds(lambda ends, by: f"{ends[0]}-{ends[1]}/{by}", pair.filter(lambda ends: ends[0] < ends[1]), step),
    )


def field_texts(low: int, high: int, *special: str) -> st.SearchStrategy[str]:
    one = terms(low, high) | st.sampled_from(special) if special else terms(low, high)
    return st.just("*") | st.lists(one, min_size=1, max_size=3).map(",".join)


EXPRESSIONS = st.builds(
    "{} {} {} {} {}".format,
    field_texts(0, 59),
    field_texts(0, 23),
    field_texts(1, 31, "L", "LW"),
    st.just("*") | field_texts(1, 12),
    field_texts(0, 7, "5L", "7L", "1#2", "0#1", "3#5"),
)
ZONES = st.sampled_from(["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago"])
INSTANTS = st.datetimes(min_value=wall("1990-01-01"), max_value=wall("2037-01-01"), timezones=st.just(UTC))


@settings(max_examples=120, deadline=None)
@given(EXPRESSIONS, ZONES, INSTANTS)
def test_next_match_equals_the_minute_scan_when_anything_valid_is_asked(text: str, zone: str, after: datetime) -> None:
    if not is_valid_cron(text):
        return
    end = after + timedelta(days=2)
    expected = first_after(cron_times(text, zone, after, end), after)
    found = next_cron(text, after, zone)
    assert found is not None
    assert found > after
    assert found == expected if expected else found > end


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, ZONES, INSTANTS, st.timedeltas(min_value=timedelta(), max_value=timedelta(days=400)))
def test_next_match_is_monotonic_when_time_passes(text: str, zone: str, early: datetime, gap: timedelta) -> None:
    if not is_valid_cron(text):
        return
    late = early + gap
    first, second = next_cron(text, early, zone), next_cron(text, late, zone)
    assert first is not None
    assert second is not None
    assert early < first <= second
    assert second == first if first > late else second > late


def test_next_match_is_independent_of_the_machines_zone_when_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        ("30 2 * * *", utc("2024-03-10T06:00"), "America/New_York", utc("2024-03-10T07:00")),
        ("*/30 1 * * *", utc("2024-11-03T05:30"), "America/New_York", utc("2024-11-03T06:00")),
        ("0 9 * * *", utc("2024-07-01T00:00"), "Europe/Berlin", utc("2024-07-01T07:00")),
        ("0 9 * * *", utc("1971-07-01T00:00"), "UTC", utc("1971-07-01T09:00")),
    ]
    before = os.environ.get("TZ")
    try:
        for machine in ("UTC", "Asia/Kolkata", "America/Los_Angeles", "Pacific/Apia"):
            monkeypatch.setenv("TZ", machine)
            clock.tzset()
            for text, after, zone, expected in cases:
                # Another spelling for each zone keeps the answer from coming out of a cache.
                fresh = f"{text}{' ' * (1 + len(machine))}"
                assert next_cron(fresh, after, zone) == expected
    finally:
        monkeypatch.setenv("TZ", before) if before else monkeypatch.delenv("TZ")
        clock.tzset()


@settings(max_examples=200, deadline=None)
@given(st.text() | st.text(alphabet="0123456789*/-,?#LW @jan", max_size=20))
def test_only_the_documented_error_is_raised_when_an_expression_is_arbitrary(text: str) -> None:
    try:
        parse_cron(text)
    except CronParseError as error:
        assert error.expression == text  # noqa: PT017
        assert not is_valid_cron(text)
    else:
        assert is_valid_cron(text)


@pytest.mark.parametrize(
    ("text", "an_hour", "a_day"), [("* * * * *", 60, 1_440), ("*/7 9-17 * * *", 9, 81), ("30 2 31 1 *", 1, 1)]
)
def test_an_expression_knows_how_often_it_matches(text: str, an_hour: int, a_day: int) -> None:
    expression = parse_cron(text)
    assert (expression.times_an_hour, expression.times_a_day) == (an_hour, a_day)
