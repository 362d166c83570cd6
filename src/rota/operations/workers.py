"""Workers: who does the work."""

from __future__ import annotations

from rota.ledger.site import Site
from rota.operations.inputs import Limit
from rota.operations.views import Page, WorkerView, worker_view


async def list_workers(site: Site, *, limit: Limit = 50) -> Page[WorkerView]:
    """Workers, the latest first."""
    rows = await site.store.read(lambda tx: tx.workers(most=limit))
    return Page(tuple(worker_view(row) for row in rows))
