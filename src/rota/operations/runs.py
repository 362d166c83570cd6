"""Runs: looking at them, ending them, asking for them again."""

from __future__ import annotations

import msgspec

from rota.core.decision import describe
from rota.core.run import LIVE, Cause, RunState
from rota.core.settlement import Outcome
from rota.errors import ConflictError, NotFoundError
from rota.ledger.plans import hold
from rota.ledger.record import end_waiting
from rota.ledger.requests import Requested, request_run
from rota.ledger.site import Site
from rota.ports.records import OutputRecord, RunRecord, encode, trail_of
from rota.ports.store import Transaction

_LAST = "run_z"


class CancelledRun(msgspec.Struct, frozen=True):
    """Whether the run has ended already, or has been told to."""

    run_id: str
    is_ended: bool


async def find_run(site: Site, run_id: str) -> RunRecord:
    """A run by its id, the beginning of it, or its last digits as lists show them."""

    async def body(tx: Transaction) -> list[RunRecord]:
        exact = await tx.find_run(run_id=run_id)
        if exact is not None:
            return [exact]
        prefix = run_id if run_id.startswith("run_") else f"run_{run_id}"
        return await tx.runs_by_prefix(prefix=prefix, end=prefix + "g", most=3)

    found = await site.store.read(body)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFoundError(f'There is no run "{run_id}". See the latest: rota runs')
    raise ConflictError(f'"{run_id}" could be several runs. Give more of the id.')


async def list_runs(site: Site, *, job_id: str | None = None, most: int = 20) -> list[RunRecord]:
    """The latest runs, newest first."""
    if job_id is None:
        return await site.store.read(lambda tx: tx.runs(before=_LAST, most=most))
    return await site.store.read(lambda tx: tx.runs_of_job(job_id=job_id, before=_LAST, most=most))


async def cancel_run(site: Site, run_id: str, *, by: str, reason: str = "by_hand") -> CancelledRun:
    """End a run: at once if it waits; one that runs is told to, and its worker confirms."""
    record, now = await find_run(site, run_id), site.clock.now()

    async def body(tx: Transaction) -> CancelledRun:
        (run,) = await tx.lock_runs(ids=[record.id])
        if run.state not in LIVE:
            raise ConflictError(f"{run.id} has ended already: {run.state}")
        if run.state == RunState.RUNNING:
            await tx.ask_cancel(ids=[run.id], cancel=encode({"by": by, "reason": reason}))
            await tx.ring()
            return CancelledRun(run.id, is_ended=False)
        waiting = await tx.queue_of_runs(ids=[run.id])
        outcome = Outcome(state=RunState.CANCELLED, reason=reason, error=f"by {by}")
        await end_waiting(tx, now, waiting, outcome, site)
        return CancelledRun(run.id, is_ended=True)

    return await site.store.write(body)


async def retry_run(site: Site, run_id: str) -> Requested:
    """Ask for the work of a run once more, with the same input."""
    record, now = await find_run(site, run_id), site.clock.now()
    if record.state in LIVE:
        raise ConflictError(f"{record.id} has not ended: {record.state}")

    async def body(tx: Transaction) -> Requested:
        job = (await hold(tx, [record.job_id])).get(record.job_id)
        if job is None:
            raise NotFoundError(f'The job "{record.job}" is gone, so its run cannot be done again.')
        return await request_run(tx, now, site, job, cause=Cause.MANUAL, input_text=record.input)

    return await site.store.write(body)


async def read_output(site: Site, run_id: str, *, after: int = 0, most: int = 500) -> list[OutputRecord]:
    """The output of a run after a sequence number, in order."""
    return await site.store.read(lambda tx: tx.output(run_id=run_id, after=after, most=most))


def why(run: RunRecord) -> tuple[str, ...]:
    """Why this run happened, and how it ended, a line a step."""
    cause = f"cause: {run.cause}" + (f" (attempt {run.attempt} of {run.origin})" if run.attempt > 1 else "")
    end = f"{run.state}" + (f": {run.reason}" if run.reason else "") + (f", {run.error}" if run.error else "")
    return (cause, *describe(trail_of(run.trail)), end)
