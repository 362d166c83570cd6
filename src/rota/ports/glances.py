"""Narrow rows: what is read where many are looked at. The texts that a run or a plan carries stay where they are."""

from __future__ import annotations

import msgspec


class MarkRecord(msgspec.Struct, frozen=True, gc=False):
    """A run as a mark among many."""

    id: str
    job: str
    job_id: str
    state: str
    cause: str
    attempt: int
    due_at: int | None
    requested_at: int
    started_at: int | None
    ended_at: int | None
    reason: str | None
    folded: int | None


class FailingRecord(msgspec.Struct, frozen=True):
    """A job with failures in a row, or with runs that took their workers with them."""

    job: str
    definition: str
    failure_count: int
    lost_count: int
    last_error: str | None
    paused_until: int | None
    pause_note: str | None
    run_id: str | None
    ended_at: int | None
    """When its latest run ended."""


class MissedRecord(msgspec.Struct, frozen=True):
    """A job whose latest due times were missed, and that has not run since."""

    job: str
    last_fold: str

    @property
    def run_id(self) -> str:
        return self.last_fold.partition("|")[0]


class LateRecord(msgspec.Struct, frozen=True):
    job: str
    next_run_at: int


class SilentRecord(msgspec.Struct, frozen=True):
    """A run under way that showed no sign of life when it was last looked at."""

    run_id: str
    job: str
    worker: str
    started_at: int | None
    written_at: int | None
    """When it last wrote something."""


class HeldRecord(msgspec.Struct, frozen=True):
    run_id: str
    job: str
    since: int


class OldRecord(msgspec.Struct, frozen=True):
    """A run that is old enough to go, and what is kept of it in numbers."""

    id: str
    job_id: str
    state: str
    count: int
    length: int
    """Microseconds from the start to the end."""


class HeartbeatRecord(msgspec.Struct, frozen=True):
    """A run under way, as it was last looked at."""

    worker: str
    run_id: str
    job: str
    agent: str | None
    status: str
    context: str
    last_seen_at: int
    started_at: int | None


class SnapshotRecord(msgspec.Struct, frozen=True):
    """A machine as it was at one moment."""

    worker: str
    taken_at: int
    active_workers: int
    active_agents: int
    running: int
    tmux_sessions: int
    cpu_percent: float
    memory_mb: float
    load: float
    context: str
