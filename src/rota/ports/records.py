"""What passes between the store and the engine: rows as they are kept, instants as microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TypeVar

import msgspec

from rota.core.decision import Decision, Source, Step
from rota.core.definition import Definition
from rota.core.hint import AnyHint
from rota.core.job import FOREVER, JobState
from rota.core.overlap import LiveRuns
from rota.core.run import Cause, Run, RunState, moves_schedule
from rota.core.usage import Usage

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class JobRecord(msgspec.Struct, frozen=True, gc=False):
    """A job, its plan, and the latest run that took its turn."""

    id: str
    name: str
    agent: str | None
    definition: str
    version: int
    is_enabled: int
    is_proposed: int
    created_at: int
    scheduled_at: int
    next_run_at: int | None
    source: str
    trail: str
    redecide_at: int | None
    match_at: int | None
    fired_until: int | None
    is_running: int
    last_completed_at: int | None
    failure_count: int
    lost_count: int
    started_count: int
    paused_until: int | None
    pause_note: str | None
    last_error: str | None
    hints: str
    last_fold: str | None
    live_run: str | None
    live_state: str | None
    live_origin: str | None
    live_started_at: int | None
    live_ended_at: int | None
    fleet: str | None
    origin: str | None


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The file and line that a job's definition comes from, and what the file said of its state when last applied."""

    file: str
    line: int
    is_enabled: bool = True
    wait: str | None = None
    """The ``in:`` of a job that runs once: counted from when the file was first applied."""


class RunRecord(msgspec.Struct, frozen=True, gc=False):
    """A run with everything that is kept of it. In a list, what may be long is not read."""

    id: str
    job_id: str
    job: str
    agent: str | None
    cause: str
    origin: str
    attempt: int
    depth: int
    parent_id: str | None
    pool: str
    concurrency_key: str | None
    state: str
    due_at: int | None
    last_due_at: int | None
    folded: int | None
    requested_at: int
    start_after: int | None
    queued_at: int | None
    claimed_at: int | None
    started_at: int | None
    ended_at: int | None
    source: str | None
    trail: str | None
    reason: str | None
    error: str | None
    note: str | None
    exit_code: int | None
    http_status: int | None
    result: str | None
    response: str | None
    input: str | None
    usage: str | None
    trace_id: str | None
    worker: str | None
    token: int | None
    cancel: str | None


class KindRecord(msgspec.Struct, frozen=True, gc=False):
    """Runs that are alike in all that one counts them by, and how many they are."""

    job_id: str
    job: str
    agent: str | None
    state: str
    cause: str
    count: int


class WaitingRecord(msgspec.Struct, frozen=True, gc=False):
    """A row of the queue."""

    pool: str
    priority: int
    start_after: int
    run_id: str
    job_id: str
    agent: str | None
    concurrency_key: str | None
    cause: str
    may_overlap: int
    is_held: int
    expires_at: int | None

    @property
    def key(self) -> tuple[str, int, int, str]:
        return self.pool, self.priority, self.start_after, self.run_id


class SlotRecord(msgspec.Struct, frozen=True, gc=False):
    """A limit and how much of it is taken; no size is no limit."""

    scope: str
    name: str
    size: int | None
    used: int


class WorkerRecord(msgspec.Struct, frozen=True):
    id: str
    host: str
    boot_id: str
    pid: int
    process_started_at: int
    version: str
    status: str
    running: int
    started_at: int
    beat_at: int
    lease_until: int
    ended_at: int | None


class LeaseRecord(msgspec.Struct, frozen=True):
    token: int
    worker: str
    run_ids: str


class OutputRecord(msgspec.Struct, frozen=True):
    sequence: int
    stream: str
    written_at: int
    text: str


class OutputSize(msgspec.Struct, frozen=True):
    sequence: int
    size: int


class EventRecord(msgspec.Struct, frozen=True):
    id: str
    at: int
    entries: str


class FleetRecord(msgspec.Struct, frozen=True):
    """What was last applied from a file."""

    name: str
    file: str
    description: str
    timezone: str
    pools: str
    checksum: str
    applied_at: int


class AgentRecord(msgspec.Struct, frozen=True):
    """An agent that a fleet file speaks of."""

    name: str
    fleet: str
    line: int
    description: str
    timezone: str | None
    max_concurrent: int | None


class TokenRecord(msgspec.Struct, frozen=True):
    """Who may come in, by the hash of the secret."""

    id: str
    name: str
    role: str
    hash: str
    made_at: int
    made_by: str
    expires_at: int | None
    revoked_at: int | None
    used_at: int | None
    kind: str
    parent: str | None


