"""Counting runs: how many there are of what, so that one knows how much a filter leaves before acting on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from rota.core.run import Cause, RunState
from rota.ledger.site import Site
from rota.operations.inputs import Instant, Name, PriorityNumber
from rota.operations.jobs import may_see
from rota.operations.run_filters import RunFilter, run_filter
from rota.ports.records import KindRecord
from rota.ports.store import Transaction

LOOKED_AT = 20_000
_MOST_NAMES = 20


class Facet(msgspec.Struct, frozen=True):
    """A word that runs have in common, and how many have it."""

    name: str
    count: int


class RunCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs are meant. States, causes and agents are counted as if no one of them had been asked for, so that
    one sees what else there is."""

    total: int
    is_cut: bool
    """Whether there are so many that only the latest 20,000 in the time, or of the job, were looked at."""
    states: tuple[Facet, ...]
    causes: tuple[Facet, ...]
    agents: tuple[Facet, ...]
    jobs: tuple[Facet, ...]


async def count_runs(  # noqa: PLR0913 - a filter for each facet
    site: Site,
    *,
    job: Name | None = None,
    agent: Name | None = None,
    state: tuple[RunState, ...] = (),
    cause: Cause | None = None,
    priority: PriorityNumber | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
) -> RunCounts:
    """How many runs a list would have, and how many of each state, cause, agent and job."""
    wanted = await run_filter(
        site, job=job, agent=agent, state=state, cause=cause, priority=priority, since=since, until=until
    )

    async def body(tx: Transaction) -> list[KindRecord]:
        if wanted.job_id is None:
            return await tx.latest_kinds(before=wanted.end, since=wanted.begin, most=LOOKED_AT)
        return await tx.latest_kinds_of_job(job_id=wanted.job_id, before=wanted.end, since=wanted.begin, most=LOOKED_AT)

    kinds = await site.store.read(body)
    seen = [kind for kind in kinds if may_see(site.caller, kind.agent, kind.job_id)]
    return _counts(wanted, seen, is_cut=sum(kind.count for kind in kinds) >= LOOKED_AT)


def _counts(wanted: RunFilter, kinds: list[KindRecord], *, is_cut: bool) -> RunCounts:
    of_state, of_cause, of_agent = wanted.has_state, wanted.has_cause, wanted.has_agent
    every = _left(kinds, of_state, of_cause, of_agent)
    return RunCounts(
        total=sum(kind.count for kind in every),
        is_cut=is_cut,
        states=_facets((kind.state, kind.count) for kind in _left(kinds, of_cause, of_agent)),
        causes=_facets((kind.cause, kind.count) for kind in _left(kinds, of_state, of_agent)),
        agents=_facets((kind.agent, kind.count) for kind in _left(kinds, of_state, of_cause))[:_MOST_NAMES],
        jobs=_facets((kind.job, kind.count) for kind in every)[:_MOST_NAMES],
    )


def _left(kinds: Iterable[KindRecord], *filters: Callable[[KindRecord], bool]) -> list[KindRecord]:
    return [kind for kind in kinds if all(passes(kind) for passes in filters)]


def _facets(found: Iterable[tuple[str | None, int]]) -> tuple[Facet, ...]:
    """The most frequent first."""
    counts: Counter[str] = Counter()
    for name, count in found:
        if name is not None:
            counts[name] += count
    return tuple(Facet(name, count) for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))
