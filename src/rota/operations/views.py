"""What every door shows: the same fields with the same words, times as instants."""

from __future__ import annotations

from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from rota.core.admission import Skip
from rota.core.decision import Step, describe
from rota.core.job import FOREVER, job_status
from rota.core.run import priority
from rota.core.schedule import format_schedule, schedule_type
from rota.core.usage import Usage
from rota.ledger.requests import Requested
from rota.operations.foreseeing import coming_decision
from rota.operations.inputs import Instant
from rota.ports.glances import MarkRecord
from rota.ports.records import (
    JobRecord,
    OutputRecord,
    RunRecord,
    WorkerRecord,
    definition_of,
    instant,
    instant_or_none,
    job_state,
    last_completed_at,
    origin_of,
    run_of,
    trail_of,
)

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Some of many. ``next`` is the ``after`` of the page that follows; none on the last one."""

    items: tuple[T, ...]
    next: str | None = None


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job and where it stands."""

    id: str
    name: str
    agent: str | None
    fleet: str | None
    file: str | None
    line: int | None
    status: str
    schedule: str
    type: str
    timezone: str
    next_run_at: Instant | None
    source: str
    last_run_at: Instant | None
    last_completed_at: Instant | None
    last_error: str | None
    failure_count: int
    paused_until: Instant | None
    pause_note: str | None
    description: str
    version: int


class RunMark(msgspec.Struct, frozen=True, kw_only=True):
    """A run as a mark among many: what a strip or a timeline shows of it."""

    id: str
    job: str
    job_id: str
    state: str
    cause: str
    attempt: int
    due_at: Instant | None
    requested_at: Instant
    started_at: Instant | None
    ended_at: Instant | None
    reason: str | None
    count: int
    """How many due times in a row this row stands for."""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a list."""

    id: str
    job: str
    job_id: str
    agent: str | None
    state: str
    cause: str
    attempt: int
    due_at: Instant | None
    requested_at: Instant
    queued_at: Instant | None
    started_at: Instant | None
    ended_at: Instant | None
    duration: float | None
    """Seconds from the start to the end."""
    reason: str | None
    error: str | None
    exit_code: int | None
    http_status: int | None
    count: int
    """How many due times in a row this row stands for: more than one only for skipped and missed ones."""
    last_due_at: Instant | None
    worker: str | None


class RunDetail(RunView, frozen=True, kw_only=True):
    """A run with everything that is kept of it."""

    priority: int
    origin: str
    depth: int
    parent_id: str | None
    pool: str
    concurrency_key: str | None
    start_after: Instant | None
    source: str | None
    trail: tuple[Step, ...]
    why: tuple[str, ...]
    waits_for: tuple[str, ...]
    note: str | None
    result: object
    response: str | None
    input: str | None
    usage: Usage
    trace_id: str | None
    token: int | None


class RequestedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run that was asked for. One that is not new was asked for before, with the same key."""

    run_id: str
    is_new: bool
    is_skipped: bool
    reason: str | None


class OutputView(msgspec.Struct, frozen=True):
    """A piece of a run's output. ``sequence`` goes up from piece to piece; a cut leaves a gap.

    Where something may be cut, one number is kept free for the piece that says how much is missing.
    """

    sequence: int
    stream: str
    written_at: Instant
    text: str


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    host: str
    pid: int
    version: str
    status: str
    running: int
    started_at: Instant
    beat_at: Instant
    lease_until: Instant
    ended_at: Instant | None


class Why(msgspec.Struct, frozen=True):
    """An explanation, a line a step."""

    lines: tuple[str, ...]


def job_fields(now: datetime, record: JobRecord) -> dict[str, object]:
    """The fields of a ``JobView``, for those that have more of their own."""
    state = job_state(record)
    definition = definition_of(record.definition)
    origin = origin_of(record)
    is_paused = state.paused_until is not None and state.paused_until > now
    plan = coming_decision(now, state)
    return {
        "id": record.id,
        "name": record.name,
        "agent": record.agent,
        "fleet": record.fleet,
        "file": origin.file if origin else None,
        "line": origin.line if origin else None,
        "status": job_status(now, state).value,
        "schedule": format_schedule(definition.timing.schedule),
        "type": schedule_type(definition.timing.schedule),
        "timezone": definition.timing.zone,
        "next_run_at": plan.next_run_at if plan else None,
        "source": plan.source.value if plan else record.source,
        "last_run_at": instant_or_none(record.live_started_at),
        "last_completed_at": instant_or_none(last_completed_at(record)),
        "last_error": record.last_error,
        "failure_count": record.failure_count,
        "paused_until": state.paused_until if is_paused and state.paused_until != FOREVER else None,
        "pause_note": record.pause_note if is_paused else None,
        "description": definition.description,
        "version": record.version,
    }


