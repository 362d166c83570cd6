"""Jobs as one transaction keeps them: made, edited, paused, enabled and taken away without losing an occurrence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from rota.core.action import POOL_SIZES
from rota.core.chain import After, find_cycle, find_fan_out
from rota.core.decision import Decision, Moment, Source
from rota.core.definition import Definition, check_definition
from rota.core.governor import decide, is_pause_over
from rota.core.job import FOREVER, JobState
from rota.core.run import RunState
from rota.core.settlement import Outcome
from rota.errors import ConflictError, GiveWayError
from rota.ledger.plans import hold_one
from rota.ledger.record import end_waiting
from rota.ledger.rows import decided, moved_plan
from rota.ledger.settling import remove_job
from rota.ledger.site import Site
from rota.ports.records import JobRecord, definition_of, encode, job_state, micros
from rota.ports.store import Transaction

# A job's own pool and agent start one run at a time until somebody says otherwise.
_DEFAULT_SIZE = 1


async def add_jobs(
    tx: Transaction, now: datetime, site: Site, definitions: Sequence[Definition], *, is_proposed: bool = False
) -> tuple[str, ...]:
    """Save new jobs and plan their first runs; their ids."""
    ids = tuple(site.entropy.ids("job", now, len(definitions)))
    plans, rows, chains = [], [], []
    for job_id, definition in zip(ids, definitions, strict=True):
        check_definition(definition)
        state = JobState(
            name=definition.name,
            timing=definition.timing,
            created_at=now,
            scheduled_at=now,
            is_proposed=is_proposed,
        )
        decision = decide(now, state, moment=Moment.CREATED, share=site.entropy.share())
        rows.append((job_id, definition.name, definition.agent, encode(definition), 1, int(is_proposed), micros(now)))
        plans.append((job_id, *decided(decision)))
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


async def ensure_slots(tx: Transaction, definitions: Sequence[Definition]) -> None:
    """Every pool and agent that a job names has a limit."""
    wanted = {("pool", definition.pool, POOL_SIZES.get(definition.pool, _DEFAULT_SIZE)) for definition in definitions}
    wanted |= {("agent", one.agent, _DEFAULT_SIZE) for one in definitions if one.agent is not None}
    await tx.ensure_slots(wanted=sorted(wanted))


async def edit_job(tx: Transaction, now: datetime, site: Site, record: JobRecord, definition: Definition) -> None:
    """Give a job another definition. Only a changed schedule counts from now."""
    check_definition(definition)
    record = await _hold_with_run(tx, record.id)
    before = definition_of(record.definition)
    is_rescheduled = before.timing.schedule != definition.timing.schedule
    scheduled_at = micros(now) if is_rescheduled else record.scheduled_at
    await tx.edit_job(
        job_id=record.id,
        definition=encode(definition),
        agent=definition.agent,
        scheduled_at=scheduled_at,
        now=micros(now),
    )
    await tx.delete_chains(job_id=record.id)
    if isinstance(definition.timing.schedule, After):
        await tx.insert_chains(new=[(definition.timing.schedule.job, record.id)])
        await _check_chains(tx)
    await ensure_slots(tx, [definition])
    await replan(tx, now, site, record.id)


async def pause_job(
    tx: Transaction, now: datetime, site: Site, record: JobRecord, *, until: datetime | None, note: str | None
) -> None:
    """Pause a job, without an end unless one is given. Queued runs wait, running ones go on."""
    await tx.pause_job(job_id=record.id, paused_until=micros(until or FOREVER), note=note)
    await replan(tx, now, site, record.id)


async def resume_job(tx: Transaction, now: datetime, record: JobRecord) -> None:
    """End a pause now. The times that passed in it become one row when the job is fired next, which is at once."""
    if record.paused_until is None or record.paused_until <= micros(now):
        return
    await tx.pause_job(job_id=record.id, paused_until=micros(now), note=None)
    fresh = await hold_one(tx, record.id)
    over = Decision(now, Source.PAUSED)
    state = msgspec.structs.replace(job_state(fresh), planned=over)
    await _move(tx, fresh, state, over)
    await tx.ring()


async def enable_job(tx: Transaction, now: datetime, site: Site, record: JobRecord, *, is_enabled: bool) -> None:
    """Switch a job on or off; switching on accepts a proposed one."""
    await tx.enable_job(job_id=record.id, is_enabled=int(is_enabled), now=micros(now))
    await replan(tx, now, site, record.id)


async def take_job_away(tx: Transaction, now: datetime, site: Site, record: JobRecord) -> None:
    """Remove a job; its queued runs are cancelled, its history stays."""
    waiting = await tx.queue_of_jobs(ids=[record.id])
    if waiting:
        await end_waiting(tx, now, waiting, Outcome(state=RunState.CANCELLED, reason="job_removed"), site)
    await remove_job(tx, record.id)


async def replan(tx: Transaction, now: datetime, site: Site, job_id: str) -> None:
    """Decide again after something changed; what is due already stays due."""
    record = await hold_one(tx, job_id)
    state = job_state(record)
    decision = decide(now, state, moment=Moment.REPLANNED, share=site.entropy.share())
    if decision is not state.planned and not is_pause_over(state.planned, now):
        await _move(tx, record, msgspec.structs.replace(state, planned=decision), decision)
    await tx.ring()


async def _hold_with_run(tx: Transaction, job_id: str) -> JobRecord:
    """A job whose run, if one is under way, will end by the new definition. Runs are held before plans, as always."""
    seen = await tx.find_job(name=job_id)
    if seen is not None and seen.live_run is not None:
        await tx.unplain_runs(ids=[seen.live_run])
    held = await hold_one(tx, job_id)
    if held.live_state == RunState.RUNNING and (seen is None or held.live_run != seen.live_run):
        raise GiveWayError("A run of this job began just now.")
    return held


async def _move(tx: Transaction, record: JobRecord, state: JobState, decision: Decision) -> None:
    row = moved_plan(
        record,
        decision,
        state,
        live_run=record.live_run,
        pause_note=record.pause_note,
        last_error=record.last_error,
        last_fold=record.last_fold,
    )
    await tx.move_plans(moved=[row])


async def _taken(tx: Transaction, definitions: Sequence[Definition]) -> ConflictError:
    for definition in definitions:
        if await tx.find_job(name=definition.name) is not None:
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
