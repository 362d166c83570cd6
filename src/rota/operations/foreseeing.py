"""Foreseeing: when a job would run if nothing changed and every run took a given time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain

import msgspec

from rota.core.backoff import NoBackoff
from rota.core.decision import Decision, Moment, Source
from rota.core.governor import decide, is_pause_over
from rota.core.hint import remaining_hints
from rota.core.job import JobState
from rota.core.quiet import QuietPolicy
from rota.core.schedule import Every, Schedule, due_times

_TICK = timedelta(microseconds=1)
_OF_THE_WALL = (Source.BASELINE_CRON, Source.BASELINE_CALENDAR)


def foreseen_times(
    now: datetime, state: JobState, *, duration: timedelta = timedelta()
) -> Iterator[tuple[datetime, str]]:
    """Due times from the planned one on, each with its source. Nothing for jobs that are switched off."""
    decision = coming_decision(now, state) or decide(now, state, moment=Moment.CREATED)
    last: datetime | None = None
    while state.is_active and (at := decision.next_run_at) is not None and (last is None or at > last):
        yield at, decision.source
        last = at
        state, decision = _after(state, decision, at, duration)


def due_times_of(now: datetime, state: JobState, *, begin: datetime | None = None) -> Iterator[datetime]:
    """The due times to come. One that is overdue comes first; those that passed behind it will not be fired as such.

    Where the schedule alone says them, no decision is made for each: thousands are looked at, and what comes before
    ``begin`` is passed over at once. Elsewhere that is for whoever asks to pass over.
    """
    planned = state.planned
    is_overdue = planned is not None and planned.source is not Source.PAUSED and is_before(planned.next_run_at, now)
    if planned is None or planned.next_run_at is None or not is_overdue or not state.is_active:
        yield from _due_times(now, state, begin)
        return
    yield planned.next_run_at
    offset = planned.next_run_at - (planned.match_at or planned.next_run_at)
    fired = msgspec.structs.replace(planned, next_run_at=now, match_at=planned.match_at and now - offset)
    fresh = msgspec.structs.replace(state, planned=fired)
    yield from (at for at in _due_times(now, fresh, begin) if at > now)


def is_before(at: datetime | None, now: datetime) -> bool:
    return at is not None and at < now


def _due_times(now: datetime, state: JobState, begin: datetime | None) -> Iterator[datetime]:
    if is_plain(state) and (planned := state.planned) is not None and planned.next_run_at is not None:
        yield from _plain_times(planned.next_run_at, planned.match_at, state, begin)
        return
    # The end of a pause is a point of replanning, except for intervals.
    replans_only = not isinstance(state.timing.schedule, Every)
    for at, source in foreseen_times(now, state):
        if not (replans_only and source == Source.PAUSED):
            yield at


def is_plain(state: JobState) -> bool:
    """Whether after the planned time only the schedule has a say."""
    timing, planned = state.timing, state.planned
    has_more_to_say = (
        state.hints
        or timing.max_runs
        or timing.min_interval
        or timing.max_interval
        or (timing.quiet and (timing.quiet_policy is QuietPolicy.DEFER or isinstance(timing.schedule, Every)))
        or (state.failure_count and not isinstance(timing.backoff, NoBackoff))
    )
    if has_more_to_say or not state.is_active or planned is None:
        return False
    if isinstance(timing.schedule, Every):
        return planned.source is Source.BASELINE_INTERVAL
    return planned.source in _OF_THE_WALL and planned.match_at is not None


def _plain_times(
    at: datetime, match_at: datetime | None, state: JobState, begin: datetime | None
) -> Iterator[datetime]:
    timing = state.timing
    offset = at - match_at if match_at is not None else timedelta()
    first = at - offset
    if begin is None or begin <= at:
        appointments: Iterator[datetime] = chain((first,), due_times(timing.schedule, first, timing.zone))
    else:
        appointments = due_times(timing.schedule, _just_before(begin - offset, first, timing.schedule), timing.zone)
    for appointment in appointments:
        # As in the governor, the end of life is a matter of the appointment where there is one.
        if timing.until is not None and appointment > timing.until:
            return
        yield appointment + offset


def _just_before(begin: datetime, first: datetime, schedule: Schedule) -> datetime:
    """The last instant from which a schedule goes on at a time or later, without leaving its own rhythm."""
    if isinstance(schedule, Every):
        return first + (begin - first - _TICK) // schedule.interval * schedule.interval
    return begin - _TICK


def coming_decision(now: datetime, state: JobState) -> Decision | None:
    """The plan as it will be: the end of a pause is a point of replanning, not a due time."""
    if not is_pause_over(state.planned, now):
        return state.planned
    return decide(now, msgspec.structs.replace(state, planned=None), moment=Moment.REPLANNED)


def _after(state: JobState, decision: Decision, at: datetime, duration: timedelta) -> tuple[JobState, Decision]:
    """Where a job stands when the run that was due at a time has ended."""
    try:
        ended = at + duration
    except OverflowError:
        ended = at
    ran = msgspec.structs.replace(
        state,
        planned=None,
        fired_until=decision.match_at or at,
        started_count=state.started_count + 1,
        last_completed_at=ended,
        hints=remaining_hints(state.hints, ended),
        is_running=False,
    )
    return ran, decide(ended, ran, moment=Moment.SETTLED)
