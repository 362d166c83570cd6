"""Fleet files: checked, compared with what is there, and applied whole."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from rota.config.spell import spell_job
from rota.core.definition import Definition
from rota.errors import Problem
from rota.ledger.fleets import FleetPlan, LimitChange, WantedAgent, WantedFleet, WantedJob, apply_fleet, plan_fleet
from rota.ledger.site import Site
from rota.operations.auditing import Change, put_on_record
from rota.operations.inputs import FleetSource, Name, Words, Zone
from rota.operations.thinking import think
from rota.ports.records import JobRecord, Origin, definition_of
from rota.ports.store import Transaction

if TYPE_CHECKING:
    from rota.config.fleet import Fleet


class FleetText(msgspec.Struct, frozen=True, kw_only=True):
    """A file, where it is, and the surroundings in which its words are read."""

    text: FleetSource
    file: Name = "rota.yaml"
    environment: dict[str, str] = {}
    timezone: Zone = "UTC"


class FleetSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A file that can be applied, and what a person should know about it."""

    fleet: str
    file: str
    jobs: int
    agents: int
    warnings: tuple[Problem, ...]


class FieldChange(msgspec.Struct, frozen=True):
    """One word of a definition that changes; none is a word that is not there."""

    field: str
    before: Any
    after: Any


class JobChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a job: ``added``, ``edited``, ``renamed``, ``removed``, ``enabled`` or ``disabled``."""

    change: str
    job: str
    line: int | None = None
    renamed_from: str | None = None
    fields: tuple[FieldChange, ...] = ()


class FleetChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What applying a file changes, or has changed."""

    fleet: str
    file: str
    changes: tuple[JobChange, ...]
    limits: tuple[LimitChange, ...]
    unchanged: int
    warnings: tuple[Problem, ...]
    is_applied: bool


async def check_fleet(site: Site, *, source: FleetText) -> FleetSummary:
    """Say everything that is wrong with a file; if nothing is, what is in it."""
    fleet = await load(site, source)
    return FleetSummary(
        fleet=fleet.name,
        file=source.file,
        jobs=len(fleet.jobs),
        agents=len(fleet.agents),
        warnings=fleet.warnings,
    )


async def diff_fleet(site: Site, *, source: FleetText, takes_over: bool = False) -> FleetChanges:
    """What applying a file would change."""
    fleet = await load(site, source)
    wanted = wanted_fleet(fleet, source)
    plan = await site.store.read(lambda tx: plan_fleet(tx, wanted, takes_over=takes_over))
    return _changes(plan, wanted, fleet.warnings, is_applied=False)


async def apply_file(site: Site, *, source: FleetText, takes_over: bool = False) -> FleetChanges:
    """Make the jobs those of the file, in one transaction. Next times, failure counts and history stay."""
    return await apply_loaded(site, await load(site, source), source, takes_over=takes_over)


async def apply_loaded(site: Site, fleet: Fleet, source: FleetText, *, takes_over: bool = False) -> FleetChanges:
    """Apply a file that was read already."""
    wanted = wanted_fleet(fleet, source)
    now = site.clock.now()

    async def body(tx: Transaction) -> FleetChanges:
        plan = await apply_fleet(tx, now, site, wanted, takes_over=takes_over)
        changes = _changes(plan, wanted, fleet.warnings, is_applied=True)
        records = [*(_audited(change) for change in changes.changes), *(_sized(limit) for limit in changes.limits)]
        applied = Change(
            operation="fleet.apply",
            subject=wanted.name,
            event="fleet.applied",
            after={"file": wanted.file, "changes": len(changes.changes), "checksum": wanted.checksum},
        )
        if records:
            await put_on_record(tx, now, site, *records, applied)
        return changes

    return await site.store.write(body)


async def fleet_schema(site: Site) -> Words:  # noqa: ARG001 - operations share one signature
    """The JSON Schema of the fleet file, for editors."""
    from rota.config.schema import fleet_schema as schema  # noqa: PLC0415

    return schema()


