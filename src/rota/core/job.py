"""Jobs: the part of a definition that decides time, and the state that moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

import msgspec

from rota.core.backoff import Backoff, NoBackoff, check_backoff
from rota.core.chain import After, check_after
from rota.core.decision import Decision, Source
from rota.core.duration import MAX_DURATION
from rota.core.hint import AnyHint, PauseHint, active_hints
from rota.core.quiet import Quiet, QuietPolicy, check_quiet
from rota.core.schedule import LAST_INSTANT, Every, Once, Schedule, Wall, check_jitter, check_schedule
from rota.core.zone import in_utc, zone_named
from rota.errors import ScheduleError

# A pause without an end.
FOREVER = LAST_INSTANT


class JobStatus(StrEnum):
    IDLE = "idle"
    RUNNING = "running"
    DISABLED = "disabled"
    PAUSED = "paused"
    PROPOSED = "proposed"
    ENDED = "ended"


class Timing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything in a job's definition that the governor reads."""

    schedule: Schedule
    zone: str = "UTC"
    begins_at: datetime | None = msgspec.field(default=None, name="from")
    until: datetime | None = None
    max_runs: int | None = None
    quiet: tuple[Quiet, ...] = ()
    quiet_policy: QuietPolicy = QuietPolicy.SKIP
    stagger: timedelta = timedelta()
    jitter: float = 0.0
    min_interval: timedelta | None = None
    max_interval: timedelta | None = None
    backoff: Backoff = NoBackoff()


class JobState(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision is made from: the definition's timing and where the job stands."""

    name: str
    timing: Timing
    created_at: datetime
    scheduled_at: datetime
    """Since when the present schedule holds: the creation, or the last edit of the schedule."""
    is_enabled: bool = True
    is_proposed: bool = False
    is_from_file: bool = False
    """Whether the definition stands in a fleet file, which alone can take the job away."""
    is_running: bool = False
    """Whether a run that the schedule counts from is under way."""
    planned: Decision | None = None
    fired_until: datetime | None = None
    """The high-water mark: every appointment up to here, before stagger moved it, has been fired or recorded."""
    last_completed_at: datetime | None = None
    failure_count: int = 0
    lost_count: int = 0
    """Runs since the last success that took their worker with them."""
    started_count: int = 0
    """Scheduled occurrences that were started, for ``max_runs``."""
    hints: tuple[AnyHint, ...] = ()
    paused_until: datetime | None = None

    def __post_init__(self) -> None:
        for field in _INSTANTS:
            at = getattr(self, field)
            if at is not None and at.tzinfo is not UTC:
                msgspec.structs.force_setattr(self, field, in_utc(at, field=field))

    @property
    def is_active(self) -> bool:
        """Whether the schedule counts: neither disabled nor still waiting for a person to accept the job."""
        return self.is_enabled and not self.is_proposed


_INSTANTS = ("created_at", "scheduled_at", "fired_until", "last_completed_at", "paused_until")


def takes_hints(timing: Timing) -> bool:
    """Hints and clamps apply to intervals, cron and calendar; a single appointment is nobody's to move."""
    return isinstance(timing.schedule, Every | Wall)


def pause_end(now: datetime, state: JobState) -> datetime | None:
    """When the pause that holds now is over: the later of a person's and a hint's; none when nothing holds."""
    hints = active_hints(state.hints, now) if takes_hints(state.timing) else ()
    pauses = [hint.pause_until for hint in hints if isinstance(hint, PauseHint)]
    if state.paused_until is not None:
        pauses.append(state.paused_until)
    return max((end for end in pauses if end > now), default=None)


def job_status(now: datetime, state: JobState) -> JobStatus:
    """The one word for where a job stands; what a person decided comes before what the engine does."""
    if state.is_proposed:
        return JobStatus.PROPOSED
    if not state.is_enabled:
        return JobStatus.DISABLED
    if pause_end(now, state) is not None:
        return JobStatus.PAUSED
    if state.is_running:
        return JobStatus.RUNNING
    has_due_times = isinstance(state.timing.schedule, Once | Every | Wall)
    if has_due_times and state.planned is not None and state.planned.source is Source.NONE:
        return JobStatus.ENDED
    return JobStatus.IDLE


def check_timing(timing: Timing) -> tuple[str, ...]:
    """Raise on the first thing that could never work; return what a person should be warned of."""
    warnings = check_schedule(timing.schedule)
    zone_named(timing.zone)
    check_quiet(timing.quiet)
    check_backoff(timing.backoff)
    if isinstance(timing.schedule, After):
        check_after(timing.schedule)
    _check_life(timing)
    _check_spread(timing)
    _check_clamps(timing)
    return warnings


def _check_life(timing: Timing) -> None:
    if timing.max_runs is not None and timing.max_runs < 1:
        raise ScheduleError(field="max_runs", value=str(timing.max_runs), expected="a number from 1", example="10")
    for field, at in (("from", timing.begins_at), ("until", timing.until)):
        if at is not None:
            in_utc(at, field=field)
    if timing.begins_at and timing.until and timing.until < timing.begins_at:
        raise ScheduleError(
            field="until",
            value=timing.until.isoformat(),
            expected=f"a time after from ({timing.begins_at.isoformat()})",
            example="2026-12-31T23:59",
        )


def _check_spread(timing: Timing) -> None:
    check_jitter(timing.jitter)
    if not timedelta() <= timing.stagger <= MAX_DURATION:
        raise ScheduleError(
            field="stagger", value=str(timing.stagger), expected="a duration from zero to 36525d", example="2m"
        )


def _check_clamps(timing: Timing) -> None:
    for field, limit in (("min_interval", timing.min_interval), ("max_interval", timing.max_interval)):
        if limit is not None and not timedelta() < limit <= MAX_DURATION:
            raise ScheduleError(field=field, value=str(limit), expected="more than zero, at most 36525d", example="5m")
    if timing.min_interval and timing.max_interval and timing.min_interval > timing.max_interval:
        raise ScheduleError(
            field="min_interval",
            value=str(timing.min_interval),
            expected=f"at most max_interval ({timing.max_interval})",
            example="min_interval: 1m, max_interval: 1h",
        )
