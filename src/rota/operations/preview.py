"""Preview a schedule: its words, its next due times, and what clock changes do to it."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice

import msgspec

from rota.core.definition import Definition
from rota.core.job import JobState
from rota.core.schedule import (
    LAST_INSTANT,
    Every,
    First,
    Schedule,
    check_schedule,
    format_schedule,
    next_times,
    parse_schedule,
    schedule_type,
)
from rota.core.words import ClockChangeNight, clock_change_nights, in_words
from rota.core.zone import zone_named
from rota.ledger.site import Site
from rota.operations.foreseeing import foreseen_times
from rota.operations.inputs import Count, Instant, Line, Zone

# Both clock changes of a year, wherever in it one asks.
LOOK_AHEAD = timedelta(days=370)
# Zone rules are guesses by then.
FARTHEST = timedelta(days=20 * 366)
# Days are still counted from here, so some must be left.
_LAST_LOOK = LAST_INSTANT - timedelta(days=3)


class DueTime(msgspec.Struct, frozen=True):
    """One due time: the instant, what the wall clock shows, and a note where a clock change or quiet hours touch it."""

    at: Instant
    local: Instant
    note: str = ""


class Preview(msgspec.Struct, frozen=True):
    schedule: str
    type: str
    timezone: str
    in_words: str
    warnings: tuple[str, ...]
    times: tuple[DueTime, ...]
    clock_changes: tuple[ClockChangeNight, ...]


async def preview_schedule(
    site: Site, *, schedule: Line, timezone: Zone = "UTC", count: Count = 5, after: Instant | None = None
) -> Preview:
    """A schedule in words, its next due times, and the nights on which clocks change."""
    now = after or site.clock.now()
    return preview(parse_schedule(schedule, now=now), now=now, zone=timezone, count=count)


def preview(schedule: Schedule, *, now: datetime, zone: str, count: int) -> Preview:
    """What a person wants to see before saving a schedule."""
    warnings = check_schedule(schedule)
    where = zone_named(zone)
    instants = first_times(schedule, now=now, zone=zone, count=count)
    nights = _nights(schedule, zone, now=now, last=instants[-1] if instants else None)
    notes = _notes(nights)
    return Preview(
        format_schedule(schedule),
        schedule_type(schedule),
        zone,
        in_words(schedule),
        warnings,
        tuple(DueTime(at, at.astimezone(where), notes.get(at, "")) for at in instants),
        nights,
    )


def first_times(schedule: Schedule, *, now: datetime, zone: str, count: int) -> tuple[datetime, ...]:
    """Saved now, a new interval job would run at once."""
    if isinstance(schedule, Every) and schedule.first is First.NOW:
        return (now, *next_times(schedule, after=now, count=count - 1, zone=zone))
    return next_times(schedule, after=now, count=count, zone=zone)


def coming_times(now: datetime, state: JobState, count: int) -> tuple[datetime, ...]:
    """When a new job will run if every run takes no time, with all that its timing says."""
    return tuple(at for at, _ in islice(foreseen_times(now, state), count))


def times_when_saved(now: datetime, definition: Definition, count: int) -> tuple[datetime, ...]:
    """The next due times of a job that is saved now."""
    state = JobState(name=definition.name, timing=definition.timing, created_at=now, scheduled_at=now)
    return coming_times(now, state, count)


def notes_of(schedule: Schedule, zone: str, *, now: datetime, last: datetime | None) -> dict[datetime, str]:
    """What clock changes do to due times, by the due time."""
    return _notes(_nights(schedule, zone, now=now, last=last))


def _nights(schedule: Schedule, zone: str, *, now: datetime, last: datetime | None) -> tuple[ClockChangeNight, ...]:
    """The clock changes of the coming year, and later ones up to the last time that is shown."""
    looked = _later(now, LOOK_AHEAD)
    until = min(looked if last is None else max(looked, last), _later(now, FARTHEST))
    return clock_change_nights(schedule, zone, after=now, until=until)


def _notes(nights: tuple[ClockChangeNight, ...]) -> dict[datetime, str]:
    return {instant: night.in_words for night in nights for instant in night.fires}


def _later(now: datetime, wait: timedelta) -> datetime:
    return now + wait if now < _LAST_LOOK - wait else _LAST_LOOK