async def load(site: Site, source: FleetText) -> Fleet:
    """Read a file; everything that is wrong with it at once. A large one takes a while, so nobody waits for it."""
    now = site.clock.now()
    return await think(lambda: _load(source, now))


def _load(source: FleetText, now: datetime) -> Fleet:
    # What reads the fleet file takes a while to load, and most commands never need it.
    from rota.config.fleet import Surroundings, load_fleet  # noqa: PLC0415

    folder = posixpath.dirname(source.file)
    surroundings = Surroundings(
        file=source.file,
        folder=folder,
        home=source.environment.get("HOME", folder),
        environment=source.environment,
        zone=source.timezone,
        now=now,
    )
    return load_fleet(source.text.encode("utf-8", "surrogatepass"), surroundings)


def wanted_fleet(fleet: Fleet, source: FleetText) -> WantedFleet:
    return WantedFleet(
        name=fleet.name,
        file=source.file,
        description=fleet.description,
        timezone=fleet.timezone,
        checksum=hashlib.sha256(source.text.encode("utf-8", "surrogatepass")).hexdigest(),
        jobs=tuple(
            WantedJob(
                job.definition,
                Origin(file=source.file, line=job.line, is_enabled=job.is_enabled, wait=job.wait),
                job.renamed_from,
            )
            for job in fleet.jobs
        ),
        agents=tuple(
            WantedAgent(one.name, one.line, one.description, one.timezone, one.max_concurrent) for one in fleet.agents
        ),
        pools=fleet.pools,
    )


def _changes(plan: FleetPlan, wanted: WantedFleet, warnings: tuple[Problem, ...], *, is_applied: bool) -> FleetChanges:
    switched = [
        JobChange(change="enabled" if is_enabled else "disabled", job=record.name)
        for record, is_enabled in plan.switched
    ]
    changes = [
        *(JobChange(change="removed", job=record.name, fields=_fields(record, None)) for record in plan.removed),
        *(_edited(record, job) for record, job in plan.edited),
        *(_added(job) for job in plan.added),
        *switched,
    ]
    return FleetChanges(
        fleet=wanted.name,
        file=wanted.file,
        changes=tuple(changes),
        limits=plan.limits,
        unchanged=plan.unchanged,
        warnings=warnings,
        is_applied=is_applied,
    )


def _added(job: WantedJob) -> JobChange:
    return JobChange(
        change="added", job=job.definition.name, line=job.origin.line, fields=_fields(None, job.definition)
    )


def _edited(record: JobRecord, job: WantedJob) -> JobChange:
    is_renamed = record.name != job.definition.name
    return JobChange(
        change="renamed" if is_renamed else "edited",
        job=job.definition.name,
        line=job.origin.line,
        renamed_from=record.name if is_renamed else None,
        fields=_fields(record, job.definition),
    )


def _fields(record: JobRecord | None, after: Definition | None) -> tuple[FieldChange, ...]:
    old: Mapping[str, Any] = spell_job(definition_of(record.definition)) if record else {}
    new: Mapping[str, Any] = spell_job(after) if after else {}
    names = [*new, *(name for name in old if name not in new)]
    return tuple(FieldChange(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name))


def _sized(limit: LimitChange) -> Change:
    before, after = ({"scope": limit.scope, "size": size} for size in (limit.before, limit.after))
    return Change(operation="pool.set", subject=limit.name, event="pool.set", before=before, after=after)


def _audited(change: JobChange) -> Change:
    verbs = {"added": "add", "edited": "edit", "renamed": "edit", "removed": "remove"}
    before = {one.field: one.before for one in change.fields if one.before is not None}
    after = {one.field: one.after for one in change.fields if one.after is not None}
    return Change(
        operation=f"job.{verbs.get(change.change, change.change.removesuffix('d'))}",
        subject=change.job,
        event=f"job.{change.change}",
        before=before or None,
        after=after or None,
        job=change.job,
    )
