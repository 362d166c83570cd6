"""Cron expressions: parsed once, matched against the wall clock, and mapped to instants by our own rules.

The search for the next matching wall time is cronsim's, always on naive datetimes. What a clock change does to
that wall time is decided here, because a matching wall time may not exist, or may exist twice.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from cronsim import CronSim, CronSimError

from rota.core.cron_fields import DAY, FIELDS, WEEKDAY, split_fields
from rota.core.zone import (
    fall_back,
    first_instant,
    in_utc,
    is_doubled,
    is_gap,
    second_instant,
    wall_time,
    zone_named,
)
from rota.errors import CronParseError

# Where the search for a first match begins, so that a date that never comes is found when the expression is read.
_REFERENCE = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall time
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The last zone with an offset of odd seconds gave it up in January 1972.
_WHOLE_MINUTES_SINCE = datetime(1973, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)


class _WallClock(CronSim):
    """cronsim's search on wall times, leaping to the next month of the expression instead of walking there."""

    def advance_month(self) -> None:
        if self.dt.month in self.months:
            return
        later = [month for month in self.months if month > self.dt.month]
        year, month = (self.dt.year, min(later)) if later else (self.dt.year + 1, min(self.months))
        self.dt = datetime(year, month, 1)  # noqa: DTZ001 - a wall time


class CronExpression(NamedTuple):
    """A valid expression: as written, as five canonical fields, and with what a person should be warned of."""

    text: str
    fields: tuple[str, ...]
    warnings: tuple[str, ...]
    simulator: CronSim

    @property
    def is_fixed(self) -> bool:
        """Whether minute and hour name fixed times; otherwise the expression follows the wall clock."""
        return not self.fields[0].startswith("*") and not self.fields[1].startswith("*")

    @property
    def times_a_day(self) -> int:
        """How many times a day has that matches at all, unless the clock changes on it."""
        return self.times_an_hour * len(self.simulator.hours)

    @property
    def times_an_hour(self) -> int:
        """The same of an hour."""
        return len(self.simulator.minutes)


@lru_cache(maxsize=65_536)
def parse_cron(text: str) -> CronExpression:
    """Read an expression, or say which field is wrong, its range, and an example."""
    fields = split_fields(text)
    try:
        simulator = _WallClock(" ".join(fields), _REFERENCE)
        next(copy.copy(simulator))
    except (CronSimError, StopIteration):
        raise CronParseError(
            text,
            field=DAY.name,
            reason="no date ever matches its day of month, month and day of week together",
            expected="a day that exists in at least one of the months",
            example="0 0 28-31 2 *",
        ) from None
    return CronExpression(text, fields, _warnings(fields), simulator)


def is_valid_cron(text: str) -> bool:
    """Whether ``parse_cron`` would accept this."""
    try:
        parse_cron(text)
    except CronParseError:
        return False
    return True


def next_cron(text: str, after: datetime, zone_name: str) -> datetime | None:
    """The first match strictly after an instant; none when the calendar ends first."""
    if after < _WHOLE_MINUTES_SINCE:
        return _next_match(text, zone_name, after)
    # Matches lie on whole minutes, so every instant of a minute shares one answer.
    return _next_after_minute(text, zone_name, (after - _EPOCH) // _MINUTE)


def calculate_next_cron_trigger(text: str, after: datetime, zone: str = "UTC") -> datetime | None:
    """The public name of ``next_cron``: a time without an offset is a wall time in the zone."""
    instant = in_utc(after, field="after") if after.tzinfo else first_instant(after, zone_named(zone))
    return next_cron(text, instant, zone)


@lru_cache(maxsize=65_536)
def _next_after_minute(text: str, zone_name: str, minute: int) -> datetime | None:
    return _next_match(text, zone_name, _EPOCH + minute * _MINUTE)


def _next_match(text: str, zone_name: str, after: datetime) -> datetime | None:
    expression, zone = parse_cron(text), zone_named(zone_name)
    find = _next_fixed if expression.is_fixed else _next_on_the_wall
    try:
        return find(expression, after, zone)
    except (OverflowError, ValueError):
        # The calendar ends with the year 9999.
        return None


def _next_fixed(expression: CronExpression, after: datetime, zone: tzinfo) -> datetime | None:
    """A removed time fires once, after the gap; a doubled one once, the first time."""
    instants = (first_instant(match, zone) for match in _wall_matches(expression, wall_time(after, zone)))
    return next((instant for instant in instants if instant > after), None)


def _next_on_the_wall(expression: CronExpression, after: datetime, zone: tzinfo) -> datetime | None:
    """Every real minute that matches: both passes of a doubled hour, nothing for a gap."""
    wall = wall_time(after, zone)
    ahead = _next_ahead(expression, after, zone)
    if wall.fold or not is_doubled(wall, zone):
        return ahead
    again = _next_in_second_pass(expression, wall, zone)
    return min((instant for instant in (ahead, again) if instant), default=None)


def _next_in_second_pass(expression: CronExpression, wall: datetime, zone: tzinfo) -> datetime | None:
    """From a wall time in the first pass: the first match that the clock shows again after falling back."""
    again = takewhile(lambda match: match <= wall, _wall_matches(expression, wall - fall_back(wall, zone)))
    return next((second_instant(match, zone) for match in again if is_doubled(match, zone)), None)


def _next_ahead(expression: CronExpression, after: datetime, zone: tzinfo) -> datetime | None:
    real = (match for match in _wall_matches(expression, wall_time(after, zone)) if not is_gap(match, zone))
    # From within a second pass, the first pass of the same hour lies behind.
    passes = ((first_instant(match, zone), second_instant(match, zone)) for match in real)
    return next((first if first > after else second for first, second in passes), None)


def _wall_matches(expression: CronExpression, after: datetime) -> Iterator[datetime]:
    """Matching wall times strictly after one; cronsim gives up after fifty years without any."""
    # What copy.copy would do, at a fifth of its price: the search moves the simulator, the expression keeps its own.
    simulator = object.__new__(_WallClock)
    simulator.__dict__.update(expression.simulator.__dict__, dt=after.replace(microsecond=0, fold=0))
    return simulator


def _warnings(fields: tuple[str, ...]) -> tuple[str, ...]:
    days, weekdays = fields[FIELDS.index(DAY)], fields[FIELDS.index(WEEKDAY)]
    if "*" in (days, weekdays):
        return ()
    if days.startswith("*") or weekdays.startswith("*"):
        return (f'day of month "{days}" and day of week "{weekdays}" must both match, because one begins with "*"',)
    return (f'day of month "{days}" or day of week "{weekdays}": a day that matches either one counts',)
