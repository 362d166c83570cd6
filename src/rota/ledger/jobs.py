"""Jobs as one transaction keeps them: made, edited, paused, enabled and taken away without losing an occurrence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from rota.core.action import POOL_SIZES
from rota.core.chain import After, find_cycle, find_fan_out
from rota.core.decision import Decision, Moment, Source
from rota.core.definition import Definition, check_definition
from rota.core.governor import decide, is_pause_over
from rota.core.job import FOREVER, JobState
from rota.core.run import RunState
from rota.core.schedule import Once, once_instant
from rota.core.settlement import Outcome
from rota.errors import ConflictError, GiveWayError, ScheduleError
from rota.ledger.plans import hold, hold_one
from rota.ledger.record import end_waiting
from rota.ledger.rows import Row, decided, moved_plan
from rota.ledger.settling import remove_jobs
from rota.ledger.site import Site
from rota.ports.records import JobRecord, Origin, definition_of, encode, job_state, micros, micros_or_none, origin_of
from rota.ports.store import Transaction

# A job's own pool and agent start one run at a time until somebody says otherwise.
DEFAULT_SIZE = 1


class Placed(msgspec.Struct, frozen=True):
    """A definition and, where it comes from a file, the fleet and the place."""

    definition: Definition
    fleet: str | None = None
    origin: Origin | None = None

    @property
    def columns(self) -> tuple[str | None, str | None]:
        return self.fleet, encode(self.origin) if self.origin else None

    @property
    def is_enabled(self) -> bool:
        return self.origin is None or self.origin.is_enabled


class Edit(msgspec.Struct, frozen=True):
    """A job and the definition that it gets, under the name that this has."""

    record: JobRecord
    placed: Placed


async def add_jobs(
    tx: Transaction, now: datetime, site: Site, new: Sequence[Placed], *, is_proposed: bool = False
) -> tuple[str, ...]:
    """Save new jobs and plan their first runs; their ids."""
    definitions = [placed.definition for placed in new]
    ids = tuple(site.entropy.ids("job", now, len(new)))
    plans, rows, chains = [], [], []
    for job_id, placed in zip(ids, new, strict=True):
        definition = placed.definition
        check_definition(definition)
        state = JobState(
            name=definition.name,
            timing=definition.timing,
            created_at=now,
            scheduled_at=now,
            is_enabled=placed.is_enabled,
            is_proposed=is_proposed,
            fired_until=passed_time(now, definition),
        )
        decision = decide(now, state, moment=Moment.CREATED, share=site.entropy.share())
        flags = (int(placed.is_enabled), int(is_proposed), micros(now), *placed.columns)
        rows.append((job_id, definition.name, definition.agent, encode(definition), *flags))
        plans.append((job_id, *decided(decision), micros_or_none(state.fired_until)))
        if isinstance(definition.timing.schedule, After):
            chains.append((definition.timing.schedule.job, job_id))
    if await tx.insert_job(new=rows) != len(rows):
        raise await _taken(tx, definitions)
    await tx.insert_plan(new=plans)
    if chains:
        await tx.insert_chains(new=chains)
        await _check_chains(tx)
    await ensure_slots(tx, definitions)
    await tx.ring()
    return ids


def passed_time(now: datetime, definition: Definition) -> datetime | None:
    """The one time of a job, if it had passed before the job was there; it is not made up for."""
    schedule = definition.timing.schedule
    if not isinstance(schedule, Once):
        return None
    at = once_instant(schedule, definition.timing.zone)
    return at if at + definition.late.start_within < now else None


def refuse_passed_time(now: datetime, definition: Definition) -> None:
    """A new job that runs once must have its time before it."""
    if (passed := passed_time(now, definition)) is not None:
        example = (now + timedelta(hours=1)).isoformat(timespec="minutes")
        raise ScheduleError(field="at", value=passed.isoformat(), expected="a time to come", example=example)


async def ensure_slots(tx: Transaction, definitions: Sequence[Definition]) -> None:
    """Every pool and agent that a job names has a limit."""
    wanted = {("pool", definition.pool, POOL_SIZES.get(definition.pool, DEFAULT_SIZE)) for definition in definitions}
    wanted |= {("agent", one.agent, DEFAULT_SIZE) for one in definitions if one.agent is not None}
    await tx.ensure_slots(wanted=sorted(wanted))


async def edit_jobs(tx: Transaction, now: datetime, site: Site, edits: Sequence[Edit]) -> None:
    """Give jobs other definitions. Only a changed schedule counts from now."""
    if not edits:
        return
    held = await _hold_with_runs(tx, [edit.record.id for edit in edits])
    rows, chains = [], []
    for edit in edits:
        record, definition = held[edit.record.id], edit.placed.definition
        check_definition(definition)
        is_rescheduled = definition_of(record.definition).timing.schedule != definition.timing.schedule
        scheduled_at = micros(now) if is_rescheduled else record.scheduled_at
        name = (record.id, definition.name, encode(definition), definition.agent)
        rows.append((*name, scheduled_at, *edit.placed.columns))
        if isinstance(definition.timing.schedule, After):
            chains.append((definition.timing.schedule.job, record.id))
    await _check_names(tx, edits)
    await tx.edit_jobs(edited=rows, now=micros(now))
    await tx.delete_chains(ids=list(held))
    if chains:
        await tx.insert_chains(new=chains)
        await _check_chains(tx)
    await ensure_slots(tx, [edit.placed.definition for edit in edits])
    await replan(tx, now, site, list(held))


async def pause_job(
    tx: Transaction, now: datetime, site: Site, record: JobRecord, *, until: datetime | None, note: str | None
) -> None:
    """Pause a job, without an end unless one is given. Queued runs wait, running ones go on."""
    await tx.pause_job(job_id=record.id, paused_until=micros(until or FOREVER), note=note)
    await replan(tx, now, site, [record.id])


async def resume_job(tx: Transaction, now: datetime, record: JobRecord) -> None:
    """End a pause now. The times that passed in it become one row when the job is fired next, which is at once."""
    if record.paused_until is None or record.paused_until <= micros(now):
        return
    await tx.pause_job(job_id=record.id, paused_until=micros(now), note=None)
    fresh = await hold_one(tx, record.id)
    over = Decision(now, Source.PAUSED)
    await tx.move_plans(moved=[_moved(fresh, msgspec.structs.replace(job_state(fresh), planned=over), over)])
    await tx.ring()


async def enable_jobs(tx: Transaction, now: datetime, site: Site, ids: Sequence[str], *, is_enabled: bool) -> None:
    """Switch jobs on or off; switching on accepts proposed ones."""
    if ids:
        await tx.enable_jobs(ids=ids, is_enabled=int(is_enabled), now=micros(now))
        await replan(tx, now, site, ids)


async def take_jobs_away(tx: Transaction, now: datetime, site: Site, ids: Sequence[str]) -> None:
    """Remove jobs; their queued runs are cancelled, running ones finish, their history stays."""
    waiting = await tx.queue_of_jobs(ids=ids)
    if waiting:
        await end_waiting(tx, now, waiting, Outcome(state=RunState.CANCELLED, reason="job_removed"), site)
    await remove_jobs(tx, ids)


async def replan(tx: Transaction, now: datetime, site: Site, ids: Sequence[str]) -> None:
    """Decide again after something changed; what is due already stays due."""
    moved = []
    for record in (await hold(tx, ids)).values():
        state = job_state(record)
        decision = decide(now, state, moment=Moment.REPLANNED, share=site.entropy.share())
        if decision is not state.planned and not is_pause_over(state.planned, now):
            moved.append(_moved(record, msgspec.structs.replace(state, planned=decision), decision))
    if moved:
        await tx.move_plans(moved=moved)
    await tx.ring()


async def _hold_with_runs(tx: Transaction, ids: Sequence[str]) -> dict[str, JobRecord]:
    """Jobs whose runs, if any are under way, will end by the new definition. Runs are held before plans, as always."""
    seen = {record.id: record.live_run for record in await tx.jobs_by_id(ids=ids)}
    if live := sorted(run_id for run_id in seen.values() if run_id is not None):
        await tx.unplain_runs(ids=live)
    held = await hold(tx, ids)
    if len(held) < len(set(ids)):
        raise ConflictError("One of these jobs was removed just now.")
    if any(one.live_state == RunState.RUNNING and one.live_run != seen.get(one.id) for one in held.values()):
        raise GiveWayError("A run of this job began just now.")
    return held


def _moved(record: JobRecord, state: JobState, decision: Decision) -> Row:
    return moved_plan(
        record,
        decision,
        state,
        live_run=record.live_run,
        pause_note=record.pause_note,
        last_error=record.last_error,
        last_fold=record.last_fold,
    )


async def _check_names(tx: Transaction, edits: Sequence[Edit]) -> None:
    """A new name must be free."""
    names = [edit.placed.definition.name for edit in edits if edit.record.name != edit.placed.definition.name]
    if names and (taken := await tx.jobs_by_name(names=sorted(names))):
        raise ConflictError(f'There is already a job named "{taken[0].name}".')


async def _taken(tx: Transaction, definitions: Sequence[Definition]) -> ConflictError:
    for definition in definitions:
        taken = await tx.find_job(name=definition.name)
        if taken is not None and (origin := origin_of(taken)) is not None:
            return ConflictError(
                f'There is already a job named "{definition.name}", from {origin.file}:{origin.line}. '
                "Choose another name, or change it there."
            )
        if taken is not None:
            return ConflictError(
                f'There is already a job named "{definition.name}". Choose another name, or take that one away: '
                f"rota job remove {definition.name}"
            )
    return ConflictError("Two of these jobs have the same name.")


async def _check_chains(tx: Transaction) -> None:
    parents: dict[str, list[str]] = {}
    for name, parent in await tx.chain_parents():
        parents.setdefault(name, []).append(parent)
    if cycle := find_cycle(parents):
        raise ConflictError(f"These jobs would fire each other without end: {' -> '.join(cycle)}")
    if crowded := find_fan_out(parents):
        raise ConflictError(f'More than 25 jobs would follow "{crowded}".')
