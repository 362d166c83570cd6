"""Runs: looking at them, ending them, asking for them again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from rota.core.run import LIVE, Cause, RunState
from rota.core.settlement import Outcome
from rota.errors import ConflictError, NotFoundError
from rota.ledger.plans import hold
from rota.ledger.record import end_waiting
from rota.ledger.requests import Requested, request_run
from rota.ledger.site import Site
from rota.operations.auditing import Change, put_on_record
from rota.operations.inputs import Cursor, Instant, Key, Limit, Name, PriorityNumber, Text
from rota.operations.jobs import may_see
from rota.operations.run_filters import LAST, RunFilter, run_filter
from rota.operations.views import (
    Page,
    RequestedRun,
    RunDetail,
    RunView,
    requested_view,
    run_detail,
    run_view,
)
from rota.operations.waiting import waits_for
from rota.ports.records import RunRecord, encode
from rota.ports.store import Transaction


class CancelledRun(msgspec.Struct, frozen=True):
    """Whether the run has ended already, or has been told to."""

    run_id: str
    is_ended: bool


async def find_run(site: Site, run_id: str) -> RunRecord:
    """A run by its id; for people who type, also by the beginning of it if only one has it."""

    async def body(tx: Transaction) -> list[RunRecord]:
        exact = await tx.find_run(run_id=run_id)
        if exact is not None:
            return [exact]
        if not site.caller.is_person:
            return []
        prefix = run_id if run_id.startswith("run_") else f"run_{run_id}"
        return await tx.runs_by_prefix(prefix=prefix, end=prefix + "g", most=3)

    found = [run for run in await site.store.read(body) if may_see(site.caller, run.agent, run.job_id)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFoundError(f'There is no run "{run_id}". See the latest: rota runs')
    raise ConflictError(f'"{run_id}" could be several runs. Give more of the id.')


async def list_runs(  # noqa: PLR0913 - a filter for each facet
    site: Site,
    *,
    job: Name | None = None,
    agent: Name | None = None,
    state: tuple[RunState, ...] = (),
    cause: Cause | None = None,
    priority: PriorityNumber | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    after: Cursor | None = None,
    limit: Limit = 100,
) -> Page[RunView]:
    """Runs, the latest first. ``since`` and ``until`` are about when a run was put on record."""
    wanted = await run_filter(
        site, job=job, agent=agent, state=state, cause=cause, priority=priority, since=since, until=until
    )
    rows = [] if wanted.is_empty else await site.store.read(lambda tx: _filtered(tx, wanted, after, limit + 1))
    shown = tuple(run_view(run) for run in rows[:limit] if may_see(site.caller, run.agent, run.job_id))
    return Page(shown, rows[limit - 1].id if len(rows) > limit else None)


async def _filtered(tx: Transaction, wanted: RunFilter, after: str | None, most: int) -> list[RunRecord]:
    fields: dict[str, Any] = {
        "before": min(after or LAST, wanted.end),
        "since": wanted.begin,
        "agent": wanted.agent,
        "any_cause": int(wanted.causes is None),
        "causes": list(wanted.causes or ()),
        "any_state": int(wanted.states is None),
        "states": list(wanted.states or ()),
        "most": most,
    }
    if wanted.is_live:
        any_waiting = int(set(fields["states"]) != {RunState.RUNNING})
        leased = await _leased(tx)
        return await tx.filtered_live_runs(leased=leased, any_waiting=any_waiting, job_id=wanted.job_id, **fields)
    if wanted.job_id is None:
        return await tx.filtered_runs(**fields)
    return await tx.filtered_runs_of_job(job_id=wanted.job_id, **fields)


async def _leased(tx: Transaction) -> list[tuple[str]]:
    """The runs that workers hold: few, and found without looking at those that have ended."""
    return [(run_id,) for lease in await tx.leases() for run_id in msgspec.json.decode(lease.run_ids, type=list[str])]


async def show_run(site: Site, *, run: Name) -> RunDetail:
    """Everything that is kept of a run, why it happened, and what it waits for."""
    record = await find_run(site, run)
    return run_detail(record, waits_for=await waits_for(site, record))


async def cancel_run(site: Site, *, run: Name, reason: Text = "by_hand") -> CancelledRun:
    """End a run with everything it has started: at once if it waits; one that runs is told to, and confirms."""
    record, now = await find_run(site, run), site.clock.now()

    async def body(tx: Transaction) -> CancelledRun:
        (held,) = await tx.lock_runs(ids=[record.id])
        if held.state not in LIVE:
            raise ConflictError(has_ended(held))
        await cancel_held(tx, now, site, [held], reason)
        return CancelledRun(held.id, is_ended=held.state != RunState.RUNNING)

    return await site.store.write(body)


async def cancel_held(tx: Transaction, now: datetime, site: Site, held: list[RunRecord], reason: str) -> None:
    """End runs that are held and have not ended: those that wait at once, those that run are told to."""
    by, after = site.caller.name, {"reason": reason}
    changes = [_change("run.cancel", run, "run.cancel_asked", before={"state": run.state}, after=after) for run in held]
    await put_on_record(tx, now, site, *changes)
    if running := [run.id for run in held if run.state == RunState.RUNNING]:
        await tx.ask_cancel(ids=running, cancel=encode({"by": by, "reason": reason}))
        await tx.ring()
    if others := [run.id for run in held if run.state != RunState.RUNNING]:
        waiting = await tx.queue_of_runs(ids=others)
        await end_waiting(tx, now, waiting, Outcome(state=RunState.CANCELLED, reason=reason, error=f"by {by}"), site)


def has_ended(run: RunRecord) -> str:
    return f"{run.id} has ended already: {run.state}"


async def retry_run(site: Site, *, run: Name, key: Key | None = None) -> RequestedRun:
    """Ask for the work of a run once more, with the same input."""
    record, now = await find_run(site, run), site.clock.now()
    if record.state in LIVE:
        raise ConflictError(has_not_ended(record))

    async def body(tx: Transaction) -> Requested:
        job = (await hold(tx, [record.job_id])).get(record.job_id)
        if job is None:
            raise NotFoundError(is_orphan(record))
        requested = await request_run(tx, now, site, job, cause=Cause.MANUAL, key=key, input_text=record.input)
        if requested.is_new:
            await put_on_record(tx, now, site, retried(record, requested.run_id))
        return requested

    return requested_view(await site.store.write(body))


def has_not_ended(run: RunRecord) -> str:
    return f"{run.id} has not ended: {run.state}"


def is_orphan(run: RunRecord) -> str:
    return f'The job "{run.job}" is gone, so its run cannot be done again.'


def retried(run: RunRecord, new_id: str) -> Change:
    """That a run is to be done once more."""
    return _change("run.retry", run, "run.retry_asked", after={"run": new_id})


def _change(operation: str, run: RunRecord, event: str, *, after: object, before: object = None) -> Change:
    return Change(
        operation=operation, subject=run.id, event=event, before=before, after=after, job=run.job, run_id=run.id
    )
