"""Durations: ``30s 5m 1.5h 2d 1w``, also ``1h30m``; any case; spaces around allowed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.duration import MAX_DURATION, UNITS, format_duration, parse_duration
from rota.errors import InputError, IntervalErrorKind, IntervalParseError, SchedulerError

CENTURY = timedelta(days=36_525)
MISSING_UNIT = 'Missing time unit. Expected format: "{number}{unit}"'
MISSING_NUMBER = 'Missing number. Expected format: "{number}{unit}"'
VALID = "Valid units are: s, m, h, d, w"
ZERO = "Zero interval is not allowed"
NEGATIVE = "Negative intervals are not allowed"
TOO_LONG = "it is longer than 36525d"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("1.5h", timedelta(minutes=90)),
        ("2d", timedelta(days=2)),
        ("1w", timedelta(days=7)),
        ("1h30m", timedelta(minutes=90)),
        ("1w2d3h4m5s", timedelta(days=9, hours=3, minutes=4, seconds=5)),
        ("5s1h", timedelta(hours=1, seconds=5)),
        ("1m1m", timedelta(minutes=2)),
        ("5M", timedelta(minutes=5)),
        ("1H30M", timedelta(minutes=90)),
        ("2D", timedelta(days=2)),
        ("3W", timedelta(days=21)),
        ("7S", timedelta(seconds=7)),
        ("  5m  ", timedelta(minutes=5)),
        ("\t5m\n", timedelta(minutes=5)),
        ("5 m", timedelta(minutes=5)),
        ("1h 30m", timedelta(minutes=90)),
        ("1 h 30 m", timedelta(minutes=90)),
        ("1.1h", timedelta(seconds=3960)),
        ("0.1s", timedelta(milliseconds=100)),
        ("1.25m", timedelta(seconds=75)),
        ("0.5d", timedelta(hours=12)),
        ("0.000001s", timedelta(microseconds=1)),
        ("0.0000019s", timedelta(microseconds=1)),
        ("0.29s", timedelta(microseconds=290_000)),
        ("1h0m", timedelta(hours=1)),
        ("0h1m", timedelta(minutes=1)),
        ("005m", timedelta(minutes=5)),
        ("0000000000000000000005m", timedelta(minutes=5)),
        ("1.50000000000000000000000m", timedelta(seconds=90)),
        ("0.000000000000009w", None),
        ("0.000000000002w", timedelta(microseconds=1)),
        ("36525d", CENTURY),
        ("36524d24h", CENTURY),
        ("3155760000s", CENTURY),
        ("36524.999d", timedelta(days=36_524, seconds=86_313.6)),
    ],
)
def test_duration_is_read_when_it_is_valid(text: str, expected: timedelta | None) -> None:
    """Durations: 30s 5m 1.5h 2d 1w, also 1h30m; any case; spaces around allowed."""
    if expected is None:
        with pytest.raises(IntervalParseError):
            parse_duration(text)
    else:
        assert parse_duration(text) == expected


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("", IntervalErrorKind.EMPTY, "it is empty"),
        ("   ", IntervalErrorKind.EMPTY, "it is empty"),
        ("\n\t", IntervalErrorKind.EMPTY, "it is empty"),
        ("5", IntervalErrorKind.MISSING_UNIT, MISSING_UNIT),
        ("0", IntervalErrorKind.MISSING_UNIT, MISSING_UNIT),
        ("1.5", IntervalErrorKind.MISSING_UNIT, MISSING_UNIT),
        ("1h30", IntervalErrorKind.MISSING_UNIT, MISSING_UNIT),
        ("5 5m", IntervalErrorKind.MISSING_UNIT, MISSING_UNIT),
        ("m", IntervalErrorKind.MISSING_NUMBER, MISSING_NUMBER),
        ("abc", IntervalErrorKind.MISSING_NUMBER, MISSING_NUMBER),
        ("+5m", IntervalErrorKind.MISSING_NUMBER, MISSING_NUMBER),
        (".5h", IntervalErrorKind.MISSING_NUMBER, MISSING_NUMBER),
        ("5.h", IntervalErrorKind.MISSING_NUMBER, MISSING_NUMBER),
        ("1.2.3h", IntervalErrorKind.MISSING_NUMBER, MISSING_NUMBER),
        (".", IntervalErrorKind.MISSING_NUMBER, MISSING_NUMBER),
        ("-", IntervalErrorKind.MISSING_NUMBER, MISSING_NUMBER),
        ("-m", IntervalErrorKind.MISSING_NUMBER, MISSING_NUMBER),
        ("٣m", IntervalErrorKind.MISSING_NUMBER, MISSING_NUMBER),
        ("5x", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "x". {VALID}'),
        ("5X", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "x". {VALID}'),
        ("1h5x", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "x". {VALID}'),
        ("0x", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "x". {VALID}'),
        ("5y", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "y". {VALID}'),
        ("5ms", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "ms". {VALID} (did you mean "s"?)'),
        ("5sec", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "sec". {VALID} (did you mean "s"?)'),
        ("5min", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "min". {VALID} (did you mean "m"?)'),
        ("5mins", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "mins". {VALID} (did you mean "m"?)'),
        ("5 Minutes", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "minutes". {VALID} (did you mean "m"?)'),
        ("2hr", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "hr". {VALID} (did you mean "h"?)'),
        ("2hrs", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "hrs". {VALID} (did you mean "h"?)'),
        ("2hours", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "hours". {VALID} (did you mean "h"?)'),
        ("2days", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "days". {VALID} (did you mean "d"?)'),
        ("2weeks", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "weeks". {VALID} (did you mean "w"?)'),
        ("1mo", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "mo". {VALID} (did you mean "d"?)'),
        ("1month", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "month". {VALID} (did you mean "d"?)'),
        ("1h-30m", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "h-". {VALID}'),
        ("1h,30m", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "h,". {VALID}'),
        ("1hm", IntervalErrorKind.UNKNOWN_UNIT, f'Invalid time unit "hm". {VALID} (did you mean "h"?)'),
        ("0m", IntervalErrorKind.ZERO, ZERO),
        ("0.0h", IntervalErrorKind.ZERO, ZERO),
        ("0h0m0s", IntervalErrorKind.ZERO, ZERO),
        ("0.0000009s", IntervalErrorKind.ZERO, ZERO),
        ("-5m", IntervalErrorKind.NEGATIVE, NEGATIVE),
        ("- 5m", IntervalErrorKind.NEGATIVE, NEGATIVE),
        (" -1.5h", IntervalErrorKind.NEGATIVE, NEGATIVE),
        ("-0m", IntervalErrorKind.NEGATIVE, NEGATIVE),
        ("-9", IntervalErrorKind.NEGATIVE, NEGATIVE),
        ("36525d0.000001s", IntervalErrorKind.OVERFLOW, TOO_LONG),
        ("3155760000.000001s", IntervalErrorKind.OVERFLOW, TOO_LONG),
        ("36526d", IntervalErrorKind.OVERFLOW, TOO_LONG),
        ("36525d1s", IntervalErrorKind.OVERFLOW, TOO_LONG),
        ("18263d18263d", IntervalErrorKind.OVERFLOW, TOO_LONG),
        ("999999999999999w", IntervalErrorKind.OVERFLOW, TOO_LONG),
        ("1000000000000000s", IntervalErrorKind.OVERFLOW, TOO_LONG),
        ("9" * 5000 + "s", IntervalErrorKind.OVERFLOW, TOO_LONG),
    ],
)
def test_errors_carry_the_input_and_a_kind_when_a_duration_is_refused(
    text: str, kind: IntervalErrorKind, reason: str
) -> None:
    """Errors carry the input and a kind; their texts contain the seed's phrases."""
    with pytest.raises(IntervalParseError) as caught:
        parse_duration(text)
    error = caught.value
    assert (error.input, error.kind) == (text, kind)
    expected = "a duration of more than zero and at most 36525d"
    assert str(error) == f'Invalid duration "{text}": {reason}. Expected {expected}. Example: "5m"'
    assert (error.field, error.value, error.example) == ("duration", text, "5m")
    assert error.expected == expected
    with pytest.raises(IntervalParseError) as named:
        parse_duration(text, field="every")
    assert (named.value.field, str(named.value)) == ("every", str(error).replace("duration", "every", 1))


