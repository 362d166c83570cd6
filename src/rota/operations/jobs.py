"""Jobs: what a person or a program can do with them. Every door calls these."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from rota.config.spell import spell_job
from rota.core.decision import Step, describe
from rota.core.definition import Definition, check_definition
from rota.core.job import FOREVER, JobStatus
from rota.core.words import in_words
from rota.errors import ChangedError, ConflictError, ForbiddenError, NotFoundError, ScheduleError
from rota.ledger import jobs as ledger
from rota.ledger.jobs import Edit, Placed
from rota.ledger.plans import hold_one
from rota.ledger.requests import Requested, request_run
from rota.ledger.site import Site
from rota.operations.auditing import Change, put_on_record
from rota.operations.inputs import Cursor, Input, Instant, Key, Limit, Name, Text, Version, Words, Zone
from rota.operations.preview import times_when_saved
from rota.operations.views import JobView, Page, RequestedRun, job_fields, job_view, requested_view
from rota.ports.caller import Caller
from rota.ports.records import JobRecord, definition_of, hints_of, instant_or_none, origin_of, trail_of
from rota.ports.store import Transaction

_BATCH = 1_000
_SHOWN = 5


class SavedJob(msgspec.Struct, frozen=True):
    """A job as it was saved, what a person should know about it, and its next due times."""

    id: str
    name: str
    version: int
    warnings: tuple[str, ...]
    next_times: tuple[Instant, ...]


class JobDetail(JobView, frozen=True, kw_only=True):
    """A job with its definition, in the words of the fleet file, and why its next time was chosen."""

    in_words: str
    definition: dict[str, Any]
    hints: tuple[dict[str, Any], ...]
    why: tuple[str, ...]
    trail: tuple[Step, ...]
    """The same as data: every rule that was applied."""


class RemovedJob(msgspec.Struct, frozen=True):
    removed: str


async def add_job(
    site: Site, *, name: Name, definition: Words, agent: Name | None = None, timezone: Zone = "UTC"
) -> SavedJob:
    """Save a new job, defined in the words of the fleet file."""
    defined = _defined(site, definition, name=name, agent=agent, zone=timezone)
    return await save_job(site, defined)


async def propose_job(
    site: Site, *, name: Name, definition: Words, agent: Name | None = None, timezone: Zone = "UTC"
) -> SavedJob:
    """Propose a job: it waits until a person accepts it."""
    owner = agent if not site.caller.is_run else _proposer(site.caller, name, agent)
    defined = _defined(site, definition, name=name, agent=owner, zone=timezone)
    return await save_job(site, defined, is_proposed=True)


def _defined(site: Site, words: Mapping[str, Any], *, name: str, agent: str | None, zone: str) -> Definition:
    # What reads the fleet file takes a while to load, and most commands never need it.
    from rota.config.fleet import define_job  # noqa: PLC0415

    return define_job(words, name=name, agent=agent, zone=zone, now=site.clock.now())[0]


def _proposer(caller: Caller, name: str, agent: str | None) -> str | None:
    """A run proposes for its own agent, and only under that agent's name."""
    if agent not in (None, caller.agent):
        raise ForbiddenError(f"A run of {caller.agent or 'no agent'} cannot propose jobs for {agent}.")
    owner, slash, _ = name.partition("/")
    if (owner if slash else None) != caller.agent:
        wanted = f"Begin the name with {caller.agent}/." if caller.agent else "Choose a name without a slash."
        raise ForbiddenError(f'A run of {caller.agent or "no agent"} cannot propose "{name}". {wanted}')
    return caller.agent


async def save_job(site: Site, definition: Definition, *, is_proposed: bool = False) -> SavedJob:
    """Save a new job."""
    warnings = check_definition(definition)
    now = site.clock.now()
    ledger.refuse_passed_time(now, definition)
    change = Change(
        operation="job.propose" if is_proposed else "job.add",
        subject=definition.name,
        event="job.proposed" if is_proposed else "job.added",
        after=spell_job(definition),
        job=definition.name,
    )

    async def body(tx: Transaction) -> str:
        (job_id,) = await ledger.add_jobs(tx, now, site, [Placed(definition)], is_proposed=is_proposed)
        await put_on_record(tx, now, site, change)
        return job_id

    return SavedJob(
        await site.store.write(body), definition.name, 1, warnings, times_when_saved(now, definition, _SHOWN)
    )


