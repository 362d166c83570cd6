"""Foreseeing: when a job would run if nothing changed and every run took a given time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from rota.core.decision import Decision, Moment
from rota.core.governor import decide, is_pause_over
from rota.core.hint import remaining_hints
from rota.core.job import JobState


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
