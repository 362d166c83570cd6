"""Settings shared by every room of the tests."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from rota.ports.store import Store
from tests.stores import KINDS, Servers, all_servers, opened

# The default run tries the same examples every time, so that a red test is never luck; the long form explores.
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    yield from all_servers()


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> AsyncIterator[Store]:
    """The same test on every database."""
    async with opened(request.param, tmp_path, servers) as ready:
        yield ready
