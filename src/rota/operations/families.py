"""Families: a run's other attempts, what set it in motion, and what it has set in motion."""

from __future__ import annotations

import msgspec

from rota.ledger.site import Site
from rota.operations.inputs import Name
from rota.operations.jobs import may_see
from rota.operations.runs import find_run
from rota.operations.views import RunView, run_view
from rota.ports.records import RunRecord
from rota.ports.store import Transaction

# A new attempt follows soon; between two of them there are few other runs of the same job.
_LOOKED_AT = 1_000
_MOST_CHILDREN = 500


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that belong to a run."""

    attempts: tuple[RunView, ...]
    """All attempts at the same work, this one among them, the first one first."""
    parents: tuple[RunView, ...]
    """What set it in motion, and what set that in motion: the nearest one first."""
    children: tuple[RunView, ...]
    """What any of its attempts has set in motion."""


async def show_family(site: Site, *, run: Name) -> Family:
    """The attempts at the work of a run, the runs that led to it, and those that followed from it."""
    record = await find_run(site, run)

    async def body(tx: Transaction) -> tuple[list[RunRecord], list[RunRecord], list[RunRecord]]:
        attempts = await _attempts(tx, record)
        ids = [attempt.id for attempt in attempts]
        return attempts, await tx.ancestors(run_id=record.id), await tx.children_of_runs(ids=ids, most=_MOST_CHILDREN)

    attempts, parents, children = await site.store.read(body)
    return Family(attempts=_seen(site, attempts), parents=_seen(site, parents), children=_seen(site, children))


async def _attempts(tx: Transaction, record: RunRecord) -> list[RunRecord]:
    """Attempts at the same work share its trace, its due time and its parent."""
    if record.trace_id is None:
        return [record]
    found = await tx.attempts(
        job_id=record.job_id,
        run_id=record.id,
        trace_id=record.trace_id,
        parent_id=record.parent_id,
        due_at=record.due_at,
        most=_LOOKED_AT,
    )
    return found or [record]


def _seen(site: Site, found: list[RunRecord]) -> tuple[RunView, ...]:
    return tuple(run_view(run) for run in found if may_see(site.caller, run.agent, run.job_id))
