"""The composition root: the only place that makes clocks and chance, and names concretes."""

from __future__ import annotations

import asyncio
import gc
import os
import random  # noqa: TID251 - the one source of chance
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rota.errors import ScheduleError

if TYPE_CHECKING:
    from rota.actions.http import Http
    from rota.actions.output import RunOutput
    from rota.engine.engine import Engine
    from rota.ledger.site import Settings, Site
    from rota.ports.action import Action, Work
    from rota.ports.bell import Bell
    from rota.ports.store import Store, Transaction

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PRECISION = timedelta(milliseconds=2)
_POSTGRES = ("postgres://", "postgresql://")


def system_now() -> datetime:
    """The instant that the machine's clock shows."""
    return datetime.now(UTC)  # noqa: TID251 - the one clock


def machine_zone() -> str:
    """The IANA zone of this machine, UTC where it has none."""
    # Reads files in /etc, so it is imported only where a zone is not given.
    import tzlocal  # noqa: PLC0415

    try:
        return tzlocal.get_localzone_name() or "UTC"
    except (LookupError, ValueError):
        return "UTC"


class SystemClock:
    """The machine's clock, set by that of the database where several machines share one."""

    def __init__(self) -> None:
        self._offset = timedelta()

    def now(self) -> datetime:
        return system_now() + self._offset

    async def agree(self, store: Store) -> None:
        if not store.is_shared:
            return
        asked = self.now()
        (answer,) = await store.read(lambda tx: tx.database_time())
        answered = self.now()
        difference = _EPOCH + timedelta(microseconds=answer) - (asked + (answered - asked) / 2)
        # Only what the length of the question cannot explain is a difference.
        if abs(difference) > (answered - asked) / 2 + _PRECISION:
            self._offset += difference

    async def wait(self, event: asyncio.Event, *, until: datetime | None) -> bool:
        timeout = None if until is None else max(0.0, (until - self.now()).total_seconds())
        try:
            async with asyncio.timeout(timeout):
                await event.wait()
        except TimeoutError:
            return False
        return True


class SystemEntropy:
    """The machine's chance. Ids begin with the time they were made, in microseconds."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()
        self._count = 0

    def ids(self, prefix: str, now: datetime, count: int) -> Sequence[str]:
        stamp = f"{prefix}_{int(now.timestamp() * 1_000_000):014x}"
        digits = os.urandom(4 * count).hex()
        first = self._count
        self._count = (first + count) % 0x10000
        return [f"{stamp}{(first + index) % 0x10000:04x}{digits[8 * index : 8 * index + 8]}" for index in range(count)]

    def hex(self, length: int) -> str:
        return os.urandom((length + 1) // 2).hex()[:length]

    def share(self) -> float:
        return self._random.random()


def default_database() -> str:
    """Where the store is unless told otherwise: a file in the user's data folder."""
    return os.environ.get("ROTA_DB") or str(_data_folder() / "rota.db")


def log_folder(database: str) -> Path:
    """Where an engine keeps its log: beside the file that it works on, else in the user's data folder."""
    return _data_folder() if is_postgres(database) else Path(database).absolute().parent


def _data_folder() -> Path:
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "rota"


def is_postgres(database: str) -> bool:
    return database.startswith(_POSTGRES)


def make_store(database: str, *, is_rehearsed: bool = False) -> tuple[Store, Bell]:
    """The store for a path or a PostgreSQL URL, and the bell that its transactions ring.

    One that is rehearsed takes longer to open, and then is quick from the first run on.
    """
    from rota.store.store import SqlStore  # noqa: PLC0415

    if "://" in database and not is_postgres(database):
        expected = "a path, or a URL that begins with postgresql://"
        raise ScheduleError(field="db", value=database, expected=expected, example="postgresql://user@host/name")
    if is_postgres(database):
        from rota.store.postgres import PostgresDatabase  # noqa: PLC0415
        from rota.store.postgres_bell import PostgresBell  # noqa: PLC0415

        return SqlStore(PostgresDatabase(database, is_rehearsed=is_rehearsed)), PostgresBell(database, SystemClock())
    from rota.store.sqlite import SqliteDatabase  # noqa: PLC0415
    from rota.store.unix_bell import UnixBell  # noqa: PLC0415

    bell = UnixBell(Path(database))
    return SqlStore(SqliteDatabase(Path(database), on_ring=bell.ring)), bell


