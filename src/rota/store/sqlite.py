"""SQLite: one writer thread that commits whatever waits together, and readers beside it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import apsw
import apsw.ext
import msgspec

from rota.errors import StoreError, StoreUnavailableError
from rota.store.dialect import Parameters, Statement, for_sqlite, queries, schema_for_sqlite, split_script
from rota.store.migrate import Migration, Migrations, applied_versions, pending

T = TypeVar("T")
Body = Callable[["Session"], Coroutine[Any, Any, T]]

_BUSY_TIMEOUT = 30_000
_MOST_TOGETHER = 256
_UNAVAILABLE = (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError)
_DAMAGED = (apsw.CorruptError, apsw.NotADBError)
_NO_ROOM = (apsw.FullError, apsw.IOError)


class Session:
    """A transaction's way to the database. Its methods never wait, so that a thread without a loop can run them."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.has_rung = False

    async def fetch(self, query: str, parameters: Parameters) -> Sequence[Sequence[Any]]:
        statement = _statement(query)
        in_one = _in_one_row(self._connection, query)
        if in_one is None:
            return self._connection.execute(statement.sql, statement.bind(parameters)).fetchall()
        answer: Any = self._connection.execute(in_one, statement.bind(parameters)).fetchall()
        rows: Sequence[Sequence[Any]] = msgspec.json.decode(answer[0][0])
        return rows

    async def execute(self, query: str, parameters: Parameters) -> int:
        statement = _statement(query)
        self._connection.execute(statement.sql, statement.bind(parameters))
        return self._connection.changes()

    async def ring(self) -> None:
        """Rung after the commit, by the writer."""
        self.has_rung = True


class _Request(NamedTuple):
    body: Body[Any]
    answer: asyncio.Future[Any]


class SqliteDatabase:
    """One file. Opening it brings its tables up to date."""

    name = "sqlite"
    is_shared = False
    writers = 1

    def __init__(self, path: Path, *, on_ring: Callable[[], None] = lambda: None, synchronous: str = "FULL") -> None:
        self.path = path
        self._on_ring = on_ring
        self._synchronous = synchronous
        self._inbox: SimpleQueue[_Request | None] = SimpleQueue()
        self._read_lock = threading.Lock()
        # Threads of its own: whatever else fills the common ones must not keep the engine from its database.
        self._readers = ThreadPoolExecutor(2, "rota-reader")
        self._writer: threading.Thread | None = None
        self._reader: apsw.Connection | None = None

    async def open(self) -> None:
        _make_private(self.path)
        with _as_unavailable():
            connection = await asyncio.to_thread(self._open_writer)
            self._reader = await asyncio.to_thread(_connect, self.path, self._synchronous)
        loop = asyncio.get_running_loop()
        self._writer = threading.Thread(
            target=self._write_all, args=(connection, loop), name="rota-writer", daemon=True
        )
        self._writer.start()

    async def close(self) -> None:
        if self._writer is not None:
            self._inbox.put(None)
            await asyncio.to_thread(self._writer.join)
            self._writer = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    async def write(self, body: Body[T]) -> T:
        """Run a whole transaction in the writer thread; the answer comes after its commit."""
        if self._writer is None:
            raise StoreUnavailableError("The database is closed.")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._inbox.put(_Request(body, answer))
        return await answer

    async def read(self, body: Body[T]) -> T:
        """Run a body on one unchanging view of the database."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, body)

    async def version(self) -> str:
        return apsw.sqlite_lib_version()

    async def damage(self) -> list[str]:
        found = await asyncio.to_thread(lambda: self._ask("PRAGMA integrity_check"))
        return [] if found == ["ok"] else found

    async def vacuum(self) -> None:
        await asyncio.to_thread(lambda: self._ask("VACUUM"))
        await asyncio.to_thread(lambda: self._ask("PRAGMA wal_checkpoint(TRUNCATE)"))

    def missing(self) -> tuple[str, ...]:
        """The names of the migrations that opening the file would apply."""
        if not self.path.exists():
            return tuple(migration.name for migration in pending({}))
        with _as_unavailable():
            connection = apsw.Connection(str(self.path))
            try:
                connection.execute(Migrations.TABLE)
                applied: Any = connection.execute(Migrations.APPLIED).fetchall()
                return tuple(migration.name for migration in pending(applied_versions(applied)))
            finally:
                connection.close()

    async def migrate(self) -> tuple[str, ...]:
        """Apply what is missing, which opening does; the names of what was applied."""
        applied = self.missing()
        if self._reader is None:
            await self.open()
            await self.close()
        return applied

    def _ask(self, statement: str) -> list[str]:
        if self._reader is None:
            raise StoreUnavailableError("The database is closed.")
        with self._read_lock, _as_unavailable():
            return [str(row[0]) for row in self._reader.execute(statement)]

    def _read(self, body: Body[T]) -> T:
        if self._reader is None:
            raise StoreUnavailableError("The database is closed.")
        with self._read_lock, _as_unavailable(), _transaction(self._reader, "BEGIN"):
            return _run_now(body(Session(self._reader)))

    def _open_writer(self) -> apsw.Connection:
        connection = _connect(self.path, self._synchronous)
        _migrate(connection)
        return connection

    def _write_all(self, connection: apsw.Connection, loop: asyncio.AbstractEventLoop) -> None:
        while (requests := self._next_requests()) is not None:
            answers = _commit_together(connection, requests)
            if any(answer.has_rung for answer in answers):
                self._on_ring()
            loop.call_soon_threadsafe(_deliver, answers)
        connection.close()

    def _next_requests(self) -> list[_Request] | None:
        first = self._inbox.get()
        requests = [first]
        while first is not None and len(requests) < _MOST_TOGETHER and not self._inbox.empty():
            requests.append(self._inbox.get())
        if requests[-1] is None:
            # What was asked before the end is still done; the end itself is asked for again.
            requests.pop()
            if requests:
                self._inbox.put(None)
        return [request for request in requests if request is not None] or None


class _Answer(NamedTuple):
    future: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None
    has_rung: bool = False


def _commit_together(connection: apsw.Connection, requests: list[_Request]) -> list[_Answer]:
    """Group commit: one flush to disk for all that wait. A body that fails takes back only its own writes."""
    try:
        with _as_unavailable(), _transaction(connection, "BEGIN IMMEDIATE"):
            answers = [_attempt(connection, request) for request in requests]
    except Exception as error:  # noqa: BLE001 - whatever broke the commit, every waiting request must hear of it
        return [_Answer(request.answer, error=error) for request in requests]
    return answers


def _attempt(connection: apsw.Connection, request: _Request) -> _Answer:
    session = Session(connection)
    try:
        # As a context manager a connection is a savepoint.
        with _as_unavailable(), connection:
            value = _run_now(request.body(session))
    except Exception as error:  # noqa: BLE001 - it is the requester's
        return _Answer(request.answer, error=error)
    return _Answer(request.answer, value, has_rung=session.has_rung)


def _deliver(answers: list[_Answer]) -> None:
    for future, value, error, _ in answers:
        if future.cancelled():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)


def _run_now(body: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing but the database, which answers at once."""
    try:
        body.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    body.close()
    raise RuntimeError("A transaction on SQLite must wait for nothing but the database.")


