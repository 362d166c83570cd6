"""Runs: why they exist, in which order they start, and the table of states they may move through."""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum, StrEnum

import msgspec

from rota.core.usage import Usage
from rota.errors import RunStateError


class Cause(StrEnum):
    SCHEDULE = "schedule"
    MANUAL = "manual"
    RETRY = "retry"
    CHAIN = "chain"
    WEBHOOK = "webhook"
    CHAT = "chat"
    CATCH_UP = "catch_up"
    BACKFILL = "backfill"
    WAKE = "wake"


class Priority(IntEnum):
    """Lower starts first."""

    MANUAL = 0
    SCHEDULED = 1
    CORRECTIVE = 2


class RunState(StrEnum):
    HELD = "held"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PERMANENT_FAILURE = "permanent_failure"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    LOST = "lost"
    SKIPPED = "skipped"
    MISSED = "missed"


LIVE = frozenset({RunState.HELD, RunState.QUEUED, RunState.RUNNING})
ENDED = frozenset(RunState) - LIVE
FAILURES = frozenset({RunState.FAILED, RunState.PERMANENT_FAILURE, RunState.TIMED_OUT, RunState.LOST})

# What a run may become; None is a run that does not exist yet.
TRANSITIONS: dict[RunState | None, frozenset[RunState]] = {
    None: frozenset({RunState.HELD, RunState.QUEUED, RunState.RUNNING, RunState.SKIPPED, RunState.MISSED}),
    RunState.HELD: frozenset({RunState.QUEUED, RunState.CANCELLED}),
    RunState.QUEUED: frozenset(
        {
            RunState.RUNNING,
            RunState.CANCELLED,
            RunState.MISSED,
            RunState.SKIPPED,
            RunState.PERMANENT_FAILURE,
        }
    ),
    RunState.RUNNING: frozenset(
        {
            RunState.QUEUED,
            RunState.SUCCEEDED,
            RunState.FAILED,
            RunState.PERMANENT_FAILURE,
            RunState.TIMED_OUT,
            RunState.CANCELLED,
            RunState.LOST,
            RunState.SKIPPED,
        }
    ),
}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt. What the pure functions need to know of it; the store keeps the rest beside it."""

    id: str
    job: str
    cause: Cause
    origin: Cause
    """The cause of the first attempt: a retry belongs to what it retries."""
    state: RunState
    attempt: int = 1
    depth: int = 0
    """How many chained parents stand above this run."""
    due_at: datetime | None = None
    requested_at: datetime
    start_after: datetime | None = None
    started_at: datetime | None = None
    usage: Usage = Usage()


def may_become(current: RunState | None, target: RunState) -> bool:
    """Whether the table of states leads from one to the other."""
    return target in TRANSITIONS.get(current, frozenset())


def transition(current: RunState | None, target: RunState) -> RunState:
    """The new state of a run, or an error that lists what was possible."""
    if not may_become(current, target):
        allowed = TRANSITIONS.get(current, frozenset())
        raise RunStateError(current, target, allowed=tuple(sorted(allowed)))
    return target


def priority(cause: Cause) -> Priority:
    """Manual and chat first, retries and backfill last, everything else between."""
    match cause:
        case Cause.MANUAL | Cause.CHAT:
            return Priority.MANUAL
        case Cause.RETRY | Cause.BACKFILL:
            return Priority.CORRECTIVE
        case _:
            return Priority.SCHEDULED


def queue_order(run: Run) -> tuple[Priority, datetime, str]:
    """The sort key of the queue: priority, then due time (else the time of the request), then id."""
    return priority(run.cause), run.due_at or run.requested_at, run.id


def moves_schedule(origin: Cause) -> bool:
    """Whether the end of such a run is the completion that an interval counts from."""
    return origin in (Cause.SCHEDULE, Cause.CATCH_UP)
