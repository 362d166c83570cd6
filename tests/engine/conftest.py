"""An engine by hand on every database."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rota.ports.store import Store
from rota.testing import FakeAction, FakeClock, HandCranked

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
async def hand(store: Store, clock: FakeClock) -> HandCranked:
    """An engine whose work takes no time and succeeds."""
    cranked = HandCranked(store, clock, action=FakeAction(clock))
    await cranked.open()
    return cranked
