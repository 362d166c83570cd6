"""Requests: a run that somebody asks for, by hand or from outside."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from rota.core.admission import Admission, Admit, admit
from rota.core.run import Cause, RunState
from rota.ledger.events import inserted, tell
from rota.ledger.rows import Row, queue_row, run_row
from rota.ledger.site import Site
from rota.ports.records import JobRecord, WaitingRecord, definition_of, job_state, live_runs, micros
from rota.ports.store import Transaction


class Wish(NamedTuple):
    """A run that is wanted: its id, its job, and what it gets as input."""

    run_id: str
    record: JobRecord
    input_text: str | None = None


class Requested(msgspec.Struct, frozen=True):
    """The run, and whether it is new: a key that was used before names the run it made."""

    run_id: str
    is_new: bool
    admission: Admission | None = None


async def request_run(
    tx: Transaction,
    now: datetime,
    site: Site,
    record: JobRecord,
    *,
    cause: Cause = Cause.MANUAL,
    key: str | None = None,
    input_text: str | None = None,
) -> Requested:
    """Ask for a run of a job. What is not admitted is recorded as skipped, with the reason."""
    # Another job's key is another key.
    key = None if key is None else f"{record.id} {key}"
    if key is not None and (earlier := await tx.find_key(key=key)) is not None:
        return Requested(earlier[0], is_new=False)
    (run_id,) = site.entropy.ids("run", now, 1)
    if key is not None and not await tx.insert_key(key=key, run_id=run_id, now=micros(now)):
        earlier = await tx.find_key(key=key)
        return Requested(earlier[0] if earlier else run_id, is_new=False)
    (requested,) = await request_runs(tx, now, site, [Wish(run_id, record, input_text)], cause=cause)
    return requested


async def request_runs(
    tx: Transaction, now: datetime, site: Site, wishes: Sequence[Wish], *, cause: Cause = Cause.MANUAL
) -> list[Requested]:
    """Ask for several runs, one after the other: each is admitted beside those before it."""
    waiting: dict[str, list[WaitingRecord]] = {wish.record.id: [] for wish in wishes}
    for row in await tx.queue_of_jobs(ids=sorted(waiting)):
        waiting[row.job_id].append(row)
    requested, rows, queued = [], [], []
    for wish in wishes:
        beside = waiting[wish.record.id]
        answer = _admission(now, wish.record, beside, cause)
        rows.append(_row(now, site, wish, answer, cause))
        if isinstance(answer, Admit):
            queued.append(queue_row(wish.run_id, wish.record, cause=cause, start_after=now))
            beside.append(WaitingRecord(*queued[-1]))
        requested.append(Requested(wish.run_id, is_new=True, admission=answer))
    await tx.insert_runs(new=rows)
    await tell(tx, now, site, [msgspec.structs.replace(event, by=site.caller.name) for event in inserted(rows)])
    if queued:
        await tx.enqueue(new=queued)
        await tx.ring()
    return requested


def _admission(now: datetime, record: JobRecord, waiting: Sequence[WaitingRecord], cause: Cause) -> Admission:
    overlap = definition_of(record.definition).overlap
    return admit(now, job_state(record), cause=cause, live=live_runs(record, waiting), overlap=overlap)


def _row(now: datetime, site: Site, wish: Wish, answer: Admission, cause: Cause) -> Row:
    return run_row(
        wish.run_id,
        wish.record,
        now=now,
        cause=cause,
        state=RunState.QUEUED if isinstance(answer, Admit) else RunState.SKIPPED,
        reason=None if isinstance(answer, Admit) else answer.reason,
        note=None if isinstance(answer, Admit) else answer.detail or None,
        input=wish.input_text,
        trace_id=site.entropy.hex(32),
    )
