"""Long thoughts: what takes a while is thought in a thread of its own, one after the other, so that nobody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
_thinker = ThreadPoolExecutor(1, "rota-thinker")


async def think(thought: Callable[[], T]) -> T:
    """What comes of a long thought."""
    return await asyncio.get_running_loop().run_in_executor(_thinker, thought)
