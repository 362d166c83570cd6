"""PostgreSQL: a pool of connections, and one more that listens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any, TypeVar

import asyncpg

from rota.errors import GiveWayError, SchemaError, StoreError, StoreUnavailableError
from rota.store.dialect import Parameters, Statement, for_postgres, queries, schema_for_postgres, split_script
from rota.store.migrate import Migrations, applied_versions, pending

T = TypeVar("T")
Body = Callable[["Session"], Coroutine[Any, Any, T]]

CHANNEL = "rota"
_POOL_SIZE = 6
# Chosen by PostgreSQL as the one to give way; the same transaction may simply be asked for again.
_GIVES_WAY = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, GiveWayError)
_ATTEMPTS = 5
_UNAVAILABLE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
)
_REFUSED = (
    asyncpg.InvalidCatalogNameError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.ClientConfigurationError,
    UnicodeError,
)
_QUICK = (
    *(
        "next_wake",
        "hold_due_plans",
        "jobs_by_id",
        "is_queue_empty",
        "slots",
        "insert_started_runs",
        "fire_plans",
        "take_slots",
    ),
    *("queued_pools", "pool_slots", "waiting_runs", "hold_free_plans", "lock_slots", "runs_by_id", "claim_runs"),
    *("leave_queue", "claim_plans", "next_start", "start_runs", "end_plain_runs", "free_slots", "delete_leases"),
)
# Two programs that migrate at once take turns.
_MIGRATING = 7_316_201


class Session:
    """A transaction's way to the database."""

    def __init__(self, connection: asyncpg.pool.PoolConnectionProxy) -> None:
        self._connection = connection

    async def fetch(self, query: str, parameters: Parameters) -> Sequence[Sequence[Any]]:
        statement = _statement(query)
        rows: list[Sequence[Any]] = await self._connection.fetch(statement.sql, *statement.bind(parameters))
        return rows

    async def execute(self, query: str, parameters: Parameters) -> int:
        statement = _statement(query)
        status = await self._connection.execute(statement.sql, *statement.bind(parameters))
        return int(status.rsplit(" ", 1)[-1])

    async def ring(self) -> None:
        """Wake every listener when this transaction commits."""
        await self._connection.execute(f"NOTIFY {CHANNEL}")


class PostgresDatabase:
    """A database by its URL. Its tables are made by ``rota db migrate``."""

    name = "postgres"
    is_shared = True
    writers = 2

    def __init__(self, url: str, *, is_rehearsed: bool = False) -> None:
        self.url = url
        self._is_rehearsed = is_rehearsed
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> None:
        with _as_unavailable():
            self._pool = await asyncpg.create_pool(
                self.url,
                min_size=_POOL_SIZE if self._is_rehearsed else 1,
                max_size=_POOL_SIZE,
                init=_rehearse if self._is_rehearsed else None,
                # No transaction leaves anything behind in its session, so there is nothing to reset.
                reset=_leave_as_it_is,
                # Idle for an hour, a connection must still be quick.
                max_inactive_connection_lifetime=0,
                max_cached_statement_lifetime=0,
                server_settings={"application_name": "rota"},
            )
            try:
                async with self._pool.acquire() as connection:
                    await _check_schema(connection)
            except BaseException:
                await self.close()
                raise

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None

    async def migrate(self) -> tuple[str, ...]:
        """Apply what is missing; the names of what was applied."""
        with _as_unavailable():
            connection = await asyncpg.connect(self.url)
            try:
                async with connection.transaction():
                    return await _migrate(connection)
            finally:
                await connection.close()

    async def write(self, body: Body[T]) -> T:
        """Run a whole transaction; one that had to give way is run again."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._transact(body)
            except _GIVES_WAY:
                continue
        return await self._transact(body)

    async def read(self, body: Body[T]) -> T:
        """Run a body on one unchanging view of the database."""
        return await self._transact(body, isolation="repeatable_read", readonly=True)

    async def version(self) -> str:
        ((version,),) = await self._ask("SHOW server_version")
        return str(version)

    async def damage(self) -> list[str]:
        """PostgreSQL watches over its own pages; what remains are indexes that were never finished."""
        rows = await self._ask(
            "SELECT format('The index %s is not valid.', indexrelid::regclass) FROM pg_index WHERE NOT indisvalid"
        )
        return [row[0] for row in rows]

    async def vacuum(self) -> None:
        await self._ask("VACUUM (ANALYZE)")

    async def _ask(self, statement: str) -> list[Any]:
        if self._pool is None:
            raise StoreUnavailableError("The database is closed.")
        with _as_unavailable():
            rows: list[Any] = await self._pool.fetch(statement)
            return rows

    async def _transact(self, body: Body[T], **options: Any) -> T:
        if self._pool is None:
            raise StoreUnavailableError("The database is closed.")
        with _as_unavailable():
            async with self._pool.acquire() as connection, connection.transaction(**options):
                return await body(Session(connection))


class _as_unavailable:  # noqa: N801 - reads as a verb where it is used
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _REFUSED):
            raise StoreError(f"The database refuses: {error}. Check user, name and rights in its URL.") from error
        if isinstance(error, _UNAVAILABLE):
            raise StoreUnavailableError(
                f"The database cannot be used now: {error}. Nothing was written. "
                "Check that PostgreSQL runs, and the URL."
            ) from error


async def _rehearse(connection: asyncpg.Connection) -> None:
    """Do with nothing what must be quick when it is needed: the connection then knows these statements."""
    nothing: Parameters = defaultdict(lambda: None)
    # Tables that are missing are a matter for whoever opens the database.
    with suppress(asyncpg.UndefinedTableError):
        for query in _QUICK:
            statement = _statement(query)
            await connection.fetch(statement.sql, *statement.bind(nothing))


async def _leave_as_it_is(_: object) -> None:
    pass


@cache
def _statement(query: str) -> Statement:
    return for_postgres(queries()[query])


async def _check_schema(connection: asyncpg.pool.PoolConnectionProxy) -> None:
    has_table = await connection.fetchval("SELECT to_regclass('migrations') IS NOT NULL")
    applied = applied_versions(await connection.fetch(Migrations.APPLIED)) if has_table else {}
    if missing := pending(applied):
        raise SchemaError(f"The database lacks {missing[0].name}. Run: rota db migrate")


async def _migrate(connection: asyncpg.Connection) -> tuple[str, ...]:
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATING)
    await connection.execute(Migrations.TABLE)
    missing = pending(applied_versions(await connection.fetch(Migrations.APPLIED)))
    for migration in missing:
        for statement in split_script(schema_for_postgres(migration.sql)):
            await connection.execute(statement)
        await connection.execute(Migrations.RECORD_POSTGRES, migration.version, migration.name, migration.checksum)
    return tuple(migration.name for migration in missing)


@asynccontextmanager
async def listener(url: str, on_ring: Callable[[], None]) -> AsyncIterator[asyncpg.Connection]:
    """A connection of its own that calls ``on_ring`` for every notification."""
    connection = await asyncpg.connect(url, server_settings={"application_name": "rota-listener"})
    try:
        await connection.add_listener(CHANNEL, lambda *_: on_ring())
        yield connection
    finally:
        await connection.close(timeout=2)
