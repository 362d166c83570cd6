"""The jobs: where each stands, how its last runs went, and when it is next."""

from __future__ import annotations

from rota.core.job import JobStatus
from rota.operations.jobs import list_jobs
from rota.operations.outcomes import list_outcomes
from rota.web.visit import Context, Visit

_SHOWN = 50


async def show(visit: Visit) -> Context:
    page = await list_jobs(
        visit.site,
        contains=visit.text("contains"),
        agent=visit.text("agent"),
        fleet=visit.text("fleet"),
        status=visit.chosen("status", JobStatus),
        failing=visit.text("show") == "failing",
        after=visit.text("after"),
        limit=_SHOWN,
    )
    names = tuple(one.name for one in page.items)
    outcomes = await list_outcomes(visit.site, job=names) if names else None
    return {
        "jobs": page.items,
        "next": page.next,
        "outcomes": {one.job: one.runs for one in outcomes.items} if outcomes else {},
        "statuses": tuple(JobStatus),
    }
