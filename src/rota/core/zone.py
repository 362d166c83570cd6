"""Zones: from a wall clock to an instant and back, and where clocks change.

Instants are aware datetimes in UTC everywhere in the core; wall times are naive datetimes.
"""

from __future__ import annotations

import difflib
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

import msgspec

from rota.errors import ScheduleError

_SECOND = timedelta(seconds=1)
# Files that some systems keep beside the zones, and copies with leap seconds: none of them is an IANA zone.
_NOT_ZONES = ("right/", "posix/", "posixrules", "localtime", "Factory")


@lru_cache(maxsize=1024)
def zone_named(name: str) -> ZoneInfo:
    """The IANA zone of that name."""
    try:
        if not name.startswith(_NOT_ZONES):
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    known = (zone for zone in available_timezones() if not zone.startswith(_NOT_ZONES))
    near = difflib.get_close_matches(name, known, n=1)
    raise ScheduleError(
        field="timezone",
        value=name,
        expected=f"an IANA zone name, such as {near[0]}" if near else "an IANA zone name",
        example="Europe/Berlin",
    )


def resolve_zone(own: str | None, agent: str | None, fleet: str | None, *, machine: str) -> str:
    """The zone of a job: its own, else its agent's, else the fleet's, else the machine's."""
    return own or agent or fleet or machine


def in_utc(at: datetime, *, field: str) -> datetime:
    """The same instant in UTC, where adding a duration means elapsed time."""
    if at.tzinfo is UTC:
        return at
    if at.tzinfo is None:
        raise ScheduleError(
            field=field, value=at.isoformat(), expected="a time with an offset", example="2026-12-01T09:00+00:00"
        )
    return at.astimezone(UTC)


def wall_time(instant: datetime, zone: tzinfo) -> datetime:
    """What a clock on the wall shows at an instant; ``fold`` says which pass of a doubled hour it is."""
    return instant.astimezone(zone).replace(tzinfo=None)


def is_gap(wall: datetime, zone: tzinfo) -> bool:
    """Whether a clock change removes this wall time."""
    before, after = _offsets(wall, zone)
    return before < after


def is_doubled(wall: datetime, zone: tzinfo) -> bool:
    """Whether a clock change makes this wall time happen twice."""
    before, after = _offsets(wall, zone)
    return before > after


def first_instant(wall: datetime, zone: tzinfo) -> datetime:
    """The instant of a fixed wall time: the first of two passes; for a removed time, the end of the gap."""
    before, after = _offsets(wall, zone)
    if before < after:
        return _change_between(_utc(wall, after), _utc(wall, before), zone)
    return _utc(wall, before)


def second_instant(wall: datetime, zone: tzinfo) -> datetime:
    """The instant of the second pass of a doubled wall time."""
    return _utc(wall, _offsets(wall, zone)[1])


def fall_back(wall: datetime, zone: tzinfo) -> timedelta:
    """How far the clock goes back around a doubled wall time."""
    before, after = _offsets(wall, zone)
    return before - after


class ClockChange(msgspec.Struct, frozen=True):
    """The instant at which a zone's clocks jump, and from which offset to which."""

    changes_at: datetime
    before: timedelta
    after: timedelta

    @property
    def wall_before(self) -> datetime:
        """What clocks would have shown without the change."""
        return (self.changes_at + self.before).replace(tzinfo=None)

    @property
    def wall_after(self) -> datetime:
        """What clocks show right after the change."""
        return (self.changes_at + self.after).replace(tzinfo=None)


def clock_changes(zone: tzinfo, *, after: datetime, until: datetime) -> tuple[ClockChange, ...]:
    """Every clock change in ``(after, until]``. Changes lie weeks apart, so days are the stride."""
    changes = []
    left = after
    while left < until:
        right = min(left + timedelta(days=1), until)
        before, now = _offset_at(left, zone), _offset_at(right, zone)
        if before != now:
            changes.append(ClockChange(_change_between(left, right, zone), before, now))
        left = right
    return tuple(changes)


def _offsets(wall: datetime, zone: tzinfo) -> tuple[timedelta, timedelta]:
    # By PEP 495, fold=0 reads a removed or doubled time with the offset before the change, fold=1 with the one after.
    first = wall.replace(tzinfo=zone, fold=0).utcoffset()
    second = wall.replace(tzinfo=zone, fold=1).utcoffset()
    return first or timedelta(), second or timedelta()


def _offset_at(instant: datetime, zone: tzinfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta()


def _utc(wall: datetime, offset: timedelta) -> datetime:
    return (wall - offset).replace(tzinfo=UTC, fold=0)


def _change_between(left: datetime, right: datetime, zone: tzinfo) -> datetime:
    """The instant in ``(left, right]`` from which the offset of ``right`` holds."""
    # Clocks change on whole seconds, so flooring both ends keeps the change between them.
    left, right = left.replace(microsecond=0), right.replace(microsecond=0)
    target = _offset_at(right, zone)
    while right - left > _SECOND:
        middle = left + (right - left) // (2 * _SECOND) * _SECOND
        if _offset_at(middle, zone) == target:
            right = middle
        else:
            left = middle
    return right
