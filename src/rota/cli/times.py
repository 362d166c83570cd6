"""Times as people give them: on their own clock unless they say otherwise."""

from __future__ import annotations

from datetime import datetime

from rota.app import machine_zone
from rota.core.duration import parse_duration
from rota.core.schedule import Once, once_instant, parse_instant
from rota.errors import IntervalParseError, ScheduleError


def read_time(text: str, field: str, zone: str | None = None) -> datetime:
    """An ISO 8601 time; without an offset it is a wall time in the zone, else in that of this machine."""
    return once_instant(Once(parse_instant(text, field=field)), zone or machine_zone())


def read_time_or_none(text: str | None, field: str, zone: str | None = None) -> datetime | None:
    return None if text is None else read_time(text, field, zone)


def read_past(text: str | None, field: str, now: datetime) -> datetime | None:
    """A time, or how long ago it was: ``2h``."""
    if text is None:
        return None
    try:
        return now - parse_duration(text, field=field)
    except (IntervalParseError, OverflowError):
        pass
    try:
        return read_time(text, field)
    except ScheduleError as error:
        expected = f"{error.expected}; or how long ago, such as 2h"
        raise ScheduleError(field=field, value=text, expected=expected, example=error.example) from None
