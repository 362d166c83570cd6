"""Fleets: a whole file becomes jobs in one transaction. Plans, failure counts and history stay."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec

from rota.core.action import POOL_SIZES
from rota.core.definition import Definition
from rota.core.schedule import Once
from rota.errors import ConflictError
from rota.ledger.jobs import DEFAULT_SIZE, Edit, Placed, add_jobs, edit_jobs, enable_jobs, take_jobs_away
from rota.ledger.site import Site
from rota.ports.records import AgentRecord, FleetRecord, JobRecord, Origin, definition_of, encode, micros, origin_of
from rota.ports.store import Transaction


class WantedJob(msgspec.Struct, frozen=True):
    """A job as a file wants it."""

    definition: Definition
    origin: Origin
    renamed_from: str | None = None


class WantedAgent(msgspec.Struct, frozen=True):
    name: str
    line: int
    description: str
    timezone: str | None
    max_concurrent: int | None


class WantedFleet(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a file says."""

    name: str
    file: str
    description: str
    timezone: str
    checksum: str
    jobs: tuple[WantedJob, ...]
    agents: tuple[WantedAgent, ...]
    pools: Mapping[str, int]


class LimitChange(msgspec.Struct, frozen=True):
    """A pool or an agent whose size the file changes."""

    scope: str
    name: str
    before: int | None
    after: int


class FleetPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What applying a file would do."""

    added: tuple[WantedJob, ...]
    edited: tuple[tuple[JobRecord, WantedJob], ...]
    """Also those that get another name, or are taken over from people."""
    moved: tuple[tuple[JobRecord, WantedJob], ...]
    """Nothing but their place in the file changed."""
    removed: tuple[JobRecord, ...]
    switched: tuple[tuple[JobRecord, bool], ...]
    """Jobs for which the file changed its mind on whether they are enabled."""
    limits: tuple[LimitChange, ...]
    """Those sizes that the file changed since it was last applied: others were set by hand since."""
    unchanged: int
    replaced: tuple[str, ...] = ()
    """Names that the fleet of this file had before."""


async def plan_fleet(tx: Transaction, wanted: WantedFleet, *, takes_over: bool = False) -> FleetPlan:
    """Compare a file with what is there."""
    fleets = await tx.fleets()
    before = next((one for one in fleets if one.name == wanted.name), None)
    _check_file(before, wanted, takes_over=takes_over)
    former = [one.name for one in fleets if one.file == wanted.file and one.name != wanted.name]
    own = {wanted.name, *(former if takes_over else ())}
    agents = await tx.agents()
    _check_agents(agents, wanted, own, former)
    present = {record.name: record for name in sorted(own) for record in await tx.jobs_of_fleet(fleet=name)}
    present |= await _others(tx, wanted, present, former, takes_over=takes_over)
    matched = {job.definition.name: record for job in wanted.jobs if (record := _match(job, present)) is not None}
    pairs = [
        (matched[job.definition.name], _kept(job, matched)) for job in wanted.jobs if job.definition.name in matched
    ]
    kept = {record.id for record in matched.values()}
    edited = [pair for pair in pairs if _is_edited(*pair, fleet=wanted.name)]
    same = [pair for pair in pairs if not _is_edited(*pair, fleet=wanted.name)]
    moved = [(record, job) for record, job in same if origin_of(record) != job.origin]
    return FleetPlan(
        added=tuple(job for job in wanted.jobs if job.definition.name not in matched),
        edited=tuple(edited),
        moved=tuple(moved),
        removed=tuple(one for one in present.values() if one.id not in kept and one.fleet in own),
        switched=tuple(
            (record, job.origin.is_enabled)
            for record, job in pairs
            if record.is_proposed or _was_enabled(record) != job.origin.is_enabled
        ),
        limits=(*_pool_changes(fleets, wanted, own), *_agent_changes(agents, wanted, own)),
        unchanged=len(same),
        replaced=tuple(sorted(own - {wanted.name})),
    )


async def apply_fleet(
    tx: Transaction, now: datetime, site: Site, wanted: WantedFleet, *, takes_over: bool = False
) -> FleetPlan:
    """Make the jobs those of the file: all of it, or nothing."""
    plan = await plan_fleet(tx, wanted, takes_over=takes_over)
    if plan.removed:
        await take_jobs_away(tx, now, site, [record.id for record in plan.removed])
    await edit_jobs(tx, now, site, [Edit(record, _placed(wanted, job)) for record, job in plan.edited])
    if plan.added:
        await add_jobs(tx, now, site, [_placed(wanted, job) for job in plan.added])
    if plan.moved:
        await tx.place_jobs(placed=[(record.id, *_placed(wanted, job).columns) for record, job in plan.moved])
    for is_enabled in (True, False):
        ids = [record.id for record, wants in plan.switched if wants is is_enabled]
        await enable_jobs(tx, now, site, ids, is_enabled=is_enabled)
    for limit in plan.limits:
        await tx.size_slot(scope=limit.scope, name=limit.name, size=limit.after)
    await _save(tx, now, wanted, plan.replaced)
    await tx.ring()
    return plan


def _pool_changes(fleets: Sequence[FleetRecord], wanted: WantedFleet, own: Collection[str]) -> list[LimitChange]:
    earlier: dict[str, int] = {}
    elsewhere: dict[str, int] = {}
    for one in fleets:
        (earlier if one.name in own else elsewhere).update(msgspec.json.decode(one.pools, type=dict[str, int]))
    taken_back = {name: elsewhere.get(name, POOL_SIZES.get(name, DEFAULT_SIZE)) for name in earlier}
    return _limit_changes("pool", earlier, {**taken_back, **wanted.pools})


def _agent_changes(agents: Sequence[AgentRecord], wanted: WantedFleet, own: Collection[str]) -> list[LimitChange]:
    earlier = {one.name: one.max_concurrent for one in agents if one.fleet in own and one.max_concurrent is not None}
    sizes = {one.name: one.max_concurrent for one in wanted.agents if one.max_concurrent is not None}
    return _limit_changes("agent", earlier, {**dict.fromkeys(earlier, DEFAULT_SIZE), **sizes})


def _limit_changes(scope: str, earlier: Mapping[str, int], sizes: Mapping[str, int]) -> list[LimitChange]:
    """What the file says anew. Of what it no longer says, the usual size comes back."""
    return [
        LimitChange(scope, name, earlier.get(name), size) for name, size in sizes.items() if earlier.get(name) != size
    ]


def _check_agents(
    agents: Sequence[AgentRecord], wanted: WantedFleet, own: Collection[str], former: Collection[str]
) -> None:
    owners = {agent.name: agent.fleet for agent in agents}
    for agent in wanted.agents:
        other = owners.get(agent.name, wanted.name)
        if other not in own:
            cure = _take_over(wanted, other) if other in former else "Give it another name."
            raise ConflictError(f'The agent "{agent.name}" belongs to the fleet "{other}". {cure}')


def _take_over(wanted: WantedFleet, former: str) -> str:
    """How a fleet gets another name."""
    return f'If "{former}" was the name of this fleet: rota apply --take-over {wanted.file}'


async def _save(tx: Transaction, now: datetime, wanted: WantedFleet, replaced: Sequence[str]) -> None:
    """The fleet itself and its agents."""
    known = await tx.agents()
    for fleet in (wanted.name, *replaced):
        gone = {one.name for one in known if one.fleet == fleet} - {agent.name for agent in wanted.agents}
        await tx.delete_agents(fleet=fleet, names=sorted(gone))
    if replaced:
        await tx.delete_fleets(names=replaced)
    if wanted.agents:
        rows = [
            (one.name, wanted.name, one.line, one.description, one.timezone, one.max_concurrent)
            for one in wanted.agents
        ]
        await tx.save_agents(new=rows)
    await tx.save_fleet(
        name=wanted.name,
        file=wanted.file,
        description=wanted.description,
        timezone=wanted.timezone,
        pools=encode(dict(wanted.pools)),
        checksum=wanted.checksum,
        now=micros(now),
    )


def _check_file(before: FleetRecord | None, wanted: WantedFleet, *, takes_over: bool) -> None:
    """Two files of the same name would take each other's jobs away."""
    if before is not None and before.file != wanted.file and not takes_over:
        raise ConflictError(
            f'The fleet "{wanted.name}" was applied from {before.file}. If this file took its place: '
            f"rota apply --take-over {wanted.file}. If it is another fleet, name it in the file: fleet: {{name: …}}"
        )


