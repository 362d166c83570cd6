"""Admission: may this run of a job begin, and if not, which is the first reason against it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

import msgspec

from rota.core.budget import BudgetVerdict
from rota.core.calendar import Daily, Monthly, Weekly
from rota.core.job import JobState, pause_end
from rota.core.overlap import LiveRuns, OverlapRules, Start, start_beside, supersedes_retry
from rota.core.quiet import quiet_end
from rota.core.run import Cause
from rota.core.schedule import Cron, Every, Once, is_schedule_due


class Reason(StrEnum):
    """Why not, in the order in which it is asked."""

    UNSUPPORTED_TYPE = "unsupported_type"
    DISABLED = "disabled"
    NOT_DUE = "not_due"
    PAUSED = "paused"
    QUIET = "quiet"
    EXPIRED = "expired"
    ALREADY_RUNNING = "already_running"
    OVER_BUDGET = "over_budget"


# These are only ever answers to "why"; the others become rows.
UNRECORDED = frozenset({Reason.UNSUPPORTED_TYPE, Reason.DISABLED, Reason.NOT_DUE})


class Admit(msgspec.Struct, frozen=True):
    start: Start
    supersedes_retry: bool = False


class Skip(msgspec.Struct, frozen=True):
    reason: Reason
    detail: str = ""


Admission = Admit | Skip


class _Request(NamedTuple):
    now: datetime
    state: JobState
    cause: Cause
    due_at: datetime | None
    budget: BudgetVerdict

    @property
    def is_scheduled(self) -> bool:
        return self.cause in (Cause.SCHEDULE, Cause.CATCH_UP)


def admit(
    now: datetime,
    state: JobState,
    *,
    cause: Cause = Cause.SCHEDULE,
    due_at: datetime | None = None,
    live: LiveRuns | None = None,
    overlap: OverlapRules | None = None,
    budget: BudgetVerdict | None = None,
) -> Admission:
    """Whether a run may begin. Asked by hand, only a budget stands in the way."""
    live, overlap = live or LiveRuns(), overlap or OverlapRules()
    request = _Request(now, state, cause, due_at, budget or BudgetVerdict())
    start = start_beside(cause, live, overlap)
    for check in _BEFORE_OVERLAP:
        if (skip := check(request)) is not None:
            return skip
    if start is None:
        return Skip(Reason.ALREADY_RUNNING, f"overlap is {overlap.policy}")
    return _over_budget(request) or Admit(start, supersedes_retry(cause, live))


def _unsupported_type(request: _Request) -> Skip | None:
    if request.is_scheduled and not isinstance(
        request.state.timing.schedule, Once | Every | Cron | Daily | Weekly | Monthly
    ):
        return Skip(Reason.UNSUPPORTED_TYPE, "this type of schedule has no due times of its own")
    return None


def _disabled(request: _Request) -> Skip | None:
    if request.state.is_proposed:
        return Skip(Reason.DISABLED, "proposed: accept the job first")
    if request.cause is Cause.MANUAL or request.state.is_enabled:
        return None
    return Skip(Reason.DISABLED)


def _not_due(request: _Request) -> Skip | None:
    if not request.is_scheduled or is_schedule_due(request.due_at, request.now):
        return None
    return Skip(Reason.NOT_DUE, f"due at {request.due_at.isoformat()}" if request.due_at else "no due time")


def _paused(request: _Request) -> Skip | None:
    until = pause_end(request.now, request.state)
    if request.cause is Cause.MANUAL or until is None:
        return None
    return Skip(Reason.PAUSED, f"until {until.isoformat()}")


def _quiet(request: _Request) -> Skip | None:
    timing = request.state.timing
    if not request.is_scheduled or request.due_at is None:
        return None
    end = quiet_end(request.due_at, timing.quiet, timing.zone)
    return Skip(Reason.QUIET, f"until {end.isoformat()}") if end else None


def _expired(request: _Request) -> Skip | None:
    timing = request.state.timing
    if not request.is_scheduled:
        return None
    if timing.until is not None and request.due_at is not None and request.due_at > timing.until:
        return Skip(Reason.EXPIRED, f"until {timing.until.isoformat()}")
    if timing.max_runs is not None and request.state.started_count >= timing.max_runs:
        return Skip(Reason.EXPIRED, f"max_runs is {timing.max_runs}")
    return None


def _over_budget(request: _Request) -> Skip | None:
    if not request.budget.over:
        return None
    line = request.budget.over[0]
    return Skip(Reason.OVER_BUDGET, f"{line.scope}: {line.spent} of {line.cap} ({line.limit})")


_BEFORE_OVERLAP: tuple[Callable[[_Request], Skip | None], ...] = (
    _unsupported_type,
    _disabled,
    _not_due,
    _paused,
    _quiet,
    _expired,
)
