"""Rows for the store's batches, in the order of their columns."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from rota.core.decision import Decision
from rota.core.firing import Firing
from rota.core.job import JobState
from rota.core.overlap import Overlap
from rota.core.run import Cause, RunState, priority
from rota.ports.records import JobRecord, definition_of, encode, last_completed_at, micros, micros_or_none

Row = tuple[Any, ...]


def wake_at(decision: Decision) -> int | None:
    """When a plan must be looked at again: its next run, or the end of a hint."""
    times = [at for at in (decision.next_run_at, decision.redecide_at) if at is not None]
    return micros(min(times)) if times else None


def decided(decision: Decision) -> Row:
    """The columns of a decision: wake_at, next_run_at, source, trail, redecide_at, match_at."""
    return (
        wake_at(decision),
        micros_or_none(decision.next_run_at),
        decision.source,
        encode(decision.trail),
        micros_or_none(decision.redecide_at),
        micros_or_none(decision.match_at),
    )


def fired_plan(record: JobRecord, columns: Row, firing: Firing, live_run: str) -> Row:
    """A row of ``fire_plans``."""
    return (
        record.id,
        live_run,
        record.started_count + len(firing.runs),
        *columns,
        micros_or_none(firing.state.fired_until),
        last_completed_at(record),
    )


def moved_plan(
    record: JobRecord,
    decision: Decision | None,
    state: JobState,
    *,
    live_run: str | None,
    pause_note: str | None,
    last_error: str | None,
    last_fold: str | None,
) -> Row:
    """A row of ``move_plans``; without a decision the plan stays as it is."""
    kept = (
        _kept_wake(record),
        record.next_run_at,
        record.source,
        record.trail,
        record.redecide_at,
        record.match_at,
    )
    return (
        record.id,
        *(kept if decision is None else decided(decision)),
        micros_or_none(state.fired_until),
        live_run,
        int(state.is_running),
        micros_or_none(state.last_completed_at),
        state.failure_count,
        state.lost_count,
        state.started_count,
        micros_or_none(state.paused_until),
        pause_note,
        last_error,
        encode(state.hints) if state.hints else "[]",
        last_fold,
    )


def _kept_wake(record: JobRecord) -> int | None:
    return min((at for at in (record.next_run_at, record.redecide_at) if at is not None), default=None)


def queue_row(run_id: str, record: JobRecord, *, cause: Cause, start_after: datetime, is_held: bool = False) -> Row:
    """A row of ``enqueue``."""
    definition = definition_of(record.definition)
    expires = start_after + definition.queue_timeout if definition.queue_timeout is not None else None
    return (
        definition.pool,
        int(priority(cause)),
        micros(start_after),
        run_id,
        record.id,
        definition.agent,
        definition.concurrency_key,
        cause,
        int(definition.overlap.policy is Overlap.ALLOW),
        int(is_held),
        micros_or_none(expires),
    )


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``insert_runs``: a run that waits, or one that never began."""

    id: str
    job_id: str
    job: str
    agent: str | None
    cause: Cause
    origin: Cause
    attempt: int = 1
    depth: int = 0
    parent_id: str | None = None
    pool: str
    concurrency_key: str | None
    state: RunState = RunState.QUEUED
    due_at: int | None = None
    last_due_at: int | None = None
    folded: int | None = None
    requested_at: int
    start_after: int | None = None
    queued_at: int | None = None
    ended_at: int | None = None
    source: str | None = None
    trail: str | None = None
    reason: str | None = None
    note: str | None = None
    input: str | None = None
    trace_id: str


def run_row(run_id: str, record: JobRecord, *, now: datetime, cause: Cause, **fields: Any) -> Row:  # noqa: ANN401
    """A new run of a job; ``fields`` are those of ``RunRow``."""
    definition = definition_of(record.definition)
    is_waiting = fields.get("state", RunState.QUEUED) in (RunState.HELD, RunState.QUEUED)
    standard = {
        "job_id": record.id,
        "job": record.name,
        "agent": definition.agent,
        "cause": cause,
        "origin": cause,
        "pool": definition.pool,
        "concurrency_key": definition.concurrency_key,
        "requested_at": micros(now),
        "queued_at": micros(now) if is_waiting else None,
        "ended_at": None if is_waiting else micros(now),
    }
    return msgspec.structs.astuple(RunRow(id=run_id, **(standard | fields)))
