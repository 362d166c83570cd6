"""Calendar schedules: daily, weekly on several days, monthly by day, last day, nth or last weekday."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from enum import IntEnum
from functools import lru_cache

import msgspec

from rota.core.zone import first_instant, wall_time, zone_named
from rota.errors import ScheduleError

LAST = -1
_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")


class Weekday(IntEnum):
    """Days as Python counts them."""

    MON = 0
    TUE = 1
    WED = 2
    THU = 3
    FRI = 4
    SAT = 5
    SUN = 6


# Not the standard library's, which speak the language of the process.
DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": LAST}


class Daily(msgspec.Struct, frozen=True, tag="daily"):
    at: time


class Weekly(msgspec.Struct, frozen=True, tag="weekly"):
    on: tuple[Weekday, ...]
    at: time


class MonthDay(msgspec.Struct, frozen=True, tag="day"):
    """A day of the month, 1 to 31; a shorter month uses its last day. ``LAST`` is the last day of every month."""

    day: int


class NthWeekday(msgspec.Struct, frozen=True, tag="weekday"):
    """The first to fifth, or the last, of a weekday in a month; a month without a fifth is passed over."""

    nth: int
    weekday: Weekday


class Monthly(msgspec.Struct, frozen=True, tag="monthly"):
    on: MonthDay | NthWeekday
    at: time


Calendar = Daily | Weekly | Monthly


def parse_clock(text: str, *, field: str = "time") -> time:
    """A time of day, ``09:00`` or ``09:00:30``."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        raise ScheduleError(field=field, value=text, expected="HH:MM from 00:00 to 23:59", example='"09:00"')
    hour, minute, second = match.groups(default="0")
    return time(int(hour), int(minute), int(second))


def parse_weekday(text: str, *, field: str = "weekday") -> Weekday:
    """A weekday by its first three letters or more: ``mon``, ``Monday``."""
    word = text.strip().lower()
    for day in Weekday:
        if len(word) >= 3 and DAY_NAMES[day].lower().startswith(word):
            return day
    raise ScheduleError(field=field, value=text, expected="a day from mon to sun", example="mon")


def parse_weekdays(text: str) -> tuple[Weekday, ...]:
    """Days separated by commas, in the order of the week, each once."""
    return tuple(sorted({parse_weekday(word, field="weekly.on") for word in text.split(",")}))


def parse_month_day(text: str) -> MonthDay | NthWeekday:
    """A day of the month: ``31``, ``last``, ``first mon``, ``last fri``."""
    words = text.strip().lower().split()
    if len(words) == 1:
        if words[0] == "last":
            return MonthDay(LAST)
        if words[0].isascii() and words[0].isdigit() and len(words[0]) <= 2 and 1 <= int(words[0]) <= 31:
            return MonthDay(int(words[0]))
    if len(words) == 2 and words[0] in ORDINALS:
        return NthWeekday(ORDINALS[words[0]], parse_weekday(words[1], field="monthly.on"))
    raise ScheduleError(
        field="monthly.on",
        value=text,
        expected="a day 1-31, last, or first|second|third|fourth|fifth|last with a weekday",
        example="31, last, first mon",
    )


def check_calendar(schedule: Calendar) -> None:
    """Refuse days that no month or week has."""
    match schedule:
        case Weekly(on=days) if not days or any(day not in tuple(Weekday) for day in days):
            raise ScheduleError(
                field="weekly.on",
                value=",".join(map(str, days)),
                expected="at least one day from mon to sun",
                example="mon,thu",
            )
        case Monthly(on=MonthDay(day=day)) if day != LAST and not 1 <= day <= 31:
            raise ScheduleError(field="monthly.on", value=str(day), expected="a day 1-31, or last", example="31, last")
        case Monthly(on=NthWeekday(nth=nth)) if nth not in ORDINALS.values():
            raise ScheduleError(
                field="monthly.on",
                value=str(nth),
                expected="first|second|third|fourth|fifth|last with a weekday",
                example="first mon",
            )


def format_calendar(schedule: Calendar) -> str:
    """One line that ``parse_schedule`` reads back."""
    at = format_clock(schedule.at)
    match schedule:
        case Daily():
            return f"daily {at}"
        case Weekly(on=days):
            return f"weekly {','.join(day.name.lower() for day in days)} {at}"
    return f"monthly {_format_rule(schedule.on)} {at}"


def next_calendar(schedule: Calendar, after: datetime, zone_name: str) -> datetime | None:
    """The first match strictly after an instant; a removed time fires after the gap, a doubled one the first time."""
    # Matches lie on whole seconds, so every instant of a second shares one answer.
    return _next_after_second(schedule, zone_name, (after - _EPOCH) // _SECOND)


@lru_cache(maxsize=65_536)
def _next_after_second(schedule: Calendar, zone_name: str, second: int) -> datetime | None:
    after, zone = _EPOCH + second * _SECOND, zone_named(zone_name)
    try:
        # A gap can carry yesterday's time into today, so the search begins a day early.
        days = matching_dates(schedule, wall_time(after, zone).date() - _DAY)
        instants = (first_instant(datetime.combine(day, schedule.at), zone) for day in days)
        return next(instant for instant in instants if instant > after)
    except OverflowError:
        return None


def matching_dates(schedule: Calendar, first: date) -> Iterator[date]:
    """The dates of a schedule from one date on, without end."""
    match schedule:
        case Daily():
            return _days_from(first)
        case Weekly(on=weekdays):
            return (day for day in _days_from(first) if day.weekday() in weekdays)
    days = (_day_in_month(schedule.on, month) for month in _months_from(first))
    return (day for day in days if day is not None and day >= first)


def _days_from(day: date) -> Iterator[date]:
    while True:
        yield day
        day += _DAY


def _months_from(day: date) -> Iterator[date]:
    month = day.replace(day=1)
    while True:
        yield month
        month = (month + 31 * _DAY).replace(day=1)


def _day_in_month(rule: MonthDay | NthWeekday, month: date) -> date | None:
    first_weekday, length = calendar.monthrange(month.year, month.month)
    if isinstance(rule, MonthDay):
        return month.replace(day=length if rule.day == LAST else min(rule.day, length))
    first = 1 + (rule.weekday - first_weekday) % 7
    if rule.nth == LAST:
        return month.replace(day=first + (length - first) // 7 * 7)
    nth = first + 7 * (rule.nth - 1)
    return month.replace(day=nth) if nth <= length else None


def _format_rule(rule: MonthDay | NthWeekday) -> str:
    if isinstance(rule, NthWeekday):
        return f"{ordinal_word(rule.nth)} {rule.weekday.name.lower()}"
    return "last" if rule.day == LAST else str(rule.day)


def ordinal_word(nth: int) -> str:
    """``first`` for 1, ``last`` for ``LAST``."""
    return next(word for word, number in ORDINALS.items() if number == nth)


def format_clock(at: time) -> str:
    """A time of day, with seconds only where there are any."""
    return at.strftime("%H:%M:%S") if at.second else at.strftime("%H:%M")
