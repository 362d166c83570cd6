"""The overview: is anything wrong now? Then what ran, what waits, and what comes."""

from __future__ import annotations

from rota.operations.overview.showing import show_overview
from rota.web.visit import Context, Visit


async def show(visit: Visit) -> Context:
    return {"overview": await show_overview(visit.site)}
