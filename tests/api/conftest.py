"""Servers for the tests of the API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.house import House, open_house, seed
from tests.stores import Servers, opened


@pytest.fixture
async def house(tmp_path: Path, servers: Servers) -> AsyncIterator[House]:
    """A server on SQLite, with all that the examples speak of."""
    async with opened("sqlite", tmp_path, servers) as store, open_house(store) as ready:
        await seed(ready.site)
        yield ready


@pytest.fixture(scope="module")
async def shared_house(
    anyio_backend: str,  # noqa: ARG001 - it must be there before a fixture that lasts longer than a test
    tmp_path_factory: pytest.TempPathFactory,
    servers: Servers,
) -> AsyncIterator[House]:
    """The same for tests that leave things as they are, or do not care."""
    async with opened("sqlite", tmp_path_factory.mktemp("shared"), servers) as store, open_house(store) as ready:
        await seed(ready.site)
        yield ready


@pytest.fixture(params=["sqlite", "postgres18"])
async def each_house(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> AsyncIterator[House]:
    """The same on both kinds of database."""
    async with opened(request.param, tmp_path, servers) as store, open_house(store) as ready:
        await seed(ready.site)
        yield ready
