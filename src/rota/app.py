"""The composition root: the only place that makes clocks and chance, and names concretes."""

from __future__ import annotations

import asyncio
import gc
import getpass
import os
import random  # noqa: TID251 - the one source of chance
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rota.errors import ScheduleError

if TYPE_CHECKING:
    from rota.actions.http import Http
    from rota.actions.output import RunOutput
    from rota.engine.engine import Engine, Meter
    from rota.engine.work import Credentials
    from rota.ledger.site import Settings, Site
    from rota.operations.premises import Premises
    from rota.ports.action import Action, Work
    from rota.ports.bell import Bell
    from rota.ports.caller import Caller
    from rota.ports.store import Store, Transaction

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PRECISION = timedelta(milliseconds=2)
# ROTA on the keys of a telephone.
PORT = 7682
FILE_NAMES = ("rota.yaml", "rota.yml")
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
        self.offset = timedelta()

    def now(self) -> datetime:
        return system_now() + self.offset

    async def agree(self, store: Store) -> None:
        if not store.is_shared:
            return
        asked = self.now()
        (answer,) = await store.read(lambda tx: tx.database_time())
        answered = self.now()
        difference = _EPOCH + timedelta(microseconds=answer) - (asked + (answered - asked) / 2)
        # Only what the length of the question cannot explain is a difference.
        if abs(difference) > (answered - asked) / 2 + _PRECISION:
            self.offset += difference

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
    return os.environ.get("ROTA_DB") or str(data_folder() / "rota.db")


def fleet_file_here(folder: Path) -> Path | None:
    """The fleet file of a folder, if it has one."""
    return next((folder / name for name in FILE_NAMES if (folder / name).is_file()), None)


def log_folder(database: str) -> Path:
    """Where an engine keeps its log: beside the file that it works on, else in the user's data folder."""
    return data_folder() if is_postgres(database) else Path(database).absolute().parent


def data_folder() -> Path:
    """Where what belongs to a user of this machine is kept."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "rota"


def is_postgres(database: str) -> bool:
    return database.startswith(_POSTGRES)


def premises_of(
    database: str,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    is_serving: bool = False,
    origins: Mapping[str, str] | None = None,
) -> Premises:
    """Where this program stands."""
    from rota.operations.premises import Premises  # noqa: PLC0415

    folder = log_folder(database)
    # Each database has a token of its own.
    is_server = is_postgres(database)
    name = f"postgres-{sha256(database.encode()).hexdigest()[:12]}" if is_server else Path(database).name
    return Premises(
        database=database,
        token_file=str(folder / f"{name}.token"),
        log_folder=str(folder),
        host=host,
        port=port,
        is_serving=is_serving,
        origins=origins or {},
    )


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


def local_caller() -> Caller:
    """The person at this machine: whoever can reach the store may do everything, under their own name."""
    from rota.ports.caller import Caller, Door  # noqa: PLC0415

    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid {os.getuid()}"
    return Caller(name=name, door=Door.CLI)


def make_site(store: Store, *, settings: Settings | None = None, caller: Caller | None = None) -> Site:
    """A place to write from: this process, with a name that no other has."""
    from rota.ledger.site import Site, settings_from  # noqa: PLC0415
    from rota.ports.caller import ENGINE  # noqa: PLC0415

    entropy, clock = SystemEntropy(), SystemClock()
    (worker,) = entropy.ids("wrk", clock.now(), 1)
    return Site(
        store=store,
        clock=clock,
        entropy=entropy,
        worker=worker,
        settings=settings or settings_from(os.environ),
        caller=caller or ENGINE,
    )


class Workshop(NamedTuple):
    """An open store with all that an engine needs around it."""

    site: Site
    bell: Bell
    http: Http


@asynccontextmanager
async def open_workshop(database: str) -> AsyncIterator[Workshop]:
    """A place for one engine, in a process of its own; on SQLite it holds the file's lock."""
    from rota.actions.http import Http  # noqa: PLC0415
    from rota.store.engine_lock import EngineLock  # noqa: PLC0415

    # A crowd of runs makes many objects that go by themselves; looking through them all the time finds nothing.
    gc.set_threshold(100_000, 50, 50)
    store, bell = make_store(database, is_rehearsed=True)
    site, http = make_site(store), Http()
    with nullcontext() if is_postgres(database) else EngineLock(Path(database), site.worker):
        await store.open()
        try:
            yield Workshop(site, bell, http)
        finally:
            await http.close()
            await store.close()


@asynccontextmanager
async def running_engine(database: str) -> AsyncIterator[Engine]:
    """An engine without doors."""
    async with open_workshop(database) as shop:
        yield make_engine(shop, credentials=await credentials_of(shop.site, os.environ.get("ROTA_API_URL")))


async def credentials_of(site: Site, api_url: str | None) -> Credentials:
    """What children get to knock on Rota's door with: a token of their run, and where the door is."""
    from rota.operations.tokens import run_signing_key, run_token  # noqa: PLC0415

    key = await run_signing_key(site)
    url = {"ROTA_API_URL": api_url} if api_url else {}
    return lambda run: {"ROTA_API_TOKEN": run_token(key, run.id, run.token), **url}


def make_engine(shop: Workshop, *, credentials: Credentials = lambda _: {}, meter: Meter | None = None) -> Engine:
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
        ActionKind.HTTP: shop.http,
        ActionKind.PYTHON: PythonCall(),
    }
    make_output = output_maker(shop.site)
    return Engine(shop.site, LocalMachine(), shop.bell, actions, make_output, credentials=credentials, meter=meter)


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

    def make(work: Work) -> RunOutput:
        secrets = (*secrets_of(work.definition.action), *_tokens(work))
        return RunOutput(work.run_id, keep, site.clock, secrets=secrets)

    return make


def _tokens(work: Work) -> Iterator[str]:
    return (value for name, value in work.credentials.items() if name.endswith("_TOKEN"))
