"""``rota up``: the engine, the fleet file and the HTTP doors in one process, from the first tick to the last."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import platform
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from rota.app import (
    PORT,
    Workshop,
    credentials_of,
    local_caller,
    machine_zone,
    make_engine,
    open_workshop,
    premises_of,
)
from rota.engine.engine import Engine
from rota.engine.loop import Loop
from rota.errors import ConflictError, ScheduleError
from rota.ledger.site import Site, setting_origins, settings_from
from rota.log import log
from rota.operations.sessions import make_login_link
from rota.operations.tokens import caller_of, create_token, list_tokens, revoke_token
from rota.operations.watching import FleetWatch
from rota.ports.caller import Caller, Door, Role

_FILE = Caller(name="fleet file", door=Door.FILE)
_SETUP = "rota up"
_LOCAL = "local"
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class House(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be up, and where its doors are."""

    database: str
    file: Path | None = None
    has_doors: bool = True
    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()
    """Names by which others may call it, besides those of this machine."""
    is_remote_allowed: bool = False
    is_watched: bool = False
    """Whether somebody sits at the terminal."""


async def serve_forever(house: House, say: Callable[[str], None]) -> None:
    """Work until a signal says stop."""
    _check_host(house)
    async with open_workshop(house.database) as opened:
        applied = await _apply_file(house, opened)
        watch, shop = applied.watch, applied.shop
        if not house.has_doors:
            # The doors are elsewhere, and only whoever started this knows where.
            credentials = await credentials_of(shop.site, os.environ.get("ROTA_API_URL"))
            await _work(make_engine(shop, credentials=credentials), watch, shop.site)
            return
        await _work_with_doors(house, applied, say)


class _Applied(NamedTuple):
    """The fleet file that is watched, if there is one, the place that its settings made, and where these come from."""

    watch: FleetWatch | None
    shop: Workshop
    origins: Mapping[str, str]


async def _apply_file(house: House, shop: Workshop) -> _Applied:
    """Jobs and settings of the fleet file, before the first tick."""
    if house.file is None:
        return _Applied(None, shop, setting_origins(os.environ))
    site = msgspec.structs.replace(shop.site, caller=_FILE)
    await site.clock.agree(site.store)
    watch = FleetWatch(site, house.file, os.environ, machine_zone())
    given = await watch.apply()
    settings = settings_from(os.environ, given)
    origins = setting_origins(os.environ, given, house.file.name)
    return _Applied(watch, shop._replace(site=msgspec.structs.replace(shop.site, settings=settings)), origins)


