"""The overview: is anything wrong now? Then what runs, what waits, and what comes."""

from __future__ import annotations

from rota.operations.coming import list_coming
from rota.operations.limits import list_limits
from rota.operations.workers import list_workers
from rota.web.visit import Context, Visit


async def show(visit: Visit) -> Context:
    coming = await list_coming(visit.site, count=10)
    limits = await list_limits(visit.site)
    workers = await list_workers(visit.site, limit=50)
    return {"coming": coming.items, "limits": limits.items, "workers": workers.items}
