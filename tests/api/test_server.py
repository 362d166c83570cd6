"""The server: where it listens, and how it stops."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import aiohttp
import pytest

from rota.api.application import make_application
from rota.api.server import serve
from rota.app import make_site
from rota.errors import ConflictError
from rota.operations import jobs
from rota.ports.store import Store
from tests.api.house import House, open_house, premises
from tests.stores import Servers, opened

pytestmark = pytest.mark.anyio


async def start(store: Store, host: str, port: int) -> None:
    application = make_application(make_site(store), premises(), hosts=())
    await serve(application, host=host, port=port, on_started=lambda _: None, stopped=asyncio.Event())


async def test_a_port_that_is_taken_is_named_with_a_cure(tmp_path: Path, servers: Servers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with opened("sqlite", tmp_path, servers) as store:
            with pytest.raises(ConflictError) as refused:
                await start(store, "127.0.0.1", port)
    assert str(refused.value) == (f"Port {port} is taken by another program; choose another: rota up --port {port + 1}")


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
async def test_an_address_that_is_not_ours_is_refused(host: str, tmp_path: Path, servers: Servers) -> None:
    async with opened("sqlite", tmp_path, servers) as store:
        with pytest.raises(ConflictError, match="cannot be used"):
            await start(store, host, 0)


async def test_signals_stay_with_whoever_runs_the_loop(tmp_path: Path, servers: Servers) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    async with opened("sqlite", tmp_path, servers) as store, open_house(store) as house:
        assert (await house.ask("GET", "/healthz")).status == 200
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


async def test_it_listens_on_ipv6_and_says_so_as_a_url(tmp_path: Path, servers: Servers) -> None:
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stopped = asyncio.Event()
    async with opened("sqlite", tmp_path, servers) as store, aiohttp.ClientSession() as client:
        application = make_application(make_site(store), premises(), hosts=())
        serving = asyncio.create_task(
            serve(application, host="::1", port=0, on_started=address.set_result, stopped=stopped)
        )
        await asyncio.wait((serving, address), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            pytest.skip("this machine has no IPv6")
        url = await address
        assert url.startswith("http://[::1]:")
        async with client.get(f"{url}/healthz") as response:
            assert response.status == 200
        stopped.set()
        await serving


async def test_what_is_under_way_is_answered_before_it_stops(
    tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, may_go_on = asyncio.Event(), asyncio.Event()
    real = jobs.find_job

    async def slow(site: object, name: str) -> object:
        asked.set()
        await may_go_on.wait()
        return await real(site, name)  # type: ignore[arg-type]

    async with opened("sqlite", tmp_path, servers) as store, open_house(store) as house:
        monkeypatch.setattr(jobs, "find_job", slow)
        asking = asyncio.create_task(house.ask("GET", "/api/v1/jobs/nobody"))
        await asked.wait()
        house.stopped.set()
        may_go_on.set()
        assert (await asking).status == 404


async def test_a_stopped_server_takes_no_more_requests(tmp_path: Path, servers: Servers) -> None:
    async with opened("sqlite", tmp_path, servers) as store:
        async with open_house(store) as house:
            assert (await house.ask("GET", "/healthz")).status == 200
        with pytest.raises(OSError, match="Connect call failed"):
            await connect(house)


async def connect(house: House) -> None:
    host, port = house.url.removeprefix("http://").split(":")
    await asyncio.open_connection(host, int(port))