async def _others(
    tx: Transaction,
    wanted: WantedFleet,
    present: Mapping[str, JobRecord],
    former: Collection[str],
    *,
    takes_over: bool,
) -> dict[str, JobRecord]:
    """Jobs that have a name which the file wants, but are not from it."""
    names = {job.definition.name for job in wanted.jobs} | {job.renamed_from for job in wanted.jobs if job.renamed_from}
    found = await tx.jobs_by_name(names=sorted(names - set(present)))
    wanted_names = {job.definition.name for job in wanted.jobs}
    # What is only proposed gives way: it is nobody's job yet.
    kept = [one for one in found if one.name in wanted_names and not one.is_proposed]
    strangers = [one for one in kept if one.fleet is not None or not takes_over]
    if strangers:
        named = ", ".join(sorted(one.name for one in strangers)[:5])
        whose = f'the fleet "{strangers[0].fleet}"' if strangers[0].fleet else "jobs that were added by hand"
        raise ConflictError(f"These names are taken by {whose}: {named}. {_cure(wanted, strangers[0].fleet, former)}")
    return {one.name: one for one in found if one.fleet is None}


def _cure(wanted: WantedFleet, fleet: str | None, former: Collection[str]) -> str:
    if fleet is None:
        return f"Take over with: rota apply --take-over {wanted.file}"
    return _take_over(wanted, fleet) if fleet in former else "Rename one of them"


def _match(job: WantedJob, present: Mapping[str, JobRecord]) -> JobRecord | None:
    """The job of this name, else the one that it had before."""
    record = present.get(job.definition.name)
    return record if record is not None or job.renamed_from is None else present.get(job.renamed_from)


def _kept(job: WantedJob, matched: Mapping[str, JobRecord]) -> WantedJob:
    """A job that runs once after a while counts from when the file was first applied, not from each time."""
    record = matched[job.definition.name]
    origin, before = origin_of(record), definition_of(record.definition)
    is_same_wait = job.origin.wait is not None and origin is not None and origin.wait == job.origin.wait
    if not is_same_wait or not isinstance(before.timing.schedule, Once):
        return job
    timing = msgspec.structs.replace(job.definition.timing, schedule=before.timing.schedule)
    return msgspec.structs.replace(job, definition=msgspec.structs.replace(job.definition, timing=timing))


def _is_edited(record: JobRecord, job: WantedJob, *, fleet: str) -> bool:
    return record.definition != encode(job.definition) or record.fleet != fleet


def _was_enabled(record: JobRecord) -> bool:
    origin = origin_of(record)
    return origin.is_enabled if origin is not None else bool(record.is_enabled)


def _placed(wanted: WantedFleet, job: WantedJob) -> Placed:
    return Placed(job.definition, wanted.name, job.origin)
