"""Quiet hours: when scheduled occurrences do not start, by time of day, weekday or date, on the job's wall clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum

import msgspec

from rota.core.calendar import Weekday, parse_clock, parse_weekday
from rota.core.zone import first_instant, wall_time, zone_named
from rota.errors import ScheduleError

_DAY = timedelta(days=1)
_HOURS = re.compile(r"([0-9:]+)\s*-\s*([0-9:]+)")
_DATES = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\.\.(\d{4}-\d{2}-\d{2}))?", re.ASCII)
_A_MONDAY = datetime(2001, 1, 1, tzinfo=UTC)
_EXPECTED = "hours HH:MM-HH:MM, a weekday, a date, or dates YYYY-MM-DD..YYYY-MM-DD"
_EXAMPLE = '"22:00-07:00", "sat", "2026-12-24..2026-12-26"'


class QuietPolicy(StrEnum):
    """What becomes of an occurrence in quiet hours: recorded as skipped, or moved to their end."""

    SKIP = "skip"
    DEFER = "defer"


class QuietHours(msgspec.Struct, frozen=True, tag="hours"):
    """Every day from one time to another; over midnight when the end is the earlier of the two."""

    begin: time
    end: time


class QuietDay(msgspec.Struct, frozen=True, tag="day"):
    weekday: Weekday


class QuietDates(msgspec.Struct, frozen=True, tag="dates"):
    """From the first date through the last."""

    first: date
    last: date


Quiet = QuietHours | QuietDay | QuietDates


def parse_quiet(text: str) -> Quiet:
    """Read one quiet period: ``22:00-07:00``, ``sat``, ``2026-12-25`` or ``2026-12-24..2026-12-26``."""
    stripped = text.strip()
    if hours := _HOURS.fullmatch(stripped):
        begin, end = parse_clock(hours[1], field="quiet"), parse_clock(hours[2], field="quiet")
        if begin == end:
            raise ScheduleError(field="quiet", value=text, expected="two different times", example=_EXAMPLE)
        return QuietHours(begin, end)
    if dates := _DATES.fullmatch(stripped):
        first, last = _date(dates[1]), _date(dates[2] or dates[1])
        if last < first:
            raise ScheduleError(field="quiet", value=text, expected="a first date before the last", example=_EXAMPLE)
        return QuietDates(first, last)
    try:
        return QuietDay(parse_weekday(stripped))
    except ScheduleError:
        raise ScheduleError(field="quiet", value=text, expected=_EXPECTED, example=_EXAMPLE) from None


def format_quiet(quiet: Quiet) -> str:
    """The text that ``parse_quiet`` reads back."""
    match quiet:
        case QuietHours(begin=begin, end=end):
            return f"{begin.isoformat()}-{end.isoformat()}"
        case QuietDay(weekday=weekday):
            return weekday.name.lower()
    return f"{quiet.first}..{quiet.last}"


def check_quiet(quiet: Sequence[Quiet]) -> None:
    """Refuse periods that together leave no time at all."""
    recurring = [period for period in quiet if not isinstance(period, QuietDates)]
    end = quiet_end(_A_MONDAY, recurring, "UTC")
    if end is not None and end - _A_MONDAY > 7 * _DAY:
        raise ScheduleError(
            field="quiet",
            value=", ".join(map(format_quiet, recurring)),
            expected="some time of the week left over",
            example=_EXAMPLE,
        )


def quiet_end(instant: datetime, quiet: Sequence[Quiet], zone_name: str) -> datetime | None:
    """When the quiet time around an instant is over; none when the instant is not quiet."""
    if not quiet:
        return None
    zone = zone_named(zone_name)
    end = instant
    # Periods may touch and so extend each other; nothing that check_quiet accepts needs more rounds than this.
    for _ in range(20 * (len(quiet) + 1)):
        later = [stop for period in quiet if (stop := _end_of(period, end, zone)) is not None]
        if not later:
            break
        end = max(later)
    return end if end > instant else None


def _end_of(period: Quiet, instant: datetime, zone: tzinfo) -> datetime | None:
    # Stretches are compared as instants: where clocks go back, the wall time alone would leave a hole.
    for begin, end in _stretches(period, wall_time(instant, zone).date()):
        if first_instant(begin, zone) <= instant < (over := first_instant(end, zone)):
            return over
    return None


def _stretches(period: Quiet, today: date) -> list[tuple[datetime, datetime]]:
    """The stretches of wall time that may hold an instant of this day."""
    days = (today - _DAY, today)
    match period:
        case QuietHours(begin=begin, end=end):
            length = _DAY if end < begin else timedelta()
            return [(datetime.combine(day, begin), datetime.combine(day + length, end)) for day in days]
        case QuietDay(weekday=weekday):
            return [
                (datetime.combine(day, time()), datetime.combine(day + _DAY, time()))
                for day in days
                if day.weekday() == weekday
            ]
    return [(datetime.combine(period.first, time()), datetime.combine(period.last + _DAY, time()))]


def _date(text: str) -> date:
    try:
        day = date.fromisoformat(text)
        if 1970 <= day.year <= 9998:
            return day
    except ValueError:
        pass
    raise ScheduleError(
        field="quiet", value=text, expected="a date that exists, from 1970-01-01 to 9998-12-31", example="2026-12-24"
    )
