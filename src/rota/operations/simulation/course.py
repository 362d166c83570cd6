"""The course of a simulation: the occurrences of all jobs in the order of time, those of chains included."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
from itertools import count, tee
from typing import NamedTuple

import msgspec

from rota.core.chain import MAX_DEPTH, After, ChainOn
from rota.core.decision import Moment, Source
from rota.core.definition import Definition
from rota.core.governor import decide
from rota.core.job import JobState
from rota.core.quiet import QuietPolicy, quiet_end
from rota.core.schedule import Every, Wall
from rota.operations.foreseeing import foreseen_times
from rota.operations.simulation.habits import Habit
from rota.ports.records import JobRecord, definition_of, instant_or_none, job_state

Times = Iterator[tuple[datetime, str]]


class Subject(NamedTuple):
    """A job as it is simulated."""

    record: JobRecord
    definition: Definition
    state: JobState
    habit: Habit

    @property
    def name(self) -> str:
        return self.record.name


class Occurrence(NamedTuple):
    """A time at which a job is due, or at which a run of another job makes it run."""

    at: datetime
    place: int
    """Of its job among the subjects."""
    is_skipped: bool
    is_moved: bool


class _Coming(NamedTuple):
    at: datetime
    order: int
    place: int
    depth: int
    source: str


def subject(now: datetime, record: JobRecord, habit: Habit) -> Subject:
    """A job with a plan that is not in the past: a run under way ends as usual, what is overdue is decided again."""
    state = job_state(record)
    planned = state.planned
    if planned is not None and planned.source is Source.AFTER_RUN:
        started = instant_or_none(record.live_started_at) or now
        ended = max(now, started + habit.length)
        settled = msgspec.structs.replace(state, is_running=False, planned=None, last_completed_at=ended)
        state = msgspec.structs.replace(settled, planned=decide(ended, settled, moment=Moment.SETTLED))
    elif planned is not None and planned.next_run_at is not None and planned.next_run_at < now:
        unplanned = msgspec.structs.replace(state, planned=None)
        state = msgspec.structs.replace(unplanned, planned=decide(now, unplanned))
    return Subject(record, definition_of(record.definition), state, habit)


class Course:
    """Gives occurrences one after the other."""

    def __init__(self, now: datetime, subjects: Sequence[Subject]) -> None:
        self._subjects = subjects
        self._children = _children(subjects)
        self._order = count()
        self._coming: list[_Coming] = []
        self._times = _all_times(now, subjects)
        for index in range(len(subjects)):
            self._plan_next(index)

    def until(self, end: datetime) -> Iterator[Occurrence]:
        """Everything before an end, in order."""
        while self._coming and self._coming[0].at < end:
            coming = heapq.heappop(self._coming)
            if coming.depth == 0:
                self._plan_next(coming.place)
            if self._is_only_replanned(coming):
                continue
            is_skipped = coming.depth == 0 and _is_skipped(self._subjects[coming.place], coming.at)
            if not is_skipped:
                self._fire_children(coming)
            yield Occurrence(coming.at, coming.place, is_skipped, coming.source == Source.QUIET)

    def _plan_next(self, index: int) -> None:
        following = next(self._times[index], None)
        if following is not None:
            at, source = following
            heapq.heappush(self._coming, _Coming(at, next(self._order), index, 0, source))

    def _is_only_replanned(self, coming: _Coming) -> bool:
        # The end of a pause is a due time for intervals only; cron and calendar go on to their next match.
        schedule = self._subjects[coming.place].definition.timing.schedule
        return coming.source == Source.PAUSED and not isinstance(schedule, Every)

    def _fire_children(self, parent: _Coming) -> None:
        children = self._children.get(parent.place, ()) if parent.depth < MAX_DEPTH else ()
        for index, delay in children:
            try:
                at = parent.at + self._subjects[parent.place].habit.length + delay
            except OverflowError:
                continue
            heapq.heappush(self._coming, _Coming(at, next(self._order), index, parent.depth + 1, "chain"))


def _children(subjects: Sequence[Subject]) -> Mapping[int, list[tuple[int, timedelta]]]:
    """The places of the jobs that each job makes run when it succeeds, and how much later."""
    places = {subject.name: index for index, subject in enumerate(subjects)}
    children: dict[int, list[tuple[int, timedelta]]] = {}
    for index, one in enumerate(subjects):
        schedule = one.definition.timing.schedule
        if isinstance(schedule, After) and schedule.on is not ChainOn.FAILURE and schedule.job in places:
            children.setdefault(places[schedule.job], []).append((index, schedule.delay))
    return children


def _all_times(now: datetime, subjects: Sequence[Subject]) -> list[Times]:
    """The due times of each; jobs alike share them."""
    shared: dict[object, Times] = {}
    times = []
    for one in subjects:
        kind = _kind(one)
        if kind not in shared:
            (shared[kind],) = tee(foreseen_times(now, one.state, duration=one.habit.length), 1)
        times.append(copy(shared[kind]))
    return times


def _kind(subject: Subject) -> object:
    """What the due times of a job follow from; for cron and calendar that is often the timing alone."""
    state, timing = subject.state, subject.state.timing
    is_plain = (
        isinstance(timing.schedule, Wall)
        and not (state.hints or state.failure_count or state.paused_until)
        and not (timing.max_runs or timing.min_interval or timing.max_interval)
    )
    if not is_plain or state.planned is None or not state.is_active:
        return subject.record.id
    name = state.name if timing.stagger else ""
    planned = (state.planned.next_run_at, state.planned.match_at, state.planned.source)
    return timing, planned, name, subject.habit.length


def _is_skipped(subject: Subject, at: datetime) -> bool:
    timing = subject.definition.timing
    if not timing.quiet or timing.quiet_policy is not QuietPolicy.SKIP:
        return False
    return quiet_end(at, timing.quiet, timing.zone) is not None
