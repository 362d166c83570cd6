"""The tally of a simulation: what its occurrences come to, by job, by hour and by limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from rota.core.chain import After, ChainOn
from rota.core.duration import format_duration
from rota.core.job import FOREVER, pause_end
from rota.core.schedule import Every, Once, Wall, format_schedule
from rota.core.words import ClockChangeNight, clock_change_nights, in_words
from rota.core.zone import clock_changes, zone_named
from rota.operations.simulation.collisions import SHORTEST, SHOWN, bursts, collisions, lanes
from rota.operations.simulation.course import Occurrence, Subject
from rota.operations.simulation.views import (
    ClockChangeEffect,
    CostForecast,
    HourLoad,
    JobForecast,
    QuietTime,
    Simulation,
    Totals,
)
from rota.ports.records import SlotRecord

_HOUR = timedelta(hours=1)
_QUIET_SHOWN = 200
_JOBS_SHOWN = 20


class _Sum:
    """What one job comes to."""

    __slots__ = ("count", "first", "last", "moved", "skipped")

    def __init__(self) -> None:
        self.count = self.moved = self.skipped = 0
        self.first: datetime | None = None
        self.last: datetime | None = None


class Tally:
    """Takes occurrences in the order of time."""

    def __init__(
        self, subjects: Sequence[Subject], slots: Iterable[SlotRecord], begin: datetime, end: datetime
    ) -> None:
        self._subjects = subjects
        self._begin, self._end = begin.astimezone(UTC), end.astimezone(UTC)
        self._first_hour = self._begin.replace(minute=0, second=0, microsecond=0)
        hours = -((self._first_hour - self._end) // _HOUR)
        self._runs, self._busy = [0] * hours, [0.0] * hours
        self._sums = [_Sum() for _ in subjects]
        self._lanes = lanes(subjects, slots)
        self._minutes: dict[datetime, list[int]] = {}
        self._quiet: list[QuietTime] = []

    def add(self, occurrence: Occurrence) -> None:
        at, place = occurrence.at, occurrence.place
        one, total = self._subjects[place], self._sums[place]
        if occurrence.is_skipped or occurrence.is_moved:
            total.skipped += occurrence.is_skipped
            total.moved += occurrence.is_moved
            if len(self._quiet) < _QUIET_SHOWN:
                self._quiet.append(QuietTime(at=at, job=one.name, policy=one.definition.timing.quiet_policy.value))
        if occurrence.is_skipped:
            return
        total.count += 1
        total.first, total.last = total.first or at, at
        self._minutes.setdefault(at.replace(second=0, microsecond=0), []).append(place)
        self._load(at, one.habit.length)
        length = max(one.habit.length, SHORTEST)
        for lane in self._lanes[place]:
            lane.enter(at, at + length, place)

    def _load(self, at: datetime, length: timedelta) -> None:
        hour = (at - self._first_hour) // _HOUR
        self._runs[hour] += 1
        end = min(at + length, self._end)
        while at < end:
            over = min(end, self._first_hour + (hour + 1) * _HOUR)
            self._busy[hour] += (over - at).total_seconds()
            at, hour = over, hour + 1

    def simulation(self, now: datetime, complete_until: datetime) -> Simulation:
        """What it all comes to."""
        used = dict.fromkeys(lane for own in self._lanes for lane in own)
        met = collisions(used, self._subjects)
        rushes = bursts(self._minutes, complete_until - self._begin, self._subjects)
        jobs = tuple(_job(now, one, total) for one, total in zip(self._subjects, self._sums, strict=True))
        return Simulation(
            begin=self._begin,
            end=self._end,
            is_cut=complete_until < self._end,
            complete_until=complete_until,
            totals=Totals(
                jobs=len(jobs),
                runs=sum(self._runs),
                busy_seconds=round(sum(self._busy), 3),
                skipped=sum(job.skipped for job in jobs),
                moved=sum(job.moved for job in jobs),
                collisions=sum(one.times for one in met),
                bursts=sum(one.times for one in rushes),
            ),
            jobs=jobs,
            collisions=tuple(met[:SHOWN]),
            bursts=tuple(rushes[:SHOWN]),
            quiet=tuple(self._quiet),
            clock_changes=_clock_changes(self._subjects, self._begin, complete_until),
            load=self._hours(complete_until),
            cost=_cost(jobs),
        )

    def _hours(self, complete_until: datetime) -> tuple[HourLoad, ...]:
        """Hour by hour; of those that were not looked at nothing is said."""
        hours = (self._first_hour + hour * _HOUR for hour in range(len(self._runs)))
        rows = zip(hours, self._runs, self._busy, strict=True)
        return tuple(HourLoad(at, runs, round(busy, 3)) for at, runs, busy in rows if at < complete_until)


def _job(now: datetime, one: Subject, total: _Sum) -> JobForecast:
    habit = one.habit
    return JobForecast(
        job=one.name,
        agent=one.definition.agent,
        schedule=format_schedule(one.definition.timing.schedule),
        timezone=one.definition.timing.zone,
        count=total.count,
        first=total.first,
        last=total.last,
        typical_seconds=None if habit.duration is None else habit.duration.total_seconds(),
        skipped=total.skipped,
        moved=total.moved,
        cost=habit.cost(total.count),
        tokens=habit.tokens(total.count),
        notes=tuple(_notes(now, one, total)),
    )


def _notes(now: datetime, one: Subject, total: _Sum) -> Iterable[str]:
    schedule, state = one.definition.timing.schedule, one.state
    end = pause_end(now, state)
    if end is not None:
        yield "paused" if end == FOREVER else f"paused until {end.isoformat(sep=' ', timespec='minutes')}"
    if isinstance(schedule, After):
        yield _chained(schedule)
    elif not isinstance(schedule, Once | Every | Wall):
        yield f"{in_words(schedule)}: not foreseen"
    elif not total.count and not total.skipped and end is None:
        yield "no due time in this stretch"
    if state.failure_count and isinstance(schedule, Every | Wall):
        yield f"{state.failure_count} failures in a row: its waits are foreseen as long as they are now"
    if total.count and one.habit.duration is None:
        yield "no successful run yet: how long it takes is not known"


def _chained(after: After) -> str:
    if after.on is ChainOn.FAILURE:
        return f"only when {after.job} fails: not foreseen"
    when = ", and its output always matched" if after.when else ""
    delay = f" {format_duration(after.delay)}" if after.delay else ""
    return f"as if every run of {after.job} succeeded{when}; it follows{delay} after each"


def _clock_changes(subjects: Sequence[Subject], begin: datetime, end: datetime) -> tuple[ClockChangeEffect, ...]:
    """The nights that touch due times, each with the jobs that it touches in the same way."""
    zones = {one.definition.timing.zone for one in subjects}
    changing = {name for name in zones if clock_changes(zone_named(name), after=begin, until=end)}
    nights: dict[object, tuple[ClockChangeNight, ...]] = {}
    touched: dict[tuple[datetime, str, str, str], list[str]] = {}
    for one in subjects:
        timing = one.definition.timing
        if timing.zone not in changing or not one.state.is_active:
            continue
        key = (timing.schedule, timing.zone)
        if key not in nights:
            nights[key] = clock_change_nights(timing.schedule, timing.zone, after=begin, until=end)
        for night in nights[key]:
            at = night.change.changes_at
            if (timing.begins_at is None or timing.begins_at <= at) and (timing.until is None or at <= timing.until):
                touched.setdefault((at, timing.zone, _effect(night), night.in_words), []).append(one.name)
    return tuple(
        ClockChangeEffect(
            at=at,
            timezone=zone,
            effect=effect,
            in_words=words,
            jobs=tuple(names[:_JOBS_SHOWN]),
            job_count=len(names),
        )
        for (at, zone, effect, words), names in sorted(touched.items())
    )


def _effect(night: ClockChangeNight) -> str:
    if night.is_gap:
        return "moved" if night.fires else "dropped"
    return "doubled" if len(night.fires) > len(night.walls) else "once"


def _cost(jobs: Sequence[JobForecast]) -> CostForecast:
    running = [job for job in jobs if job.count]
    known = [job for job in running if job.cost is not None]
    return CostForecast(
        cost=sum((job.cost for job in known if job.cost is not None), Decimal(0)),
        tokens=sum(job.tokens or 0 for job in known),
        known_jobs=len(known),
        unknown_jobs=len(running) - len(known),
    )
