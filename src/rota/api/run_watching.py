"""Watching a run: one reader looks for its output, however many watch; each watcher gets every piece once, in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta

from rota.api.rings import BEGINNING, HEARTBEAT, Frame, Ring, Signal, frame
from rota.errors import StoreUnavailableError
from rota.ledger.site import Site
from rota.log import log
from rota.operations.following import follow_run
from rota.operations.output import read_output
from rota.operations.views import OutputView, RunView

HEARTBEAT_EVERY = timedelta(seconds=15)
_TRY_AGAIN = timedelta(seconds=1)


class RunReader:
    """Reads the output of a run from a sequence on, until the run has ended."""

    def __init__(self, site: Site, run_id: str, after: int) -> None:
        self._site = site
        self._run_id = run_id
        self.ring = Ring(after)
        self.signal = Signal()
        self.watchers = 0
        self.is_over = False
        self.end: Frame | None = None
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            while not self.is_over:
                await self._follow()
        except Exception as error:  # noqa: BLE001 - those who watch are told by the end of the stream
            log("stream.failed", level=logging.ERROR, error=error, run_id=self._run_id)
        finally:
            self.is_over = True
            self.signal.tell()

    async def _follow(self) -> None:
        try:
            async for item in follow_run(self._site, run=self._run_id, after=self.ring.last):
                self._take(item)
        except StoreUnavailableError as error:
            log("stream.waiting", level=logging.WARNING, run_id=self._run_id, reason=str(error))
            await self._site.clock.wait(asyncio.Event(), until=self._site.clock.now() + _TRY_AGAIN)

    def _take(self, item: OutputView | RunView) -> None:
        if isinstance(item, RunView):
            self.end = frame(self.ring.last, "", "end", item)
            self.is_over = True
        else:
            self.ring.add(output_frame(item))
        self.signal.tell()


def output_frame(piece: OutputView) -> Frame:
    return frame(piece.sequence, str(piece.sequence), "output", piece)


class RunWatching:
    """The readers of all runs that are watched."""

    def __init__(self, site: Site, is_closing: Callable[[], bool]) -> None:
        self._site = site
        self._is_closing = is_closing
        self.readers: dict[str, RunReader] = {}

    def wake(self) -> None:
        """Let every watcher look around."""
        for reader in self.readers.values():
            reader.signal.tell()

    async def watch(self, run_id: str, after: int) -> AsyncGenerator[bytes]:
        """The output of a run after a sequence number, as it comes, and at last the run as it ended."""
        reader = self._join(run_id, await self._beginning(run_id, after))
        try:
            yield BEGINNING
            while not self._is_closing():
                waiting, floor = reader.signal.next, reader.ring.floor
                if after < floor:
                    pieces = (await read_output(self._site, run=run_id, after=after)).items
                    yield b"".join(output_frame(piece).data for piece in pieces)
                    # What is not there any more was cut.
                    after = pieces[-1].sequence if pieces else floor
                elif fresh := reader.ring.after(after):
                    yield b"".join(one.data for one in fresh)
                    after = fresh[-1].place
                elif reader.is_over:
                    yield b"" if reader.end is None else reader.end.data
                    return
                elif not await self._site.clock.wait(waiting, until=self._site.clock.now() + HEARTBEAT_EVERY):
                    yield HEARTBEAT
        finally:
            self._leave(run_id, reader)

    async def _beginning(self, run_id: str, after: int) -> int:
        """Where a reader begins. One who asks for what follows something that is not there yet must not have everybody
        else miss what comes before it."""
        if after == 0 or run_id in self.readers:
            return after
        is_there = (await read_output(self._site, run=run_id, after=after - 1, limit=1)).items
        return after if is_there else 0

    def _join(self, run_id: str, after: int) -> RunReader:
        reader = self.readers.get(run_id)
        if reader is None:
            reader = self.readers[run_id] = RunReader(self._site, run_id, after)
        reader.watchers += 1
        return reader

    def _leave(self, run_id: str, reader: RunReader) -> None:
        reader.watchers -= 1
        if not reader.watchers:
            reader.task.cancel()
            del self.readers[run_id]
