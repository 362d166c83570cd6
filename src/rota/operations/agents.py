"""Agents: who owns jobs, how many of their runs may be under way, and how they fare."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rota.errors import NotFoundError
from rota.ledger.site import Site
from rota.operations.inputs import Instant, Name
from rota.operations.views import JobView, Page, job_view
from rota.ports.records import AgentRecord, FleetRecord, SlotRecord
from rota.ports.store import Transaction

_BATCH = 1_000


class AgentView(msgspec.Struct, frozen=True, kw_only=True):
    """An agent and how its jobs stand, all together."""

    name: str
    fleet: str | None
    file: str | None
    line: int | None
    description: str
    timezone: str | None
    max_concurrent: int | None
    running: int
    jobs: int
    failing: int
    """Jobs whose last run failed."""
    paused: int
    next_run_at: Instant | None
    last_run_at: Instant | None


class AgentDetail(AgentView, frozen=True, kw_only=True):
    jobs_of_agent: tuple[JobView, ...]


class _Known(msgspec.Struct, frozen=True):
    """What the database knows of agents, besides their jobs."""

    agents: dict[str, AgentRecord]
    files: dict[str, str]
    slots: dict[str, SlotRecord]

    @property
    def names(self) -> set[str]:
        return {*self.agents, *self.slots}


async def list_agents(site: Site) -> Page[AgentView]:
    """Every agent, by name: those of fleet files, and those that jobs name."""
    now = site.clock.now()

    async def body(tx: Transaction) -> tuple[_Known, dict[str, list[JobView]]]:
        jobs: dict[str, list[JobView]] = {}
        last = ""
        while batch := await tx.jobs(after=last, most=_BATCH):
            for record in batch:
                if record.agent is not None:
                    jobs.setdefault(record.agent, []).append(job_view(now, record))
            last = batch[-1].name
        return await _known(tx), jobs

    known, jobs = await site.store.read(body)
    names = sorted(known.names | set(jobs))
    shown = names if not site.caller.is_run else [name for name in names if name == site.caller.agent]
    return Page(tuple(AgentView(**_fields(name, known, jobs.get(name, ()))) for name in shown))  # type: ignore[arg-type]


async def show_agent(site: Site, *, agent: Name) -> AgentDetail:
    """One agent with its jobs."""
    now = site.clock.now()

    async def body(tx: Transaction) -> tuple[_Known, list[JobView]]:
        return await _known(tx), [job_view(now, record) for record in await tx.jobs_of_agent(agent=agent)]

    known, jobs = await site.store.read(body)
    is_hidden = site.caller.is_run and agent != site.caller.agent
    if is_hidden or (agent not in known.names and not jobs):
        raise NotFoundError(f'There is no agent "{agent}". See them all: rota agent list')
    return AgentDetail(**_fields(agent, known, jobs), jobs_of_agent=tuple(jobs))  # type: ignore[arg-type]


async def _known(tx: Transaction) -> _Known:
    agents = {agent.name: agent for agent in await tx.agents()}
    fleets: list[FleetRecord] = await tx.fleets()
    slots = {slot.name: slot for slot in await tx.slots() if slot.scope == "agent"}
    return _Known(agents, {fleet.name: fleet.file for fleet in fleets}, slots)


def _fields(name: str, known: _Known, jobs: Iterable[JobView]) -> dict[str, object]:
    record, slot = known.agents.get(name), known.slots.get(name)
    owned = tuple(jobs)
    return {
        "name": name,
        "fleet": record.fleet if record else None,
        "file": known.files.get(record.fleet) if record else None,
        "line": record.line if record else None,
        "description": record.description if record else "",
        "timezone": record.timezone if record else None,
        "max_concurrent": slot.size if slot else None,
        "running": slot.used if slot else 0,
        "jobs": len(owned),
        "failing": sum(job.failure_count > 0 for job in owned),
        "paused": sum(job.status == "paused" for job in owned),
        "next_run_at": min((job.next_run_at for job in owned if job.next_run_at), default=None),
        "last_run_at": max((job.last_run_at for job in owned if job.last_run_at), default=None),
    }