async def _work(engine: Engine, watch: FleetWatch | None, site: Site) -> None:
    """Until a signal says stop: the first drains, the second ends everything at once."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, engine.stop)
    watching = Loop("watch fleet", watch.look, site.clock) if watch is not None else None
    watched = asyncio.create_task(watching.run()) if watching is not None else None
    try:
        await engine.run()
    finally:
        if watching is not None and watched is not None:
            watching.stop()
            await watched


async def _work_with_doors(house: House, applied: _Applied, say: Callable[[str], None]) -> None:
    """The doors open before the engine starts, so that its runs know where to knock, and close after its last run."""
    from rota.api.application import make_application  # noqa: PLC0415
    from rota.api.metrics import Meter  # noqa: PLC0415
    from rota.api.server import serve  # noqa: PLC0415
    from rota.web.pages import Pages  # noqa: PLC0415

    meter, closing, shop = Meter(), asyncio.Event(), applied.shop
    engines: list[Engine] = []
    premises = premises_of(house.database, host=house.host, port=house.port, is_serving=True, origins=applied.origins)
    token_file = await keep_local_token(shop.site, Path(premises.token_file))
    application = make_application(
        shop.site,
        premises,
        hosts=(*_LOOPBACK, *house.hosts, *_own_name(house.host)),
        meter=meter,
        is_ready=lambda: bool(engines) and engines[0].is_ready,
        pages=Pages(shop.site, premises),
    )
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    doors = asyncio.create_task(
        serve(application, host=house.host, port=house.port, on_started=address.set_result, stopped=closing)
    )
    doors.add_done_callback(_report)
    try:
        await asyncio.wait((doors, address), return_when=asyncio.FIRST_COMPLETED)
        if not address.done():
            await doors
        url = _reachable(address.result())
        say(f"Rota is up: {url} (token for the API in {token_file}). Ctrl-C stops it.")
        say(f"Open the page: {await _way_in(house, shop.site, url)}")
        engines.append(make_engine(shop, credentials=await credentials_of(shop.site, url), meter=meter))
        await _work(engines[0], applied.watch, shop.site)
    finally:
        closing.set()
        await asyncio.wait((doors,))


async def _way_in(house: House, site: Site, url: str) -> str:
    """A link that lets one browser in, for whoever sits at the terminal. A log that is kept gets none."""
    if not house.is_watched:
        return f"{url}, with a link from: {_login(url)}"
    link = await make_login_link(msgspec.structs.replace(site, caller=local_caller()))
    return f"{url}{link.path}\n(lets one browser in, within 10 minutes; later: {_login(url)})"


def _login(url: str) -> str:
    """The command that makes a link to here."""
    return "rota login" if url == f"http://127.0.0.1:{PORT}" else f"rota login --url {url}"


def _report(doors: asyncio.Task[None]) -> None:
    """An engine goes on without its doors, but not in silence."""
    error = None if doors.cancelled() else doors.exception()
    if error is not None:
        log("doors.failed", level=logging.ERROR, reason=str(error))


async def keep_local_token(site: Site, path: Path) -> Path:
    """The token of whoever can read this file: made at the first start, and anew when it no longer counts."""
    token = await asyncio.to_thread(_read, path)
    if token is None or await caller_of(site, token) is None:
        setup = msgspec.structs.replace(site, caller=_maker(site, path))
        for old in (await list_tokens(setup)).items:
            if old.is_valid and (old.name, old.made_by) == (_LOCAL, setup.caller.name):
                await revoke_token(setup, token=old.id)
        made = await create_token(setup, name=_LOCAL, role=Role.ADMIN)
        await asyncio.to_thread(_write_private, path, made.token)
    return path


def _maker(site: Site, path: Path) -> Caller:
    """Whoever makes the token. On a store that machines share each has a file, and revokes only what was in that."""
    place = f" ({platform.node()}:{path})" if site.store.is_shared else ""
    return Caller(name=f"{_SETUP}{place}", door=Door.CLI)


def _read(path: Path) -> str | None:
    try:
        text = path.read_text("ascii").strip()
        path.chmod(0o600)
    except FileNotFoundError:
        return None
    except OSError as error:
        cure = "Move it away, or give its owner the right to read it."
        raise ConflictError(f"The token file {path} cannot be read: {error.strerror}. {cure}") from None
    except UnicodeDecodeError:
        return None
    return text


def _write_private(path: Path, text: str) -> None:
    """Nobody else can read it, not even for a moment."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    try:
        fresh.chmod(0o600)
        fresh.write_text(f"{text}\n", "ascii")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _reachable(url: str) -> str:
    """An address that stands for every address is reached from here by that of this machine."""
    return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _own_name(host: str) -> tuple[str, ...]:
    """An address that stands for every address is nobody's name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return (host,)
    if address.is_unspecified:
        return ()
    return (f"[{address}]",) if address.version == 6 else (str(address),)


def _check_host(house: House) -> None:
    """Whoever opens the doors to other machines must say so: tokens would travel in the clear."""
    try:
        is_local = house.host == "localhost" or ipaddress.ip_address(house.host).is_loopback
    except ValueError:
        is_local = False
    if house.has_doors and not is_local and not house.is_remote_allowed:
        raise ScheduleError(
            field="host",
            value=house.host,
            expected="an address of this machine alone. To let others in, add --allow-remote, and put a proxy with "
            "TLS in front: tokens would travel in the clear",
            example="--host 127.0.0.1",
        )
