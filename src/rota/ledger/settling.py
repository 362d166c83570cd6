"""Settling within a transaction: endings go through ``settle``, and everything that follows is written at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from rota.core.admission import Admit, admit
from rota.core.chain import After
from rota.core.definition import Definition
from rota.core.job import FOREVER, JobState
from rota.core.run import FAILURES, Cause, RunState
from rota.core.settlement import Child, EndReason, Outcome, RunRequest, Settlement, settle
from rota.core.usage import Usage
from rota.errors import GiveWayError
from rota.ledger.events import Event, inserted, tell
from rota.ledger.plans import hold
from rota.ledger.rows import Row, moved_plan, queue_row, run_row
from rota.ledger.site import Site
from rota.ports.caller import ENGINE
from rota.ports.records import (
    JobRecord,
    RunRecord,
    WaitingRecord,
    definition_of,
    encode,
    job_state,
    live_runs,
    micros,
    micros_or_none,
    run_of,
)
from rota.ports.store import Transaction


class Ending(NamedTuple):
    """A run as it is stored, and how it ended."""

    run: RunRecord
    outcome: Outcome
    result: str | None = None
    response: str | None = None


class _Job:
    """A job while its runs are settled, one after the other."""

    def __init__(self, record: JobRecord) -> None:
        self.record = record
        self.definition: Definition = definition_of(record.definition)
        self.state: JobState = job_state(record)
        self.has_decision = False
        self.live_run = record.live_run
        self.pause_note = record.pause_note
        self.last_error = record.last_error

    def row(self) -> Row:
        return moved_plan(
            self.record,
            self.state.planned if self.has_decision else None,
            self.state,
            live_run=self.live_run,
            pause_note=self.pause_note,
            last_error=self.last_error,
            last_fold=self.record.last_fold,
        )


class Settling:
    """Collects what follows from endings, then writes it in a handful of statements."""

    def __init__(self, now: datetime, site: Site) -> None:
        self._now = now
        self._site = site
        self._ended: list[Row] = []
        self._jobs: dict[str, _Job] = {}
        self._children: dict[str, list[JobRecord]] = {}
        self._runs: list[Row] = []
        self._queued: list[Row] = []
        self._events: list[Event] = []
        self._audit: list[Row] = []
        self._removed: list[str] = []
        self._cancelled: list[str] = []

    @property
    def is_queued(self) -> bool:
        return bool(self._queued)

    async def settle(self, tx: Transaction, endings: Sequence[Ending]) -> None:
        """Work out what follows from each ending."""
        if not endings:
            return
        ids = {ending.run.job_id for ending in endings}
        self._jobs = {job_id: _Job(record) for job_id, record in (await hold(tx, ids)).items()}
        await self._unplain(tx, {ending.run.id for ending in endings})
        for row in await tx.children_of(names=[job.record.name for job in self._jobs.values()]):
            self._children.setdefault(row[0], []).append(JobRecord(*row[1:]))
        waiting = await self._waiting_of_children(tx)
        for ending in endings:
            job = self._jobs.get(ending.run.job_id)
            self._ended.append(_ended_row(ending))
            if job is not None:
                self._settle_one(job, ending, waiting)

    async def write(self, tx: Transaction) -> None:
        """Write everything that was worked out."""
        if self._ended:
            await tx.end_runs(ended=self._ended, now=micros(self._now))
        if self._runs:
            await tx.insert_runs(new=self._runs)
        if self._queued:
            await tx.enqueue(new=self._queued)
        if self._jobs:
            await tx.move_plans(moved=[job.row() for job in self._jobs.values()])
        await tell(tx, self._now, self._site, [*self._events, *inserted(self._runs)])
        if self._audit:
            await tx.insert_audit(new=self._audit)
        for job_id in self._removed:
            await remove_jobs(tx, [job_id])
        for run_id in self._cancelled:
            await self._cancel_descendants(tx, run_id)

    async def _unplain(self, tx: Transaction, ended: set[str]) -> None:
        """What these endings do to their jobs, the end of a run that is still under way must see."""
        jobs = [job.record for job in self._jobs.values()]
        under_way = [job.live_run for job in jobs if job.live_run is not None and job.live_state == RunState.RUNNING]
        others = [run_id for run_id in under_way if run_id not in ended]
        if others and await tx.unplain_runs(ids=others) != len(others):
            raise GiveWayError("A run of the same job ended first.")

    async def _waiting_of_children(self, tx: Transaction) -> dict[str, list[WaitingRecord]]:
        ids = [record.id for records in self._children.values() for record in records]
        rows: dict[str, list[WaitingRecord]] = {}
        for row in await tx.queue_of_jobs(ids=ids) if ids else ():
            rows.setdefault(row.job_id, []).append(row)
        return rows

    def _settle_one(self, job: _Job, ending: Ending, waiting: dict[str, list[WaitingRecord]]) -> None:
        children = self._children.get(job.record.name, ())
        settlement = settle(
            self._now,
            run_of(ending.run),
            ending.outcome,
            state=job.state,
            rules=job.definition.settle,
            children=[Child(child.name, _after(child)) for child in children],
            share=self._site.entropy.share(),
        )
        self._move(job, ending, settlement)
        if settlement.retry is not None:
            job.live_run = self._request(job.record, settlement.retry, parent=ending.run)
        by_name = {child.name: child for child in children}
        for request in settlement.children:
            self._chain(by_name[request.job], request, ending, waiting)
        if settlement.removes_job:
            self._removed.append(job.record.id)
        if settlement.cancels_descendants:
            self._cancelled.append(ending.run.id)
        self._note(settlement, ending)

    def _move(self, job: _Job, ending: Ending, settlement: Settlement) -> None:
        is_paused = bool(settlement.pause_note)
        decision = settlement.decision
        job.has_decision = job.has_decision or (decision is not None and decision != job.state.planned)
        job.state = msgspec.structs.replace(
            job.state,
            failure_count=settlement.failure_count,
            lost_count=settlement.lost_count,
            last_completed_at=settlement.completed_at,
            is_running=settlement.is_running,
            hints=settlement.hints,
            planned=decision or job.state.planned,
            paused_until=FOREVER if is_paused else job.state.paused_until,
        )
        job.pause_note = settlement.pause_note or job.pause_note
        if settlement.state in FAILURES:
            job.last_error = ending.outcome.error or ending.outcome.reason or settlement.state
        elif settlement.state is RunState.SUCCEEDED:
            job.last_error = None

    def _chain(
        self, child: JobRecord, request: RunRequest, ending: Ending, waiting: dict[str, list[WaitingRecord]]
    ) -> None:
        definition = definition_of(child.definition)
        answer = admit(
            self._now,
            job_state(child),
            cause=Cause.CHAIN,
            live=live_runs(child, waiting.get(child.id, ())),
            overlap=definition.overlap,
        )
        if isinstance(answer, Admit):
            self._request(child, request, parent=ending.run, output=ending.outcome.output)
            return
        (run_id,) = self._site.entropy.ids("run", self._now, 1)
        self._runs.append(
            run_row(
                run_id,
                child,
                now=self._now,
                cause=Cause.CHAIN,
                trace_id=ending.run.trace_id or "",
                state=RunState.SKIPPED,
                depth=request.depth,
                parent_id=ending.run.id,
                reason=answer.reason,
                note=answer.detail,
            )
        )

    def _request(self, record: JobRecord, request: RunRequest, *, parent: RunRecord, output: str = "") -> str:
        (run_id,) = self._site.entropy.ids("run", self._now, 1)
        is_retry = request.cause is Cause.RETRY
        self._runs.append(
            run_row(
                run_id,
                record,
                now=self._now,
                cause=request.cause,
                origin=request.origin,
                trace_id=parent.trace_id or "",
                attempt=request.attempt,
                depth=request.depth,
                parent_id=parent.parent_id if is_retry else parent.id,
                due_at=micros_or_none(request.due_at),
                start_after=micros(request.start_after),
                source=parent.source if is_retry else None,
                trail=parent.trail if is_retry else None,
                note=request.failure or None,
                input=parent.input if is_retry else (output if request.takes_output else None),
            )
        )
        self._queued.append(queue_row(run_id, record, cause=request.cause, start_after=request.start_after))
        return run_id

    def _note(self, settlement: Settlement, ending: Ending) -> None:
        run = ending.run
        if settlement.pause_note:
            (audit_id,) = self._site.entropy.ids("adt", self._now, 1)
            after = encode({"until": None, "note": settlement.pause_note})
            caller = (ENGINE.name, ENGINE.door)
            self._audit.append((audit_id, micros(self._now), *caller, "job.pause", run.job, None, after))
        refused = "; ".join(f"{one.job}: {one.reason}" for one in settlement.refused_children)
        reasons = {"chain.refused": refused, "job.paused": settlement.pause_note}
        self._events += [
            Event(name, run.job, run.id, settlement.state, reasons.get(name, ending.outcome.reason) or None)
            for name in settlement.events
        ]
        self._events += [
            Event(f"notice.{notice.kind}", run.job, run.id, settlement.state, notice.text)
            for notice in settlement.notices
        ]

    async def _cancel_descendants(self, tx: Transaction, run_id: str) -> None:
        """Cancelling a run cancels what it has set in motion: what waits is ended here, what runs is told to end."""
        family = await tx.live_descendants(run_id=run_id)
        if not family:
            return
        waiting = await tx.queue_of_runs(ids=[run.id for run in family])
        await tx.leave_queue(gone=[row.key for row in waiting])
        outcome = Outcome(state=RunState.CANCELLED, reason=EndReason.PARENT_CANCELLED)
        following = Settling(self._now, self._site)
        await following.settle(tx, [Ending(run, outcome) for run in family if run.state != RunState.RUNNING])
        await following.write(tx)
        running = [run.id for run in family if run.state == RunState.RUNNING]
        if running:
            await tx.ask_cancel(ids=running, cancel=encode({"by": "chain", "reason": EndReason.PARENT_CANCELLED}))
            await tx.ring()


async def remove_jobs(tx: Transaction, ids: Sequence[str]) -> None:
    """Take jobs away; their history stays."""
    await tx.delete_plans(ids=ids)
    await tx.delete_chains(ids=ids)
    await tx.delete_jobs(ids=ids)


def _after(child: JobRecord) -> After:
    schedule = definition_of(child.definition).timing.schedule
    if not isinstance(schedule, After):
        raise TypeError(f"{child.name} is chained, but its schedule is none of type after")
    return schedule


def _ended_row(ending: Ending) -> Row:
    outcome = ending.outcome
    return (
        ending.run.id,
        outcome.state,
        outcome.reason or None,
        outcome.error or None,
        ending.run.note,
        outcome.exit_code,
        outcome.http_status,
        ending.result,
        ending.response,
        encode(outcome.usage) if outcome.usage != Usage() else None,
    )
