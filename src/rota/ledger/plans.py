"""Plans are held first and read then: what is read beside a plan would be older than the plan if that had to wait."""

from __future__ import annotations

from collections.abc import Iterable

from rota.core.definition import Definition
from rota.core.overlap import Overlap
from rota.core.schedule import Every, Once
from rota.errors import NotFoundError
from rota.ports.records import JobRecord
from rota.ports.store import Transaction


async def hold_due(tx: Transaction, *, now: int, most: int) -> list[JobRecord]:
    """The jobs that are due and that nobody else holds, by their time."""
    ids = [job_id for (job_id,) in await tx.hold_due_plans(now=now, most=most)]
    records = {record.id: record for record in await tx.jobs_by_id(ids=ids)} if ids else {}
    return [records[job_id] for job_id in ids if job_id in records]


async def hold_free(tx: Transaction, ids: Iterable[str]) -> dict[str, JobRecord]:
    """Those of these jobs that nobody else holds."""
    held = [job_id for (job_id,) in await tx.hold_free_plans(ids=sorted(set(ids)))]
    return {record.id: record for record in await tx.jobs_by_id(ids=held)} if held else {}


async def hold(tx: Transaction, ids: Iterable[str]) -> dict[str, JobRecord]:
    """All of these jobs, after whoever holds them now."""
    held = [job_id for (job_id,) in await tx.hold_plans(ids=sorted(set(ids)))]
    return {record.id: record for record in await tx.jobs_by_id(ids=held)} if held else {}


async def hold_one(tx: Transaction, job_id: str) -> JobRecord:
    record = (await hold(tx, [job_id])).get(job_id)
    if record is None:
        raise NotFoundError(f"The job {job_id} is gone.")
    return record


def ends_plainly(record: JobRecord, definition: Definition) -> bool:
    """Whether a success, unless something happens meanwhile, leaves the plan as the fire left it."""
    timing = definition.timing
    return (
        record.failure_count == 0
        and record.lost_count == 0
        and record.hints == "[]"
        and not isinstance(timing.schedule, Every | Once)
        and definition.overlap.policy is Overlap.SKIP
        and timing.min_interval is None
        and timing.max_interval is None
    )
