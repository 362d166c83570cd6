"""What the overview shows."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from rota.operations.coming import ComingTime
from rota.operations.inputs import Instant
from rota.operations.limits import LimitView
from rota.operations.views import WorkerView


class Severity(StrEnum):
    BAD = "bad"
    """Work is not done that should be."""
    WARN = "warn"
    """Somebody should look at it."""


class ProblemKind(StrEnum):
    """What can be wrong, the worst first."""

    STALLED = "stalled"
    """Something is planned or waits, and no worker is alive."""
    WORKER_DEAD = "worker_dead"
    LATE = "late"
    """A due time has passed, and nobody has fired it."""
    MISSED = "missed"
    FAILING = "failing"
    STREAK_PAUSED = "streak_paused"
    """Paused by Rota itself, after a streak of failures."""
    SILENT = "silent"
    HELD = "held"
    WAITING = "waiting"
    """A run has waited for longer than an hour."""


class ProblemView(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is wrong now, and what helps."""

    kind: ProblemKind
    severity: Severity
    job: str | None = None
    run_id: str | None = None
    worker: str | None = None
    since: Instant | None = None
    message: str
    cure: str
    command: str
    """A line to type that helps."""


class QueueDepth(msgspec.Struct, frozen=True):
    """How many runs wait with a priority, over all pools."""

    priority: str
    depth: int


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong now, the worst first, and how much there is of everything else."""

    problems: tuple[ProblemView, ...]
    left_out: int
    """Problems beyond those that are shown."""
    running: int
    queue: tuple[QueueDepth, ...]
    slots: tuple[LimitView, ...]
    workers: tuple[WorkerView, ...]
    """Those that have not ended."""
    coming: tuple[ComingTime, ...]
    jobs: int
    paused: int
    failing: int
