"""Jobs: what a person or a program can do with them. Every door calls these."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from rota.core.admission import Skip, admit
from rota.core.decision import Step, describe
from rota.core.definition import Definition, check_definition
from rota.core.job import JobState, job_status
from rota.core.run import Cause
from rota.core.schedule import format_schedule
from rota.errors import ConflictError, NotFoundError
from rota.ledger import jobs as ledger
from rota.ledger.plans import hold_one
from rota.ledger.requests import Requested, request_run
from rota.ledger.site import Site
from rota.operations.preview import coming_times
from rota.ports.records import (
    JobRecord,
    RunRecord,
    definition_of,
    instant,
    instant_or_none,
    job_state,
    last_completed_at,
    live_runs,
    trail_of,
)
from rota.ports.store import Transaction

_PAGE = 1_000


class SavedJob(msgspec.Struct, frozen=True):
    """A job as it was saved, what a person should know about it, and its next due times."""

    id: str
    name: str
    warnings: tuple[str, ...]
    next_times: tuple[datetime, ...]


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job as every door shows it."""

    id: str
    name: str
    agent: str | None
    status: str
    schedule: str
    timezone: str
    next_run_at: datetime | None
    source: str
    last_run_at: datetime | None
    last_completed_at: datetime | None
    last_error: str | None
    failure_count: int
    paused_until: datetime | None
    pause_note: str | None
    trail: tuple[Step, ...] = ()
    definition: Definition | None = None


async def add_job(site: Site, definition: Definition) -> SavedJob:
    """Save a new job."""
    warnings = check_definition(definition)
    now = site.clock.now()
    (job_id,) = await site.store.write(lambda tx: ledger.add_jobs(tx, now, site, [definition]))
    return SavedJob(job_id, definition.name, warnings, _coming_times(now, definition))


async def find_job(site: Site, name: str) -> JobRecord:
    """A job by its name, its id, or the beginning of either if only one has it."""

    async def body(tx: Transaction) -> Sequence[JobRecord]:
        exact = await tx.find_job(name=name)
        return [exact] if exact is not None else await tx.jobs_by_prefix(prefix=name, most=6)

    found = await site.store.read(body)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFoundError(f'There is no job "{name}". See them all: rota job list')
    names = ", ".join(record.name for record in found)
    raise ConflictError(f'"{name}" could be any of these jobs: {names}. Give more of the name.')


async def list_jobs(site: Site) -> list[JobView]:
    """Every job, by name."""

    async def body(tx: Transaction) -> list[JobRecord]:
        records: list[JobRecord] = []
        after = ""
        while page := await tx.jobs(after=after, most=_PAGE):
            records += page
            after = page[-1].name
        return records

    now = site.clock.now()
    return [view(now, record) for record in await site.store.read(body)]


def view(now: datetime, record: JobRecord, *, is_whole: bool = False) -> JobView:
    """A stored job as it is shown."""
    state = job_state(record)
    definition = definition_of(record.definition)
    is_paused = state.paused_until is not None and state.paused_until > now
    return JobView(
        id=record.id,
        name=record.name,
        agent=record.agent,
        status=job_status(now, state),
        schedule=format_schedule(definition.timing.schedule),
        timezone=definition.timing.zone,
        next_run_at=instant_or_none(record.next_run_at),
        source=record.source,
        last_run_at=instant_or_none(record.live_started_at),
        last_completed_at=instant_or_none(last_completed_at(record)),
        last_error=record.last_error,
        failure_count=record.failure_count,
        paused_until=state.paused_until if is_paused else None,
        pause_note=record.pause_note if is_paused else None,
        trail=trail_of(record.trail) if is_whole else (),
        definition=definition if is_whole else None,
    )


async def pause_job(site: Site, name: str, *, until: datetime | None = None, note: str | None = None) -> JobView:
    record, now = await find_job(site, name), site.clock.now()
    await site.store.write(lambda tx: ledger.pause_job(tx, now, site, record, until=until, note=note))
    return view(now, await find_job(site, record.id))


