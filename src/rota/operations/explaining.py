"""Why: the cause of a run, of the next time, and of there having been none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rota.core.admission import Skip, admit
from rota.core.decision import describe
from rota.core.job import JobState
from rota.core.run import Cause
from rota.ledger.site import Site
from rota.operations.inputs import Instant, Name
from rota.operations.jobs import find_job
from rota.operations.runs import find_run
from rota.operations.views import Why, why_run
from rota.operations.waiting import waits_for
from rota.ports.records import (
    JobRecord,
    RunRecord,
    definition_of,
    instant,
    instant_or_none,
    job_state,
    live_runs,
    trail_of,
)

_LOOKED_AT = 1_000


async def explain_run(site: Site, *, run: Name) -> Why:
    """Why a run happened, how it ended, and what it waits for."""
    record = await find_run(site, run)
    return Why((*why_run(record), *await waits_for(site, record)))


async def explain_job(site: Site, *, job: Name, at: Instant | None = None) -> Why:
    """Why a job runs next when it does; with ``at``, why it did or did not run then."""
    record = await find_job(site, job)
    if at is None:
        return Why(describe(trail_of(record.trail)))
    return Why(await _explain_time(site, record, at))


async def _explain_time(site: Site, record: JobRecord, at: datetime) -> tuple[str, ...]:
    """What is on record for a time, else what the rules say of it."""
    now = site.clock.now()
    runs = await site.store.read(lambda tx: tx.runs_of_job(job_id=record.id, before="run_z", most=_LOOKED_AT))
    for run in runs:
        first, last = instant_or_none(run.due_at), instant_or_none(run.last_due_at or run.due_at)
        # People give seconds; an interval counts from a moment within one.
        if first is not None and last is not None and first.replace(microsecond=0) <= at <= last:
            detail = f" ({run.folded} times in a row)" if run.folded and run.folded > 1 else ""
            reason = f": {run.reason}" if run.reason else ""
            return (f"{run.id} was due then: {run.state}{reason}{detail}", *describe(trail_of(run.trail)))
    if at > now:
        return (f"That time is still to come; next: {_next(record)}", *describe(trail_of(record.trail)))
    return (
        f"No due time of {record.name} is on record for then; next: {_next(record)}",
        *_around(runs, at),
        *_rules(job_state(record), at, record),
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
    if not isinstance(answer, Skip):
        return ()
    return (f"By the rules: {answer.reason}" + (f" ({answer.detail})" if answer.detail else ""),)
