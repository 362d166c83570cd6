"""Bells wake an engine. They carry no facts: losing all of them only costs the poll interval.

They are rung by transactions, see ``Transaction.ring``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Bell(Protocol):
    async def listen(self, on_ring: Callable[[], None]) -> None:
        """Call ``on_ring`` for every ring, until cancelled."""
        ...
