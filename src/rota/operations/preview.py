"""Preview a schedule: its words, its next due times, and what clock changes do to it."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from rota.core.decision import Moment
from rota.core.governor import decide
from rota.core.job import JobState
from rota.core.schedule import (
    LAST_INSTANT,
    Every,
    First,
    Schedule,
    check_schedule,
    format_schedule,
    next_times,
    schedule_type,
)
from rota.core.words import ClockChangeNight, clock_change_nights, in_words
from rota.core.zone import zone_named

# Both clock changes of a year, wherever in it one asks.
LOOK_AHEAD = timedelta(days=370)
# Zone rules are guesses by then.
FARTHEST = timedelta(days=20 * 366)
# Days are still counted from here, so some must be left.
_LAST_LOOK = LAST_INSTANT - timedelta(days=3)


class DueTime(msgspec.Struct, frozen=True):
    """One due time: the instant, what the wall clock shows, and a note where a clock change moved it."""

    at: datetime
    local: datetime
    note: str = ""


class Preview(msgspec.Struct, frozen=True):
    schedule: str
    type: str
    timezone: str
    in_words: str
    warnings: tuple[str, ...]
    times: tuple[DueTime, ...]
    clock_changes: tuple[ClockChangeNight, ...]


def preview(schedule: Schedule, *, now: datetime, zone: str, count: int) -> Preview:
    """What a person wants to see before saving a schedule."""
    warnings = check_schedule(schedule)
    where = zone_named(zone)
    instants = first_times(schedule, now=now, zone=zone, count=count)
    until = min(max([_later(now, LOOK_AHEAD), *instants[-1:]]), _later(now, FARTHEST))
    nights = clock_change_nights(schedule, zone, after=now, until=until)
    notes = {instant: night.in_words for night in nights for instant in night.fires}
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
    times: list[datetime] = []
    decision = decide(now, state, moment=Moment.CREATED)
    while (at := decision.next_run_at) is not None and len(times) < count and (not times or at > times[-1]):
        times.append(at)
        state = msgspec.structs.replace(
            state,
            planned=None,
            fired_until=decision.match_at or at,
            started_count=state.started_count + 1,
            last_completed_at=at,
        )
        decision = decide(at, state, moment=Moment.SETTLED)
    return tuple(times)


def _later(now: datetime, wait: timedelta) -> datetime:
    return now + wait if now < _LAST_LOOK - wait else _LAST_LOOK