async def edit_job(
    site: Site, *, job: Name, definition: Words, version: Version | None = None, timezone: Zone | None = None
) -> SavedJob:
    """Give a job another definition. With ``version``, only if nobody changed it meanwhile."""
    record, now = await find_job(site, job), site.clock.now()
    zone = timezone or definition_of(record.definition).timing.zone
    defined = _defined(site, definition, name=record.name, agent=record.agent, zone=zone)
    warnings = check_definition(defined)
    refuse_from_file(record)

    async def body(tx: Transaction) -> int:
        fresh = await hold_one(tx, record.id)
        _check_version(fresh, version)
        await ledger.edit_jobs(tx, now, site, [Edit(fresh, Placed(defined))])
        before, after = spell_job(definition_of(fresh.definition)), spell_job(defined)
        await put_on_record(tx, now, site, _change("job.edit", record, "job.edited", before=before, after=after))
        return fresh.version + 1

    saved = await site.store.write(body)
    return SavedJob(record.id, defined.name, saved, warnings, times_when_saved(now, defined, _SHOWN))


def _check_version(record: JobRecord, version: int | None) -> None:
    if version is not None and record.version != version:
        raise ChangedError(f"{record.name} was changed meanwhile: it is at version {record.version}, not {version}.")


def refuse_from_file(record: JobRecord) -> None:
    """The definition of a job from a file is changed there and nowhere else."""
    origin = origin_of(record)
    if origin is not None:
        raise ConflictError(
            f"{record.name} comes from {origin.file}:{origin.line}. Change it there, then: rota apply {origin.file}"
        )