def make_site(store: Store, *, settings: Settings | None = None) -> Site:
    """A place to write from: this process, with a name that no other has."""
    from rota.ledger.site import Site, settings_from  # noqa: PLC0415

    entropy, clock = SystemEntropy(), SystemClock()
    (worker,) = entropy.ids("wrk", clock.now(), 1)
    return Site(
        store=store, clock=clock, entropy=entropy, worker=worker, settings=settings or settings_from(os.environ)
    )


@asynccontextmanager
async def running_engine(database: str) -> AsyncIterator[Engine]:
    """An engine on an open store, in a process of its own, with all it needs; on SQLite it holds the file's lock."""
    from rota.actions.http import Http  # noqa: PLC0415
    from rota.store.engine_lock import EngineLock  # noqa: PLC0415

    # A crowd of runs makes many objects that go by themselves; looking through them all the time finds nothing.
    gc.set_threshold(100_000, 50, 50)
    store, bell = make_store(database, is_rehearsed=True)
    site, http = make_site(store), Http()
    with nullcontext() if is_postgres(database) else EngineLock(Path(database), site.worker):
        await store.open()
        try:
            yield make_engine(site, bell, http)
        finally:
            await http.close()
            await store.close()


def make_engine(site: Site, bell: Bell, http: Http) -> Engine:
    """An engine that can do every kind of action there is."""
    from rota.actions.command import Command  # noqa: PLC0415
    from rota.actions.machine import LocalMachine  # noqa: PLC0415
    from rota.actions.python import PythonCall  # noqa: PLC0415
    from rota.actions.tree import become_subreaper, hide_from_children  # noqa: PLC0415
    from rota.core.action import ActionKind  # noqa: PLC0415
    from rota.engine.engine import Engine  # noqa: PLC0415

    become_subreaper()
    hide_from_children()
    actions: dict[ActionKind, Action] = {
        ActionKind.COMMAND: Command(),
        ActionKind.HTTP: http,
        ActionKind.PYTHON: PythonCall(),
    }
    return Engine(site, LocalMachine(), bell, actions, output_maker(site))


def output_maker(site: Site) -> Callable[[Work], RunOutput]:
    """Makes outputs that go to the store, without the secrets of their job."""
    from rota.actions.output import Chunk, RunOutput, Trim  # noqa: PLC0415
    from rota.actions.secrets import secrets_of  # noqa: PLC0415

    async def keep(chunks: Sequence[Chunk], trim: Trim | None) -> None:
        async def body(tx: Transaction) -> None:
            if chunks:
                await tx.insert_output(chunk=chunks)
            if trim is not None:
                await tx.trim_output(run_id=trim.run_id, head=trim.head + 1, tail=trim.tail)

        await site.store.write(body)

    return lambda work: RunOutput(work.run_id, keep, site.clock, secrets=secrets_of(work.definition.action))


async def migrate_database(database: str) -> tuple[str, ...]:
    """Bring the tables up to date; the names of what was applied. SQLite does so whenever it is opened."""
    if is_postgres(database):
        from rota.store.postgres import PostgresDatabase  # noqa: PLC0415

        return await PostgresDatabase(database).migrate()
    from rota.store.sqlite import SqliteDatabase  # noqa: PLC0415

    sqlite = SqliteDatabase(Path(database))
    applied = sqlite.missing()
    await sqlite.open()
    await sqlite.close()
    return applied


async def check_database(database: str) -> list[str]:
    """Damage and contradictions, a sentence each."""
    from rota.operations.health import contradictions  # noqa: PLC0415

    store, _ = make_store(database)
    await store.open()
    try:
        return [*await store.damage(), *await contradictions(store)]
    finally:
        await store.close()


async def vacuum_database(database: str) -> None:
    """Give unused space back."""
    store, _ = make_store(database)
    await store.open()
    try:
        await store.vacuum()
    finally:
        await store.close()