def job_view(now: datetime, record: JobRecord) -> JobView:
    return JobView(**job_fields(now, record))  # type: ignore[arg-type] # each by its own type


def run_mark(record: MarkRecord) -> RunMark:
    return RunMark(
        id=record.id,
        job=record.job,
        job_id=record.job_id,
        state=record.state,
        cause=record.cause,
        attempt=record.attempt,
        due_at=instant_or_none(record.due_at),
        requested_at=instant(record.requested_at),
        started_at=instant_or_none(record.started_at),
        ended_at=instant_or_none(record.ended_at),
        reason=record.reason,
        count=record.folded or 1,
    )


def _run_fields(record: RunRecord) -> dict[str, object]:
    is_timed = record.started_at is not None and record.ended_at is not None
    return {
        "id": record.id,
        "job": record.job,
        "job_id": record.job_id,
        "agent": record.agent,
        "state": record.state,
        "cause": record.cause,
        "attempt": record.attempt,
        "due_at": instant_or_none(record.due_at),
        "requested_at": instant(record.requested_at),
        "queued_at": instant_or_none(record.queued_at),
        "started_at": instant_or_none(record.started_at),
        "ended_at": instant_or_none(record.ended_at),
        "duration": ((record.ended_at or 0) - (record.started_at or 0)) / 1e6 if is_timed else None,
        "reason": record.reason,
        "error": record.error,
        "exit_code": record.exit_code,
        "http_status": record.http_status,
        "count": record.folded or 1,
        "last_due_at": instant_or_none(record.last_due_at),
        "worker": record.worker,
    }


def run_view(record: RunRecord) -> RunView:
    return RunView(**_run_fields(record))  # type: ignore[arg-type] # each by its own type


def run_detail(record: RunRecord, *, waits_for: tuple[str, ...] = ()) -> RunDetail:
    run = run_of(record)
    rest = {
        "priority": int(priority(run.cause)),
        "origin": record.origin,
        "depth": record.depth,
        "parent_id": record.parent_id,
        "pool": record.pool,
        "concurrency_key": record.concurrency_key,
        "start_after": instant_or_none(record.start_after),
        "source": record.source,
        "trail": trail_of(record.trail),
        "why": why_run(record),
        "waits_for": waits_for,
        "note": record.note,
        "result": msgspec.json.decode(record.result) if record.result else None,
        "response": record.response,
        "input": record.input,
        "usage": run.usage,
        "trace_id": record.trace_id,
        "token": record.token,
    }
    return RunDetail(**(_run_fields(record) | rest))  # type: ignore[arg-type] # each by its own type


def why_run(run: RunRecord) -> tuple[str, ...]:
    """Why a run happened, and how it ended, a line a step."""
    cause = f"cause: {run.cause}" + (f" (attempt {run.attempt} of {run.origin})" if run.attempt > 1 else "")
    end = f"{run.state}" + (f": {run.reason}" if run.reason else "") + (f", {run.error}" if run.error else "")
    return (cause, *describe(trail_of(run.trail)), end)


def requested_view(requested: Requested) -> RequestedRun:
    skip = requested.admission if isinstance(requested.admission, Skip) else None
    return RequestedRun(
        run_id=requested.run_id,
        is_new=requested.is_new,
        is_skipped=skip is not None,
        reason=None if skip is None else skip.reason,
    )


def output_view(record: OutputRecord) -> OutputView:
    return OutputView(record.sequence, record.stream, instant(record.written_at), record.text)


def worker_view(record: WorkerRecord) -> WorkerView:
    return WorkerView(
        id=record.id,
        host=record.host,
        pid=record.pid,
        version=record.version,
        status=record.status,
        running=record.running,
        started_at=instant(record.started_at),
        beat_at=instant(record.beat_at),
        lease_until=instant(record.lease_until),
        ended_at=instant_or_none(record.ended_at),
    )
