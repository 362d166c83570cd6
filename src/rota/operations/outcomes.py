"""Outcomes: the latest runs of many jobs at once, a strip for each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rota.errors import ScheduleError
from rota.ledger.site import Site
from rota.operations.inputs import Cursor, Few, Name
from rota.operations.jobs import find_job
from rota.operations.views import Page, RunMark, run_mark
from rota.ports.glances import MarkRecord
from rota.ports.store import Transaction

MOST = 200
_FIRST, _LAST = "run_0", "run_z"


class JobOutcomes(msgspec.Struct, frozen=True):
    """The latest runs of a job, the newest first."""

    job: str
    runs: tuple[RunMark, ...]


async def list_outcomes(
    site: Site, *, job: tuple[Name, ...] = (), limit: Few = 30, after: Cursor | None = None
) -> Page[JobOutcomes]:
    """The latest runs of some jobs, at most 200 at once; without names of all jobs, by name.

    Jobs that there are not are left out.
    """
    if len(job) > MOST:
        raise ScheduleError(field="job", value=f"{len(job)} names", expected=f"at most {MOST}", example="nightly")
    names = await _whole_names(site, job)

    async def body(tx: Transaction) -> Page[JobOutcomes]:
        found = await tx.jobs_named(names=names) if names else await tx.job_names(after=after or "", most=MOST + 1)
        shown = found[:MOST]
        marks = await tx.latest_marks(ids=[job_id for job_id, _ in shown], since=_FIRST, before=_LAST, most=limit)
        return Page(_outcomes(shown, marks), shown[-1][1] if len(found) > MOST else None)

    return await site.store.read(body)


async def _whole_names(site: Site, names: Sequence[str]) -> list[str]:
    """People who type may give the beginning of a name, and hear of one that there is not."""
    return [(await find_job(site, name)).name for name in names] if site.caller.is_person else list(names)


def _outcomes(jobs: Sequence[tuple[str, str]], marks: Sequence[MarkRecord]) -> tuple[JobOutcomes, ...]:
    runs: dict[str, list[RunMark]] = {}
    for mark in marks:
        runs.setdefault(mark.job_id, []).append(run_mark(mark))
    return tuple(JobOutcomes(name, tuple(runs.get(job_id, ()))) for job_id, name in jobs)
