"""Following: what happens, and what a run writes, as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

from rota.core.run import LIVE
from rota.ledger.site import Site
from rota.operations.events import EventReader, EventView
from rota.operations.inputs import Cursor, Name, Sequence
from rota.operations.output import read_output
from rota.operations.runs import find_run
from rota.operations.views import OutputView, RunView, run_view

LOOK_EVERY = timedelta(milliseconds=150)


async def follow_events(site: Site, *, after: Cursor | None = None) -> AsyncIterator[EventView]:
    """Events as they happen; after one of them, also those that were missed since."""
    reader = EventReader(site, after=after)
    while True:
        for event in await reader.read():
            yield event
        await pause(site)


async def follow_run(site: Site, *, run: Name, after: Sequence = 0) -> AsyncIterator[OutputView | RunView]:
    """The output of a run as it comes, after a sequence number, and at last the run as it ended."""
    run_id = (await find_run(site, run)).id
    while True:
        # Looked at first: what comes after the end of a run is nothing.
        record = await find_run(site, run_id)
        while chunks := (await read_output(site, run=run_id, after=after)).items:
            for chunk in chunks:
                yield chunk
            after = chunks[-1].sequence
        if record.state not in LIVE:
            yield run_view(record)
            return
        await pause(site)


async def pause(site: Site) -> None:
    """Wait a moment before looking again."""
    await site.clock.wait(asyncio.Event(), until=site.clock.now() + LOOK_EVERY)
