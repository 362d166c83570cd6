"""Requests: a run that somebody asks for, by hand or from outside."""

from __future__ import annotations

from datetime import datetime

import msgspec

from rota.core.admission import Admission, Admit, admit
from rota.core.run import Cause, RunState
from rota.ledger.events import Event, tell
from rota.ledger.rows import queue_row, run_row
from rota.ledger.site import Site
from rota.ports.records import JobRecord, definition_of, job_state, live_runs, micros
from rota.ports.store import Transaction


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
    waiting = await tx.queue_of_jobs(ids=[record.id])
    definition = definition_of(record.definition)
    answer = admit(now, job_state(record), cause=cause, live=live_runs(record, waiting), overlap=definition.overlap)
    is_admitted = isinstance(answer, Admit)
    state = RunState.QUEUED if is_admitted else RunState.SKIPPED
    reason = None if isinstance(answer, Admit) else answer.reason
    await tx.insert_runs(
        new=[
            run_row(
                run_id,
                record,
                now=now,
                cause=cause,
                state=state,
                reason=reason,
                note=None if isinstance(answer, Admit) else answer.detail or None,
                input=input_text,
                trace_id=site.entropy.hex(32),
            )
        ]
    )
    await tell(tx, now, site, [Event(f"run.{state}", record.name, run_id, state, reason, site.caller.name)])
    if is_admitted:
        await tx.enqueue(new=[queue_row(run_id, record, cause=cause, start_after=now)])
        await tx.ring()
    return Requested(run_id, is_new=True, admission=answer)