async def find_job(site: Site, name: str) -> JobRecord:
    """A job by its name or id; for people who type, also by the beginning of either if only one has it.

    A program that asks twice must never mean another job the second time.
    """

    async def body(tx: Transaction) -> Sequence[JobRecord]:
        exact = await tx.find_job(name=name)
        if exact is not None:
            return [exact]
        return await tx.jobs_by_prefix(prefix=name, most=6) if site.caller.is_person else []

    found = [record for record in await site.store.read(body) if may_see(site.caller, record.agent, record.id)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFoundError(f'There is no job "{name}". See them all: rota job list')
    names = ", ".join(record.name for record in found)
    raise ConflictError(f'"{name}" could be any of these jobs: {names}. Give more of the name.')


def may_see(caller: Caller, agent: str | None, job_id: str) -> bool:
    """A run sees its own job and the jobs of its agent; everybody else sees all."""
    return not caller.is_run or job_id == caller.job_id or (agent is not None and agent == caller.agent)


async def list_jobs(  # noqa: PLR0913 - a filter for each facet
    site: Site,
    *,
    agent: Name | None = None,
    status: JobStatus | None = None,
    fleet: Name | None = None,
    contains: Name | None = None,
    failing: bool = False,
    after: Cursor | None = None,
    limit: Limit = 100,
) -> Page[JobView]:
    """Jobs by name, a page at a time; with ``failing`` only those whose last run failed."""
    now = site.clock.now()

    def is_wanted(one: JobRecord) -> bool:
        is_equal = all(wanted is None or wanted == found for wanted, found in ((agent, one.agent), (fleet, one.fleet)))
        is_named = contains is None or contains.lower() in one.name.lower()
        is_ill = not failing or one.failure_count > 0
        return is_equal and is_named and is_ill and may_see(site.caller, one.agent, one.id)

    async def body(tx: Transaction) -> list[JobView]:
        shown: list[JobView] = []
        last = after or ""
        is_filtered = any((agent, status, fleet, contains, failing))
        most = _BATCH if is_filtered else min(_BATCH, limit + 1)
        while len(shown) <= limit and (batch := await tx.jobs(after=last, most=most)):
            views = (job_view(now, record) for record in batch if is_wanted(record))
            shown += [one for one in views if status is None or one.status == status]
            last = batch[-1].name
        return shown

    shown = await site.store.read(body)
    page = tuple(shown[:limit])
    return Page(page, page[-1].name if len(shown) > limit else None)


async def show_job(site: Site, *, job: Name) -> JobDetail:
    """One job: its definition, where it stands, and why its next time was chosen."""
    record = await find_job(site, job)
    definition, trail = definition_of(record.definition), trail_of(record.trail)
    return JobDetail(
        **job_fields(site.clock.now(), record),  # type: ignore[arg-type] # each by its own type
        in_words=in_words(definition.timing.schedule),
        definition=spell_job(definition),
        hints=tuple(msgspec.to_builtins(hint) for hint in hints_of(record.hints)),
        why=describe(trail),
        trail=trail,
    )


async def pause_job(site: Site, *, job: Name, until: Instant | None = None, note: Text | None = None) -> JobView:
    """Pause a job, without an end unless one is given. Queued runs wait, running ones go on."""

    async def body(tx: Transaction, now: datetime, record: JobRecord) -> Change:
        if until is not None and until <= now:
            example = (now + timedelta(hours=1)).isoformat(timespec="minutes")
            raise ScheduleError(field="until", value=until.isoformat(), expected="a time to come", example=example)
        await ledger.pause_job(tx, now, site, record, until=until, note=note)
        after = {"until": until, "note": note}
        return _change("job.pause", record, "job.paused", before=_pause(record), after=after, reason=note)

    return await _change_state(site, job, body)


async def resume_job(site: Site, *, job: Name) -> JobView:
    """End a pause now."""

    async def body(tx: Transaction, now: datetime, record: JobRecord) -> Change:
        await ledger.resume_job(tx, now, record)
        return _change("job.resume", record, "job.resumed", before=_pause(record), after={"until": None, "note": None})

    return await _change_state(site, job, body)


async def enable_job(site: Site, *, job: Name) -> JobView:
    """Switch a job on."""

    async def body(tx: Transaction, now: datetime, record: JobRecord) -> Change:
        if record.is_proposed:
            raise ConflictError(f"{record.name} is only proposed. Accept it: rota job accept {record.name}")
        await ledger.enable_jobs(tx, now, site, [record.id], is_enabled=True)
        return _switched("job.enable", record, "job.enabled", is_enabled=True)

    return await _change_state(site, job, body)


async def disable_job(site: Site, *, job: Name) -> JobView:
    """Switch a job off, until it is enabled again."""

    async def body(tx: Transaction, now: datetime, record: JobRecord) -> Change:
        await ledger.enable_jobs(tx, now, site, [record.id], is_enabled=False)
        return _switched("job.disable", record, "job.disabled", is_enabled=False)

    return await _change_state(site, job, body)


async def accept_job(site: Site, *, job: Name) -> JobView:
    """Accept a job that was proposed: from now on it runs."""

    async def body(tx: Transaction, now: datetime, record: JobRecord) -> Change:
        if not record.is_proposed:
            raise ConflictError(f"{record.name} is not proposed, so there is nothing to accept.")
        await ledger.enable_jobs(tx, now, site, [record.id], is_enabled=True)
        return _change("job.accept", record, "job.accepted", before={"status": "proposed"}, after={"status": "idle"})

    return await _change_state(site, job, body)


async def remove_job(site: Site, *, job: Name, version: Version | None = None) -> RemovedJob:
    """Remove a job. Its queued runs are cancelled, running ones finish, its history stays."""
    record, now = await find_job(site, job), site.clock.now()
    refuse_from_file(record)

    async def body(tx: Transaction) -> None:
        _check_version(await hold_one(tx, record.id), version)
        await ledger.take_jobs_away(tx, now, site, [record.id])
        before = spell_job(definition_of(record.definition))
        await put_on_record(tx, now, site, _change("job.remove", record, "job.removed", before=before))

    await site.store.write(body)
    return RemovedJob(record.name)


async def run_job(site: Site, *, job: Name, key: Key | None = None, input: Input | None = None) -> RequestedRun:  # noqa: A002
    """Ask for a run now. It jumps the queue and never moves the schedule."""
    record, now = await find_job(site, job), site.clock.now()

    async def body(tx: Transaction) -> Requested:
        fresh = await hold_one(tx, record.id)
        requested = await request_run(tx, now, site, fresh, key=key, input_text=input)
        if requested.is_new:
            change = _change("job.run", record, "run.requested", after={"run": requested.run_id})
            await put_on_record(tx, now, site, msgspec.structs.replace(change, run_id=requested.run_id))
        return requested

    return requested_view(await site.store.write(body))


async def _change_state(
    site: Site, job: str, body: Callable[[Transaction, datetime, JobRecord], Coroutine[Any, Any, Change]]
) -> JobView:
    record, now = await find_job(site, job), site.clock.now()

    async def whole(tx: Transaction) -> JobRecord:
        fresh = await hold_one(tx, record.id)
        await put_on_record(tx, now, site, await body(tx, now, fresh))
        return await hold_one(tx, record.id)

    return job_view(now, await site.store.write(whole))


def _change(operation: str, record: JobRecord, event: str, **fields: Any) -> Change:  # noqa: ANN401
    return Change(operation=operation, subject=record.name, event=event, job=record.name, **fields)


def _pause(record: JobRecord) -> dict[str, object]:
    until = instant_or_none(record.paused_until)
    return {"until": None if until is None or until >= FOREVER else until, "note": record.pause_note}


def _switched(operation: str, record: JobRecord, event: str, *, is_enabled: bool) -> Change:
    before, after = {"enabled": bool(record.is_enabled)}, {"enabled": is_enabled}
    return _change(operation, record, event, before=before, after=after)
