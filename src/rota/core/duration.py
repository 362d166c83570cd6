"""Durations as people write them: ``30s 5m 1.5h 2d 1w``, also ``1h30m``."""

from __future__ import annotations

import re
from datetime import timedelta

from rota.errors import IntervalErrorKind, IntervalParseError

UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}

# A century: multiplied by the steepest backoff it still lands inside the calendar.
MAX_DURATION = timedelta(days=36_525)

_PART = re.compile(r"([0-9.]*)\s*([^\s0-9.]*)\s*")
_NUMBER = re.compile(r"(?P<whole>[0-9]+)(?:\.(?P<fraction>[0-9]+))?")
_MICROSECOND = timedelta(microseconds=1)
_MAX_DIGITS = 15
_COMMON_SLIPS = {
    "ms": "s",
    "sec": "s",
    "min": "m",
    "mins": "m",
    "hr": "h",
    "hrs": "h",
    "mo": "d",
    "month": "d",
}


def parse_duration(text: str, *, field: str = "duration") -> timedelta:
    """Read a duration; a whole number of microseconds, more than zero and at most a century."""
    try:
        return _parse(text)
    except _Refusal as refusal:
        raise IntervalParseError(refusal.reason, text=text, kind=refusal.kind, field=field) from None


class _Refusal(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, reason: str, kind: IntervalErrorKind) -> None:
        self.reason = reason
        self.kind = kind


def _parse(text: str) -> timedelta:
    stripped = text.strip()
    if not stripped:
        raise _Refusal("it is empty", IntervalErrorKind.EMPTY)
    if stripped.startswith("-"):
        raise _negative(stripped)
    total = timedelta()
    for number, unit in filter(any, _PART.findall(stripped)):
        total += _part_value(number, unit.lower())
        if total > MAX_DURATION:
            raise _Refusal("it is longer than 36525d", IntervalErrorKind.OVERFLOW)
    if not total:
        raise _Refusal("Zero interval is not allowed", IntervalErrorKind.ZERO)
    return total


def format_duration(duration: timedelta) -> str:
    """Print a duration so that ``parse_duration`` reads the same value back."""
    parts = []
    rest = duration
    for name in ("d", "h", "m"):
        count, rest = divmod(rest, UNITS[name])
        if count:
            parts.append(f"{count}{name}")
    if rest or not parts:
        seconds, fraction = divmod(rest // _MICROSECOND, 1_000_000)
        digits = f".{fraction:06d}".rstrip("0") if fraction else ""
        parts.append(f"{seconds}{digits}s")
    return "".join(parts)


def _negative(stripped: str) -> _Refusal:
    if any(character in "0123456789" for character in stripped):
        return _Refusal("Negative intervals are not allowed", IntervalErrorKind.NEGATIVE)
    return _missing_number()


def _missing_number() -> _Refusal:
    return _Refusal('Missing number. Expected format: "{number}{unit}"', IntervalErrorKind.MISSING_NUMBER)


def _part_value(number: str, unit: str) -> timedelta:
    match = _NUMBER.fullmatch(number)
    if match is None:
        raise _missing_number()
    if not unit:
        raise _Refusal('Missing time unit. Expected format: "{number}{unit}"', IntervalErrorKind.MISSING_UNIT)
    if unit not in UNITS:
        raise _unknown_unit(unit)
    return _scaled(match["whole"], match["fraction"] or "", UNITS[unit])


def _scaled(whole: str, fraction: str, unit: timedelta) -> timedelta:
    # Integers only: 1.1h must be 3960 seconds, which floats cannot promise.
    whole = whole.lstrip("0") or "0"
    if len(whole) > _MAX_DIGITS:
        raise _Refusal("it is longer than 36525d", IntervalErrorKind.OVERFLOW)
    fraction = fraction[:_MAX_DIGITS]
    digits = int(whole + fraction)
    microseconds = digits * (unit // _MICROSECOND) // 10 ** len(fraction)
    return timedelta(microseconds=min(microseconds, 2 * (MAX_DURATION // _MICROSECOND)))


def _unknown_unit(unit: str) -> _Refusal:
    slip = _COMMON_SLIPS.get(unit) or (unit[0] if unit[0] in UNITS and unit.isalpha() else None)
    hint = f' (did you mean "{slip}"?)' if slip else ""
    return _Refusal(
        f'Invalid time unit "{unit}". Valid units are: {", ".join(UNITS)}{hint}', IntervalErrorKind.UNKNOWN_UNIT
    )