async def resume_job(site: Site, name: str) -> JobView:
    record, now = await find_job(site, name), site.clock.now()
    await site.store.write(lambda tx: ledger.resume_job(tx, now, record))
    return view(now, await find_job(site, record.id))


async def enable_job(site: Site, name: str, *, is_enabled: bool) -> JobView:
    record, now = await find_job(site, name), site.clock.now()
    await site.store.write(lambda tx: ledger.enable_job(tx, now, site, record, is_enabled=is_enabled))
    return view(now, await find_job(site, record.id))


async def edit_job(site: Site, name: str, definition: Definition) -> SavedJob:
    warnings = check_definition(definition)
    record, now = await find_job(site, name), site.clock.now()
    await site.store.write(lambda tx: ledger.edit_job(tx, now, site, record, definition))
    return SavedJob(record.id, definition.name, warnings, _coming_times(now, definition))


def _coming_times(now: datetime, definition: Definition) -> tuple[datetime, ...]:
    state = JobState(name=definition.name, timing=definition.timing, created_at=now, scheduled_at=now)
    return coming_times(now, state, count=5)


async def remove_job(site: Site, name: str) -> str:
    """Remove a job; its history stays. The name of what was removed."""
    record, now = await find_job(site, name), site.clock.now()
    await site.store.write(lambda tx: ledger.take_job_away(tx, now, site, record))
    return record.name


async def run_job(site: Site, name: str, *, key: str | None = None, input_text: str | None = None) -> Requested:
    """Ask for a run now. It jumps the queue and never moves the schedule."""
    record, now = await find_job(site, name), site.clock.now()

    async def body(tx: Transaction) -> Requested:
        fresh = await hold_one(tx, record.id)
        return await request_run(tx, now, site, fresh, key=key, input_text=input_text)

    return await site.store.write(body)


async def why_not(site: Site, name: str, at: datetime) -> tuple[str, ...]:
    """Why a job did not run at a time: what is on record for it, else what the rules say of it."""
    record, now = await find_job(site, name), site.clock.now()
    runs = await site.store.read(lambda tx: tx.runs_of_job(job_id=record.id, before="run_z", most=_PAGE))
    for run in runs:
        first, last = instant_or_none(run.due_at), instant_or_none(run.last_due_at or run.due_at)
        # People give seconds; an interval counts from a moment within one.
        if first is not None and last is not None and first.replace(microsecond=0) <= at <= last:
            detail = f" ({run.folded} times in a row)" if run.folded and run.folded > 1 else ""
            reason = f": {run.reason}" if run.reason else ""
            return (f"{run.id} was due then: {run.state}{reason}{detail}", *describe(trail_of(run.trail)))
    state = job_state(record)
    if at > now:
        return (f"That time is still to come; next: {_next(record)}", *describe(trail_of(record.trail)))
    return (
        f"No due time of {record.name} is on record for then; next: {_next(record)}",
        *_around(runs, at),
        *_rules(state, at, record),
    )


def _around(found: Sequence[RunRecord], at: datetime) -> tuple[str, ...]:
    """The runs on record just before and just after a time."""
    times = [(instant(run.due_at or run.requested_at), run) for run in found]
    before = max((one for one in times if one[0] <= at), key=lambda one: one[0], default=None)
    after = min((one for one in times if one[0] > at), key=lambda one: one[0], default=None)
    return tuple(
        f"The run {word} it: {one[1].id}, {one[0].isoformat(timespec='seconds')}, {one[1].state}"
        for word, one in (("before", before), ("after", after))
        if one is not None
    )


def _next(record: JobRecord) -> str:
    at = instant_or_none(record.next_run_at)
    return at.isoformat() if at else f"none ({record.source})"


def _rules(state: JobState, at: datetime, record: JobRecord) -> tuple[str, ...]:
    answer = admit(
        at,
        state,
        cause=Cause.SCHEDULE,
        due_at=state.planned.next_run_at if state.planned else None,
        live=live_runs(record, ()),
        overlap=definition_of(record.definition).overlap,
    )
    return (
        (f"By the rules: {answer.reason}" + (f" ({answer.detail})" if answer.detail else ""),)
        if isinstance(answer, Skip)
        else ()
    )
