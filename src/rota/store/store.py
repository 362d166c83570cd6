"""The store's contract, bound to a database: each method of ``Transaction`` becomes the query of its name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from types import NoneType, UnionType
from typing import Any, Protocol, TypeVar, cast, get_args, get_origin, get_type_hints

from rota.ports.store import Transaction
from rota.store.dialect import Parameters, queries

T = TypeVar("T")
Rows = Sequence[Sequence[Any]]


class Session(Protocol):
    """What a database offers within a transaction."""

    async def fetch(self, query: str, parameters: Parameters) -> Rows: ...
    async def execute(self, query: str, parameters: Parameters) -> int: ...
    async def ring(self) -> None: ...


class Database(Protocol):
    """What SQLite and PostgreSQL have in common."""

    name: str
    is_shared: bool
    writers: int

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def migrate(self) -> tuple[str, ...]: ...
    async def write(self, body: Callable[[Any], Coroutine[Any, Any, T]]) -> T: ...
    async def read(self, body: Callable[[Any], Coroutine[Any, Any, T]]) -> T: ...
    async def version(self) -> str: ...
    async def damage(self) -> list[str]: ...
    async def vacuum(self) -> None: ...


class SqlStore:
    """Transactions with typed queries over either database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @property
    def name(self) -> str:
        return self.database.name

    @property
    def is_shared(self) -> bool:
        return self.database.is_shared

    @property
    def writers(self) -> int:
        return self.database.writers

    async def open(self) -> None:
        await self.database.open()

    async def close(self) -> None:
        await self.database.close()

    async def migrate(self) -> tuple[str, ...]:
        return await self.database.migrate()

    async def write(self, body: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self.database.write(lambda session: _within(body, session))

    async def read(self, body: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self.database.read(lambda session: _within(body, session))

    async def version(self) -> str:
        return await self.database.version()

    async def damage(self) -> list[str]:
        return await self.database.damage()

    async def vacuum(self) -> None:
        await self.database.vacuum()


async def _within(body: Callable[[Transaction], Awaitable[T]], session: Session) -> T:
    return await body(cast("Transaction", _Transaction(session)))


class _Transaction:
    """Gets its methods from the contract, below."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    async def ring(self) -> None:
        await self._session.ring()


def _method(name: str, returns: Any) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A method that runs its query and gives what the contract says: a count, a row or none, or a list of rows."""
    if returns is int:

        async def execute(self: _Transaction, **parameters: Any) -> int:
            return await self._session.execute(name, parameters)

        return execute
    if get_origin(returns) is list:
        make_one = _maker(get_args(returns)[0])

        async def fetch(self: _Transaction, **parameters: Any) -> list[Any]:
            return [make_one(row) for row in await self._session.fetch(name, parameters)]

        return fetch
    make = _maker(_without_none(returns))

    async def find(self: _Transaction, **parameters: Any) -> Any:
        rows = await self._session.fetch(name, parameters)
        return make(rows[0]) if rows else None

    return find


def _maker(record: Any) -> Callable[[Sequence[Any]], Any]:
    if get_origin(record) is tuple:
        return tuple
    return lambda row: record(*row)


def _without_none(returns: Any) -> Any:
    if isinstance(returns, UnionType):
        return next(kind for kind in get_args(returns) if kind is not NoneType)
    return returns


def _bind_contract() -> None:
    for name, declared in vars(Transaction).items():
        if name in queries():
            setattr(_Transaction, name, _method(name, get_type_hints(declared)["return"]))


_bind_contract()
