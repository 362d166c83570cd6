"""Bells: heard when rung, heard again after the connection was lost, and never needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from rota.app import SystemClock, make_store
from rota.store.postgres_bell import PostgresBell
from rota.store.unix_bell import UnixBell
from tests.stores import Servers

pytestmark = pytest.mark.anyio


async def heard(listen: Callable[[Callable[[], None]], object], ring: Callable[[], object]) -> None:
    """Listen, ring until it is heard, and stop listening."""
    bell = asyncio.Event()
    task = asyncio.ensure_future(listen(bell.set))
    try:
        async with asyncio.timeout(20):
            while not bell.is_set():
                await ring()
                await SystemClock().wait(bell, until=SystemClock().now())
                await asyncio.to_thread(lambda: None)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_commit_is_heard_when_the_store_is_a_file(tmp_path: Path) -> None:
    store, bell = make_store(str(tmp_path / "rota.db"))
    await store.open()
    await heard(bell.listen, lambda: store.write(lambda tx: tx.ring()))
    await store.close()
    assert not Path(bell.path).exists()


async def test_a_bell_rings_when_the_path_is_longer_than_a_socket_allows(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 90)
    folder.mkdir()
    bell = UnixBell(folder / "rota.db")
    assert len(bell.path) <= 100
    await heard(bell.listen, lambda: asyncio.to_thread(bell.ring))


async def test_nothing_happens_when_nobody_listens(tmp_path: Path) -> None:
    bell = UnixBell(tmp_path / "rota.db")
    bell.ring()
    assert not Path(bell.path).exists()


async def test_a_socket_left_by_a_killed_engine_is_replaced_when_another_listens(tmp_path: Path) -> None:
    bell = UnixBell(tmp_path / "rota.db")
    Path(bell.path).touch()
    await heard(bell.listen, lambda: asyncio.to_thread(bell.ring))


async def test_a_commit_is_heard_again_when_the_listening_connection_was_cut(servers: Servers) -> None:
    """GUARANTEES G8: "bells carry no facts; poll after reconnect"."""
    url = await servers.new_database(16)
    store, _ = make_store(url)
    await store.open()
    rings = 0
    changed = asyncio.Event()

    def on_ring() -> None:
        nonlocal rings
        rings += 1
        changed.set()

    task = asyncio.create_task(PostgresBell(url, SystemClock()).listen(on_ring))
    try:
        async with asyncio.timeout(20):
            await changed.wait()
            changed.clear()
            await store.write(lambda tx: tx.ring())
            await changed.wait()
            before, admin = rings, await asyncpg.connect(url)
            await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rota-listener'"
            )
            await admin.close()
            changed.clear()
            # Once by itself, because something may have been missed, then for what is rung.
            await changed.wait()
            changed.clear()
            await store.write(lambda tx: tx.ring())
            await changed.wait()
            assert rings >= before + 2
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.close()
