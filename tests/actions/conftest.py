"""What the tests of actions share: an event loop, and a process that takes in orphans as an engine does."""

from __future__ import annotations

import pytest

from rota.actions.tree import become_subreaper


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def _subreaper() -> None:
    become_subreaper()
