"""Habits: how long the latest runs of a job took, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from statistics import median

import msgspec

from rota.core.run import RunState
from rota.core.usage import Usage
from rota.ledger.site import Site
from rota.ports.records import JobRecord, RunRecord, run_of
from rota.ports.store import Transaction

_LOOKED_AT = 20
# Nobody else reads a file of SQLite during a read, so each is short.
_JOBS_TOGETHER = 50
_CENTS = Decimal("0.000001")


class Habit(msgspec.Struct, frozen=True):
    """What is usual for a job; none where nothing is known."""

    duration: timedelta | None = None
    usage: tuple[Usage, int] | None = None
    """What some runs used together, and how many these were."""

    @property
    def length(self) -> timedelta:
        return self.duration or timedelta()

    def cost(self, count: int) -> Decimal | None:
        """What so many runs will cost."""
        return None if self.usage is None else (self.usage[0].cost * count / self.usage[1]).quantize(_CENTS)

    def tokens(self, count: int) -> int | None:
        return None if self.usage is None else self.usage[0].tokens * count // self.usage[1]


async def habits_of(site: Site, records: Sequence[JobRecord]) -> dict[str, Habit]:
    """The habits of jobs that have run, by their ids."""
    ran = [record.id for record in records if record.live_run is not None or record.last_completed_at is not None]
    found: dict[str, Habit] = {}
    for first in range(0, len(ran), _JOBS_TOGETHER):
        found |= await site.store.read(lambda tx, first=first: _read(tx, ran[first : first + _JOBS_TOGETHER]))  # type: ignore[misc]
    return found


async def _read(tx: Transaction, job_ids: Sequence[str]) -> dict[str, Habit]:
    return {job_id: habit(await tx.runs_of_job(job_id=job_id, before="run_z", most=_LOOKED_AT)) for job_id in job_ids}


def habit(runs: Sequence[RunRecord]) -> Habit:
    """What some runs of a job have in common."""
    lengths = [
        run.ended_at - run.started_at
        for run in runs
        if run.state == RunState.SUCCEEDED and run.started_at is not None and run.ended_at is not None
    ]
    used = [run_of(run).usage for run in runs if run.usage is not None]
    return Habit(
        timedelta(microseconds=max(0, median(lengths))) if lengths else None,
        (sum(used, Usage()), len(used)) if used else None,
    )