@contextmanager
def _transaction(connection: apsw.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise StoreError(
            f"The file is damaged or no database of Rota: {error}. Give another --db, or bring back a copy."
        ) from error
    except _UNAVAILABLE as error:
        cure = " Free some space on its disk, or raise the limit on file sizes." if isinstance(error, _NO_ROOM) else ""
        raise StoreUnavailableError(f"The database cannot be used now: {error}. Nothing was written.{cure}") from error


@cache
def _statement(query: str) -> Statement:
    return for_sqlite(queries()[query])


_in_one: dict[str, str | None] = {}


def _in_one_row(connection: apsw.Connection, query: str) -> str | None:
    """The same query with its rows as one JSON text; none for a statement that changes something.

    For each row SQLite gives up the interpreter and must win it back. Beside a busy loop that costs milliseconds.
    """
    if query not in _in_one:
        sql = _statement(query).sql
        columns = apsw.ext.query_info(connection, sql).description
        names = ", ".join(f"c{index}" for index in range(len(columns)))
        is_select = sql.lstrip().upper().startswith(("SELECT", "WITH"))
        _in_one[query] = (
            f"WITH answer ({names}) AS ({sql}) SELECT json_group_array(json_array({names})) FROM answer"
            if is_select
            else None
        )
    return _in_one[query]


def _make_private(path: Path) -> None:
    """Definitions and output are for their owner's eyes; the files beside it take after it."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreUnavailableError(
            f"The file {path} cannot be used now: {error.strerror}. Give another --db, or change its folder's rights."
        ) from error


def _connect(path: Path, synchronous: str) -> apsw.Connection:
    connection = apsw.Connection(str(path), statementcachesize=200)
    connection.set_busy_timeout(_BUSY_TIMEOUT)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA cache_size = -65536")
    return connection


def _migrate(connection: apsw.Connection) -> None:
    with _transaction(connection, "BEGIN IMMEDIATE"):
        connection.execute(Migrations.TABLE)
        applied: Any = connection.execute(Migrations.APPLIED).fetchall()
        for migration in pending(applied_versions(applied)):
            _apply(connection, migration)


def _apply(connection: apsw.Connection, migration: Migration) -> None:
    for statement in split_script(schema_for_sqlite(migration.sql)):
        connection.execute(statement)
    connection.execute(Migrations.RECORD_SQLITE, (migration.version, migration.name, migration.checksum))
