"""Loops: what their state says to those who ask from outside."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from rota.engine.loop import Loop
from rota.errors import StoreUnavailableError
from rota.testing import FakeClock
from tests.engine.conftest import NOW

pytestmark = pytest.mark.anyio


async def test_a_loop_is_failing_when_its_step_does_not_come_to_an_end() -> None:
    """GUARANTEES G15: "database away or disk full: … health says so"; a locked one lets a step wait for long."""
    clock, has_begun, is_free = FakeClock(NOW), asyncio.Event(), asyncio.Event()

    async def step() -> datetime | None:
        has_begun.set()
        await is_free.wait()
        return None

    loop = Loop("beat", step, clock)
    stepping = asyncio.create_task(loop.step())
    await has_begun.wait()
    assert not loop.is_failing
    clock.set(NOW + timedelta(seconds=6))
    assert loop.is_failing
    is_free.set()
    await stepping
    assert not loop.is_failing


async def test_a_loop_is_failing_from_an_error_to_the_next_success() -> None:
    answers = iter([StoreUnavailableError("away"), None])

    async def step() -> datetime | None:
        if (error := next(answers)) is not None:
            raise error
        return None

    clock = FakeClock(NOW)
    loop = Loop("beat", step, clock)
    await loop.step()
    clock.set(NOW + timedelta(hours=1))
    assert loop.is_failing
    await loop.step()
    assert not loop.is_failing
