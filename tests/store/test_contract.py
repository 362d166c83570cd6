"""The contract of the store: every method has its query, every query its method, on every database."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import apsw
import apsw.ext
import asyncpg
import pytest

from rota.errors import SchemaError, StoreError, StoreUnavailableError
from rota.ports.store import Store, Transaction
from rota.store.dialect import for_postgres, for_sqlite, queries
from rota.store.migrate import migrations, pending
from rota.store.postgres import PostgresDatabase
from rota.store.sqlite import SqliteDatabase, _as_unavailable
from rota.store.store import SqlStore
from tests.stores import Servers

pytestmark = pytest.mark.anyio

METHODS = {name: method for name, method in vars(Transaction).items() if inspect.iscoroutinefunction(method)}


def test_every_query_has_a_method_when_listed() -> None:
    assert set(queries()) == set(METHODS) - {"ring"}


@pytest.mark.parametrize("name", sorted(queries()))
def test_a_method_takes_what_its_query_needs_when_called(name: str) -> None:
    sql = for_sqlite(queries()[name]).sql
    needed = set(re.findall(r"(?<!:):([a-z_]+)\b", sql))
    assert set(inspect.signature(METHODS[name]).parameters) - {"self"} == needed


@pytest.mark.parametrize("version", [16, 18])
async def test_postgres_understands_every_query_when_prepared(version: int, servers: Servers) -> None:
    connection = await asyncpg.connect(await servers.new_database(version))
    try:
        for sql in queries().values():
            await connection.prepare(for_postgres(sql).sql)
    finally:
        await connection.close()


async def test_sqlite_understands_every_query_when_prepared(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "rota.db")
    await database.open()
    await database.close()
    connection = apsw.Connection(str(tmp_path / "rota.db"))
    for sql in queries().values():
        apsw.ext.query_info(connection, for_sqlite(sql).sql)
    connection.close()


async def test_nothing_is_kept_when_a_transaction_fails(store: Store) -> None:
    async def body(tx: Transaction) -> None:
        await tx.size_slot(scope="pool", name="a", size=3)
        raise ValueError("changed my mind")

    with pytest.raises(ValueError, match="changed my mind"):
        await store.write(body)
    assert await store.read(lambda tx: tx.slots()) == []


async def test_everything_is_kept_when_a_transaction_ends(store: Store) -> None:
    await store.write(lambda tx: tx.size_slot(scope="pool", name="a", size=3))
    await store.write(lambda tx: tx.size_slot(scope="pool", name="a", size=None))
    (slot,) = await store.read(lambda tx: tx.slots())
    assert (slot.scope, slot.name, slot.size, slot.used) == ("pool", "a", None, 0)


async def test_tokens_rise_when_taken(store: Store) -> None:
    taken = [await store.write(lambda tx: tx.insert_lease(worker="w", now=1, run_ids="[]")) for _ in range(2)]
    await store.write(lambda tx: tx.delete_leases(gone=taken))
    taken.append(await store.write(lambda tx: tx.insert_lease(worker="w", now=1, run_ids="[]")))
    assert taken == [(1,), (2,), (3,)]


async def test_odd_text_survives_when_it_is_kept(store: Store) -> None:
    text = 'it\'s "quoted", {braced}, :named, $1, %s, ü, 🎉, \\ and\nmore'
    await store.write(lambda tx: tx.insert_key(key=text, run_id=text, now=1))
    assert await store.read(lambda tx: tx.find_key(key=text)) == (text,)
    chunks = [("run_1", number, "stdout", 5, f"{text} {number}") for number in (1, 2)]
    await store.write(lambda tx: tx.insert_output(chunk=chunks))
    kept = await store.read(lambda tx: tx.output(run_id="run_1", after=1, most=5))
    assert [(one.sequence, one.text) for one in kept] == [(2, f"{text} 2")]


async def test_an_empty_batch_changes_nothing_when_written(store: Store) -> None:
    assert await store.write(lambda tx: tx.insert_runs(new=[])) == 0
    assert await store.write(lambda tx: tx.move_plans(moved=[])) == 0
    assert await store.read(lambda tx: tx.runs_by_id(ids=[])) == []


async def test_a_closed_store_says_so_when_asked(tmp_path: Path) -> None:
    store = SqlStore(SqliteDatabase(tmp_path / "rota.db"))
    with pytest.raises(StoreUnavailableError, match="closed"):
        await store.read(lambda tx: tx.slots())
    with pytest.raises(StoreUnavailableError, match="closed"):
        await SqlStore(PostgresDatabase("postgresql://nobody@/nothing")).write(lambda tx: tx.slots())


async def test_a_database_that_is_away_is_unavailable_when_opened(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="cannot be used now"):
        await PostgresDatabase(f"postgresql://rota@/x?host={tmp_path}").open()
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(StoreUnavailableError, match="cannot be used now"):
        await SqliteDatabase(folder).open()


@pytest.mark.parametrize("version", [16, 18])
async def test_postgres_names_the_command_when_its_tables_are_missing(version: int, servers: Servers) -> None:
    url = await servers.new_database(version)
    connection = await asyncpg.connect(url)
    await connection.execute("DROP TABLE migrations")
    await connection.close()
    with pytest.raises(SchemaError, match="Run: rota db migrate"):
        await PostgresDatabase(url).open()


def test_a_database_is_refused_when_it_is_newer_or_was_made_otherwise() -> None:
    last = migrations()[-1]
    with pytest.raises(SchemaError, match="Install the newer Rota"):
        pending({last.version + 1: "x"})
    with pytest.raises(SchemaError, match=f"Migration {last.name} differs"):
        pending({last.version: "x"})
    assert pending({one.version: one.checksum for one in migrations()}) == ()


async def test_requests_that_wait_together_are_all_answered_when_one_fails(tmp_path: Path) -> None:
    """Group commit: a body that fails takes back only its own writes."""
    import asyncio  # noqa: PLC0415

    store = SqlStore(SqliteDatabase(tmp_path / "rota.db"))
    await store.open()

    async def fails(tx: Transaction) -> int:
        await tx.size_slot(scope="pool", name="bad", size=1)
        raise ValueError("no")

    bodies = [store.write(lambda tx, n=n: tx.size_slot(scope="pool", name=f"p{n}", size=n)) for n in range(20)]
    answers = await asyncio.gather(*bodies[:10], store.write(fails), *bodies[10:], return_exceptions=True)
    assert [type(answer) for answer in answers].count(ValueError) == 1
    assert len(await store.read(lambda tx: tx.slots())) == 20
    await store.close()


@pytest.mark.parametrize("error", [apsw.FullError("database or disk is full"), apsw.IOError("disk I/O error")])
def test_the_message_says_what_to_do_when_the_disk_takes_nothing(error: Exception) -> None:
    with pytest.raises(StoreUnavailableError, match="Free some space on its disk"), _as_unavailable():
        raise error


async def test_the_message_says_what_to_do_when_the_file_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "rota.db"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(StoreError, match="damaged or no database of Rota"):
        await SqliteDatabase(path).open()


async def test_only_its_owner_may_read_a_file_when_it_was_made(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "rota.db")
    await database.open()
    await database.close()
    assert (tmp_path / "rota.db").stat().st_mode & 0o777 == 0o600
