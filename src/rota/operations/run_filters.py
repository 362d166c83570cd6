"""Which runs are meant: the filters that lists and counts of runs share."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import msgspec

from rota.core.run import LIVE, Cause, RunState, priority
from rota.errors import NotFoundError
from rota.ledger.site import Site
from rota.operations.jobs import find_job, may_see
from rota.ports.records import KindRecord, micros

FIRST, LAST = "run_0", "run_z"


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for. Ids begin with the time they were made, so a stretch of time is one of ids."""

    begin: str
    end: str
    job_id: str | None
    agent: str | None
    states: Collection[RunState] | None
    causes: Collection[Cause] | None

    @property
    def is_empty(self) -> bool:
        """Whether no run can be meant."""
        return self.causes is not None and not self.causes

    @property
    def is_live(self) -> bool:
        """Whether only runs that have not ended are meant: those wait in the queue, or a worker holds them."""
        return self.states is not None and LIVE.issuperset(self.states)

    def has_state(self, kind: KindRecord) -> bool:
        return self.states is None or kind.state in self.states

    def has_cause(self, kind: KindRecord) -> bool:
        return self.causes is None or kind.cause in self.causes

    def has_agent(self, kind: KindRecord) -> bool:
        return self.agent is None or kind.agent == self.agent


async def run_filter(  # noqa: PLR0913 - a filter for each facet
    site: Site,
    *,
    job: str | None,
    agent: str | None,
    state: tuple[RunState, ...],
    cause: Cause | None,
    priority: int | None,
    since: datetime | None,
    until: datetime | None,
) -> RunFilter:
    """The filters as the store understands them. What a run may not see does not count for it either."""
    own_job = site.caller.job_id if site.caller.is_run and site.caller.agent is None else None
    is_foreign = site.caller.is_run and agent not in (None, site.caller.agent)
    return RunFilter(
        begin=FIRST if since is None else f"run_{micros(since):014x}",
        end=LAST if until is None else f"run_{micros(until):014x}",
        job_id=await _job_id(site, job) if job is not None else own_job,
        agent=agent or site.caller.agent,
        states=state or None,
        causes=() if is_foreign else _causes(cause, priority),
    )


def _causes(cause: Cause | None, wanted: int | None) -> tuple[Cause, ...] | None:
    """A priority is not kept with a run: its cause says it."""
    if cause is None and wanted is None:
        return None
    return tuple(one for one in Cause if cause in (None, one) and wanted in (None, priority(one)))


async def _job_id(site: Site, job: str) -> str:
    """The job, or the one of this name that was last seen before it was removed."""
    try:
        return (await find_job(site, job)).id
    except NotFoundError:
        latest = await site.store.read(lambda tx: tx.runs_of_name(job=job, before=LAST, most=1))
        if not latest or not may_see(site.caller, latest[0].agent, latest[0].job_id):
            raise
        return latest[0].job_id
