"""Chains: the jobs that lead to a job, and those that follow from it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rota.core.chain import After
from rota.core.duration import format_duration
from rota.core.job import job_status
from rota.ledger.site import Site
from rota.operations.inputs import Name
from rota.operations.jobs import find_job, may_see
from rota.ports.records import JobRecord, definition_of, job_state
from rota.ports.store import Transaction

MISSING = "missing"


class ChainJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job of a chain. ``missing`` is the status of one that another waits for though it is not there."""

    name: str
    status: str
    is_self: bool
    depth: int
    """How many links it is away: what leads to the job in question has a number below zero."""


class ChainLink(msgspec.Struct, frozen=True, kw_only=True):
    """When a run of one job is followed by one of another."""

    parent: str
    child: str
    on: str
    when: str | None
    delay: str | None


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one job is linked with, directly or through others; what comes first is first."""

    jobs: tuple[ChainJob, ...]
    links: tuple[ChainLink, ...]


class _Walk:
    """Jobs by their names, with how far away they are."""

    def __init__(self, start: JobRecord) -> None:
        self.records: dict[str, tuple[int, JobRecord | None]] = {start.name: (0, start)}
        self.links: list[ChainLink] = []

    def add(self, name: str, depth: int, record: JobRecord | None) -> bool:
        """Whether a job is new here; one that leads to itself is not walked again."""
        is_new = name not in self.records
        self.records.setdefault(name, (depth, record))
        return is_new


async def show_chain(site: Site, *, job: Name) -> Chain:
    """The jobs that lead to a job and those that follow from it, and on which conditions."""
    record, now = await find_job(site, job), site.clock.now()

    async def body(tx: Transaction) -> _Walk:
        walk = _Walk(record)
        await _walk_up(tx, walk, record)
        await _walk_down(tx, walk, record)
        return walk

    walk = await site.store.read(body)
    seen = {
        name: (depth, one)
        for name, (depth, one) in walk.records.items()
        if one is None or may_see(site.caller, one.agent, one.id)
    }
    jobs = (
        ChainJob(
            name=name,
            status=MISSING if one is None else job_status(now, job_state(one)).value,
            is_self=name == record.name,
            depth=depth,
        )
        for name, (depth, one) in seen.items()
    )
    return Chain(
        jobs=tuple(sorted(jobs, key=lambda one: (one.depth, one.name))),
        links=tuple(link for link in walk.links if link.parent in seen and link.child in seen),
    )


async def _walk_up(tx: Transaction, walk: _Walk, record: JobRecord) -> None:
    """A job waits for one other at most, so what leads to it is a line."""
    child: JobRecord | None = record
    depth = 0
    while child is not None and (after := _after(child)) is not None:
        depth -= 1
        found = await tx.jobs_by_name(names=[after.job])
        parent = found[0] if found else None
        walk.links.insert(0, _link(after, child))
        child = parent if walk.add(after.job, depth, parent) else None


async def _walk_down(tx: Transaction, walk: _Walk, record: JobRecord) -> None:
    names, depth = [record.name], 0
    while names:
        depth += 1
        children = [JobRecord(*row[1:]) for row in await tx.children_of(names=names)]
        walk.links += _links(children)
        names = [child.name for child in children if walk.add(child.name, depth, child)]


def _links(children: Iterable[JobRecord]) -> list[ChainLink]:
    return [_link(after, child) for child in children if (after := _after(child)) is not None]


def _link(after: After, child: JobRecord) -> ChainLink:
    delay = format_duration(after.delay) if after.delay else None
    return ChainLink(parent=after.job, child=child.name, on=after.on.value, when=after.when, delay=delay)


def _after(record: JobRecord) -> After | None:
    schedule = definition_of(record.definition).timing.schedule
    return schedule if isinstance(schedule, After) else None
