"""Health: whether the process lives, and whether it can work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

from rota.errors import SchedulerError
from rota.ledger.site import Site

PATIENCE = timedelta(seconds=2)


async def unready(site: Site, is_ready: Callable[[], bool]) -> str | None:
    """What keeps this process from working, in a word."""
    if not await _answers(site):
        return "database"
    return None if is_ready() else "engine"


async def _answers(site: Site) -> bool:
    """Whether the store gives an answer to something small, soon."""
    done = asyncio.Event()
    asking = asyncio.ensure_future(site.store.read(lambda tx: tx.is_queue_empty()))
    asking.add_done_callback(lambda _: done.set())
    try:
        if not await site.clock.wait(done, until=site.clock.now() + PATIENCE):
            return False
        asking.result()
    except SchedulerError:
        return False
    finally:
        asking.cancel()
    return True