def test_every_kind_has_its_word_when_it_is_reported() -> None:
    """A kind: empty, missing unit, missing number, unknown unit, zero, negative, overflow."""
    assert [str(kind) for kind in IntervalErrorKind] == [
        "empty",
        "missing_unit",
        "missing_number",
        "unknown_unit",
        "zero",
        "negative",
        "overflow",
    ]


def test_error_is_an_input_error_and_a_value_error_when_caught_broadly() -> None:
    for kind in (IntervalParseError, InputError, SchedulerError, ValueError):
        with pytest.raises(kind, match="5x"):
            parse_duration("5x")


def test_units_are_second_to_week_when_listed() -> None:
    assert {name: unit.total_seconds() for name, unit in UNITS.items()} == {
        "s": 1,
        "m": 60,
        "h": 3600,
        "d": 86_400,
        "w": 604_800,
    }
    assert MAX_DURATION == CENTURY


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (timedelta(), "0s"),
        (timedelta(seconds=30), "30s"),
        (timedelta(seconds=60), "1m"),
        (timedelta(minutes=90), "1h30m"),
        (timedelta(days=7), "7d"),
        (timedelta(days=1, seconds=1), "1d1s"),
        (timedelta(hours=24, minutes=1), "1d1m"),
        (timedelta(seconds=59, milliseconds=500), "59.5s"),
        (timedelta(microseconds=1), "0.000001s"),
        (timedelta(minutes=1, microseconds=10), "1m0.00001s"),
        (timedelta(days=2, hours=3, minutes=4, seconds=5, microseconds=60_000), "2d3h4m5.06s"),
        (CENTURY, "36525d"),
    ],
)
def test_duration_is_printed_shortest_unit_last_when_formatted(duration: timedelta, expected: str) -> None:
    assert format_duration(duration) == expected


@settings(max_examples=200, deadline=None)
@given(st.timedeltas(min_value=timedelta(microseconds=1), max_value=CENTURY))
def test_duration_survives_when_printed_and_read(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 999_999), st.sampled_from("smhdwSMHDW"))
def test_fraction_is_exact_when_it_has_six_digits(whole: int, micro: int, unit: str) -> None:
    seconds = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}[unit.lower()]
    expected = timedelta(microseconds=(whole * 1_000_000 + micro) * seconds)
    try:
        assert parse_duration(f"{whole}.{micro:06d}{unit}") == expected
    except IntervalParseError as error:
        assert (error.kind is IntervalErrorKind.ZERO and not expected) or (  # noqa: PT017
            error.kind is IntervalErrorKind.OVERFLOW and expected > CENTURY
        )


@settings(max_examples=200, deadline=None)
@given(st.text() | st.text(alphabet="0123456789.-+ smhdwx", max_size=12))
def test_only_the_documented_error_is_raised_when_text_is_arbitrary(text: str) -> None:
    try:
        duration = parse_duration(text)
    except IntervalParseError as error:
        assert error.input == text  # noqa: PT017
    else:
        assert timedelta() < duration <= CENTURY
