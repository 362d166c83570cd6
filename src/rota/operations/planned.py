"""Planned days: how often a job is due on each of the coming days. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

import msgspec

from rota.core.cron import parse_cron
from rota.core.job import JobState
from rota.core.schedule import Cron, Every, Wall, next_wall
from rota.core.zone import first_instant, wall_time, zone_named
from rota.operations.foreseeing import due_times_of, is_before, is_plain
from rota.operations.inputs import Instant

AHEAD = timedelta(days=365)
# A due time that the governor decides on takes longer than one that a schedule says.
MOST, MOST_DECIDED = 5_000, 1_000
_DAY, _HOUR = timedelta(days=1), timedelta(hours=1)
_TICK = timedelta(microseconds=1)


class PlannedDay(msgspec.Struct, frozen=True):
    """How many due times a day has, as things stand."""

    day: str
    count: int


class Planned(msgspec.Struct, frozen=True):
    days: tuple[PlannedDay, ...]
    until: Instant
    """How far was looked."""


def planned_days(now: datetime, state: JobState) -> Planned:
    """The coming year on the clock of the job's zone; only days with a due time. What is overdue is due today."""
    schedule, planned = state.timing.schedule, state.planned
    if planned is None or isinstance(schedule, Every) or not is_plain(state):
        return _looked_at(now, state, now + AHEAD)
    zone, counts, at = state.timing.zone, Counter[date](), planned.match_at
    if is_before(planned.next_run_at, now):
        counts[day_of(now, zone)] += 1
        at = next_wall(schedule, now, zone)  # type: ignore[arg-type] # is_plain says so
    last = min(now + AHEAD, state.timing.until or now + AHEAD)
    for day, count in _days_of_wall(at, schedule, zone, last):  # type: ignore[arg-type]
        counts[day] += count
    return Planned(_listed(counts), now + AHEAD)


@lru_cache(maxsize=16_384)
def day_begins(day: date, zone_name: str) -> datetime:
    """The first instant of a day on the clock of a zone."""
    return first_instant(datetime(day.year, day.month, day.day), zone_named(zone_name))  # noqa: DTZ001 - a wall time


def day_of(at: datetime, zone_name: str) -> date:
    return wall_time(at, zone_named(zone_name)).date()


class _Rhythm(NamedTuple):
    """How often a schedule of the wall is due, where nothing is odd."""

    a_day: int = 1
    an_hour: int = 0
    """None where a clock change may add a time to an hour."""


def _rhythm(schedule: Wall) -> _Rhythm:
    if not isinstance(schedule, Cron):
        return _Rhythm()
    expression = parse_cron(schedule.expression)
    return _Rhythm(expression.times_a_day, 0 if expression.is_fixed else expression.times_an_hour)


def _days_of_wall(first: datetime | None, schedule: Wall, zone: str, last: datetime) -> Iterator[tuple[date, int]]:
    """Days alike have equally many times. Those that are not whole, or on which the clock changes, are counted out."""
    rhythm, at = _rhythm(schedule), first
    while at is not None and at <= last:
        day = day_of(at, zone)
        begin, end = day_begins(day, zone), day_begins(day + _DAY, zone)
        is_whole = at != first and end - begin == _DAY and end <= last
        yield day, rhythm.a_day if is_whole else _counted(at, schedule, zone, min(end - _TICK, last))
        at = next_wall(schedule, end - _TICK, zone)


def _counted(first: datetime, schedule: Wall, zone: str, last: datetime) -> int:
    """Times counted out; hours alike, each from its first time on, together."""
    an_hour, count = _rhythm(schedule).an_hour, 0
    passed, at = first - _TICK, next_wall(schedule, first - _TICK, zone)
    while at is not None and at <= last:
        hour = _whole_hour(at, zone) if an_hour else None
        if hour is not None and hour > passed and hour + _HOUR <= last:
            count, passed = count + an_hour, hour + _HOUR - _TICK
        else:
            count, passed = count + 1, at
        at = next_wall(schedule, passed, zone)
    return count


def _whole_hour(at: datetime, zone_name: str) -> datetime | None:
    """When the hour on the wall began that an instant lies in; none if the clock changes within it."""
    zone = zone_named(zone_name)
    wall = wall_time(at, zone)
    floor = wall.replace(minute=0, second=0, microsecond=0)
    begin = at - (wall - floor)
    is_whole = wall_time(begin, zone) == floor and wall_time(begin + _HOUR, zone) == floor + _HOUR
    return begin if is_whole else None


def _looked_at(now: datetime, state: JobState, until: datetime) -> Planned:
    """Due times one after the other, and no more of them than can be looked at in a moment."""
    most, counts = (MOST if is_plain(state) else MOST_DECIDED), Counter[date]()
    for index, at in enumerate(due_times_of(now, state)):
        if at > until:
            break
        if index == most:
            return Planned(_listed(counts), at)
        counts[day_of(max(at, now), state.timing.zone)] += 1
    return Planned(_listed(counts), until)


def _listed(counts: Counter[date]) -> tuple[PlannedDay, ...]:
    return tuple(PlannedDay(day.isoformat(), count) for day, count in sorted(counts.items()))
