"""The bell of PostgreSQL: NOTIFY, heard on a connection of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta

import asyncpg

from rota.log import log
from rota.ports.clock import Clock
from rota.store.postgres import listener

_PROBE_EVERY = timedelta(seconds=20)
_PROBE_TIMEOUT = 5.0
_RECONNECT_AFTER = timedelta(seconds=1)


class PostgresBell:
    """Listens on a connection of its own, probes it, and makes a new one when it is dead."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._url = url
        self._clock = clock

    async def listen(self, on_ring: Callable[[], None]) -> None:
        while True:
            try:
                async with listener(self._url, on_ring) as connection:
                    # Whatever was rung while nobody listened is found by looking.
                    on_ring()
                    await self._probe(connection)
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
                log("listener.lost", level=logging.WARNING, reason=str(error) or type(error).__name__)
                await self._clock.wait(asyncio.Event(), until=self._clock.now() + _RECONNECT_AFTER)

    async def _probe(self, connection: asyncpg.Connection) -> None:
        """A connection can also die without a word; one that does not answer is left."""
        closed = asyncio.Event()
        connection.add_termination_listener(lambda _: closed.set())
        while not await self._clock.wait(closed, until=self._clock.now() + _PROBE_EVERY):
            async with asyncio.timeout(_PROBE_TIMEOUT):
                await connection.fetchval("SELECT 1")
        raise ConnectionResetError("the server closed the connection")
