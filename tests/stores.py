"""Stores for the tests: a SQLite file, and a database each on PostgreSQL 16 and 18, started by the tests."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import asyncpg

from rota.ports.store import Store
from rota.store.postgres import PostgresDatabase
from rota.store.sqlite import SqliteDatabase
from rota.store.store import SqlStore
from tests.postgres_server import FAST, PostgresServer, postgres_server

KINDS = ("sqlite", "postgres16", "postgres18")
_TEMPLATE = "rota_template"


class Servers:
    """The servers that this test process has started; each is started when it is first needed."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._servers: dict[int, PostgresServer] = {}
        self._numbers = itertools.count()

    def close(self) -> None:
        self._stack.close()

    async def new_database(self, version: int) -> str:
        """The URL of a new database with all tables."""
        if version not in self._servers:
            self._servers[version] = self._stack.enter_context(postgres_server(version, *FAST))
            await _execute(self._servers[version].url(), f"CREATE DATABASE {_TEMPLATE}")
            await PostgresDatabase(self._servers[version].url(_TEMPLATE)).migrate()
        server, name = self._servers[version], f"test_{next(self._numbers)}"
        await _execute(server.url(), f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
        return server.url(name)


@asynccontextmanager
async def opened(kind: str, folder: Path, servers: Servers) -> AsyncIterator[Store]:
    """A store of one kind, empty and open."""
    if kind == "sqlite":
        # What a test writes may be lost with the power.
        store = SqlStore(SqliteDatabase(folder / "rota.db", synchronous="OFF"))
    else:
        url = await servers.new_database(int(kind.removeprefix("postgres")))
        store = SqlStore(PostgresDatabase(url))
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def all_servers() -> Iterator[Servers]:
    servers = Servers()
    try:
        yield servers
    finally:
        servers.close()


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
