"""Watching events: one reader looks for them, however many watch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from datetime import timedelta

from rota.api.rings import BEGINNING, HEARTBEAT, Frame, Ring, Signal, frame
from rota.api.run_watching import HEARTBEAT_EVERY
from rota.errors import StoreUnavailableError
from rota.ledger.site import Site
from rota.log import log
from rota.operations.events import OVERLAP, EventReader, EventView, event_id
from rota.operations.following import pause

_MANY = 10_000


class EventWatching:
    """The one reader, there while somebody watches."""

    def __init__(self, site: Site, is_closing: Callable[[], bool]) -> None:
        self._site = site
        self._is_closing = is_closing
        self._joining = asyncio.Lock()
        self._ring = Ring(0)
        self._signal = Signal()
        self.watchers = 0
        self.task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Let every watcher look around."""
        self._signal.tell()

    async def join(self, after: str | None) -> AsyncGenerator[bytes]:
        """Count one more watcher, who is given what happens from now on, or what has happened since an event."""
        missed = None if after is None else EventReader(self._site, after=after)
        async with self._joining:
            if self.task is None:
                reader = EventReader(self._site)
                # What was there before is left out from here on, so this must not be put off.
                await reader.read()
                self.task = asyncio.create_task(self._read(reader))
            self.watchers += 1
        known = None if after is None else self._ring.place_of(after)
        given = _Given(after or event_id(self._site.clock.now()))
        return self._watch(self._ring.last, missed, given) if known is None else self._watch(known, None, given)

    def leave(self) -> None:
        self.watchers -= 1
        if not self.watchers and self.task is not None:
            self.task.cancel()
            # Whoever joins later must not be given what was missed between.
            self.task, self._ring = None, Ring(self._ring.last)

    async def _read(self, reader: EventReader) -> None:
        while True:
            try:
                for event in await reader.read():
                    self._ring.add(_frame(self._ring.last + 1, event))
                    self._signal.tell()
            except Exception as error:  # noqa: BLE001 - those who watch hear of it when it works again
                is_expected = isinstance(error, StoreUnavailableError)
                log("stream.waiting", level=logging.WARNING, error=None if is_expected else error, reason=str(error))
            await pause(self._site)

    async def _watch(self, place: int, missed: EventReader | None, given: _Given) -> AsyncGenerator[bytes]:
        yield BEGINNING
        while not self._is_closing():
            waiting = self._signal.next
            if missed is not None:
                # The place comes first: what is added while this is read must not be passed over.
                place = self._ring.last
                while not self._is_closing() and (events := await missed.read()):
                    yield given.fresh(_frame(0, event) for event in events)
                missed = None
            elif place < self._ring.floor:
                missed = EventReader(self._site, after=given.last)
            elif frames := self._ring.after(place):
                place = frames[-1].place
                yield given.fresh(frames)
            elif not await self._site.clock.wait(waiting, until=self._site.clock.now() + HEARTBEAT_EVERY):
                yield HEARTBEAT


class _Given:
    """What a watcher was given lately, because a reader that goes back gives some of it again."""

    def __init__(self, last: str) -> None:
        self.last = last
        self._names = {last}

    def fresh(self, frames: Iterable[Frame]) -> bytes:
        """What was not given yet, to be given now."""
        data: list[bytes] = []
        for one in frames:
            if one.name not in self._names:
                self._names.add(one.name)
                self.last = max(self.last, one.name)
                data.append(one.data)
        if len(self._names) > _MANY:
            self._forget()
        return b"".join(data)

    def _forget(self) -> None:
        oldest = f"evt_{int(self.last[4:18], 16) - 2 * OVERLAP // timedelta(microseconds=1):014x}"
        self._names = {name for name in self._names if name >= oldest}


def _frame(place: int, event: EventView) -> Frame:
    return frame(place, event.id, "event", event)