class AuditRecord(msgspec.Struct, frozen=True):
    id: str
    at: int
    caller: str
    door: str
    operation: str
    subject: str
    before: str | None
    after: str | None


_definitions = msgspec.json.Decoder(Definition)
_origins = msgspec.json.Decoder(Origin)
_hints = msgspec.json.Decoder(tuple[AnyHint, ...])
_trails = msgspec.json.Decoder(tuple[Step, ...])
_usages = msgspec.json.Decoder(Usage)
_encoder = msgspec.json.Encoder()


def micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def micros_or_none(at: datetime | None) -> int | None:
    return None if at is None else (at - _EPOCH) // _MICROSECOND


def instant(at: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at)


def instant_or_none(at: int | None) -> datetime | None:
    return None if at is None else _EPOCH + timedelta(microseconds=at)


def recorded_at(run_id: str) -> datetime:
    """When a run was put on record: its id begins with that."""
    return instant(int(run_id[4:18], 16))


def first_id(at: datetime) -> str:
    """What comes before the ids of all runs that are put on record from an instant on."""
    return f"run_{max(0, micros(at)):014x}"


@lru_cache(maxsize=200_000)
def definition_of(text: str) -> Definition:
    """A definition from its text; jobs keep theirs for long, so each is read once, and equal parts are one object."""
    definition = _definitions.decode(text)
    return msgspec.structs.replace(
        definition,
        timing=_one(definition.timing),
        late=_one(definition.late),
        overlap=_one(definition.overlap),
        settle=_one(definition.settle),
    )


@lru_cache(maxsize=100_000)
def _one(part: T) -> T:
    return part


def encode(value: object) -> str:
    return _encoder.encode(value).decode()


def trail_of(text: str | None) -> tuple[Step, ...]:
    return _trails.decode(text) if text else ()


def origin_of(record: JobRecord) -> Origin | None:
    return None if record.origin is None else _origins.decode(record.origin)


def hints_of(text: str) -> tuple[AnyHint, ...]:
    return () if text == "[]" else _hints.decode(text)


def is_live(record: JobRecord) -> bool:
    """Whether the latest run that took the job's turn has not ended."""
    return record.live_run is not None and record.live_state is not None and record.live_ended_at is None


def _is_scheduled(record: JobRecord) -> bool:
    return record.live_origin is not None and moves_schedule(Cause(record.live_origin))


def last_completed_at(record: JobRecord) -> int | None:
    """The end of the schedule's last run. A plain success leaves it to the run's own row."""
    if record.live_ended_at is None or not _is_scheduled(record):
        return record.last_completed_at
    return max(record.live_ended_at, record.last_completed_at or 0)


def job_state(record: JobRecord) -> JobState:
    """What the pure functions see of a stored job. The trail of its plan stays text until a person asks for it."""
    is_running = record.is_running == 1 and is_live(record) and _is_scheduled(record)
    return JobState(
        name=record.name,
        timing=definition_of(record.definition).timing,
        created_at=instant(record.created_at),
        scheduled_at=instant(record.scheduled_at),
        is_enabled=record.is_enabled == 1 and record.is_proposed == 0,
        is_proposed=record.is_proposed == 1,
        is_from_file=record.fleet is not None,
        is_running=is_running,
        planned=Decision(
            instant_or_none(record.next_run_at),
            Source(record.source),
            redecide_at=instant_or_none(record.redecide_at),
            match_at=instant_or_none(record.match_at),
        ),
        fired_until=instant_or_none(record.fired_until),
        last_completed_at=instant_or_none(last_completed_at(record)),
        failure_count=record.failure_count,
        lost_count=record.lost_count,
        started_count=record.started_count,
        hints=hints_of(record.hints),
        paused_until=paused_until(record.paused_until),
    )


def paused_until(at: int | None) -> datetime | None:
    """A pause without an end is kept as the last instant there is."""
    return None if at is None else min(_EPOCH + timedelta(microseconds=at), FOREVER)


def live_runs(record: JobRecord, waiting: Sequence[WaitingRecord]) -> LiveRuns:
    retries = sum(row.cause == Cause.RETRY for row in waiting)
    running = int(record.live_state == RunState.RUNNING)
    return LiveRuns(running, len(waiting) - retries, retries)


def run_of(record: RunRecord) -> Run:
    return Run(
        id=record.id,
        job=record.job,
        cause=Cause(record.cause),
        origin=Cause(record.origin),
        state=RunState(record.state),
        attempt=record.attempt,
        depth=record.depth,
        due_at=instant_or_none(record.due_at),
        requested_at=instant(record.requested_at),
        start_after=instant_or_none(record.start_after),
        started_at=instant_or_none(record.started_at),
        usage=_usages.decode(record.usage) if record.usage else Usage(),
    )
