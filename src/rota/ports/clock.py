"""Time and chance, as the engine asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from rota.ports.store import Store


class Clock(Protocol):
    """The only source of time. A fake one can be cranked."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        ...

    @property
    def offset(self) -> timedelta:
        """How far this clock was moved to agree with a database's."""
        ...

    async def agree(self, store: Store) -> None:
        """Measure how far this clock is from that of a shared database, whose time counts."""
        ...

    async def wait(self, event: asyncio.Event, *, until: datetime | None) -> bool:
        """Wait for the event, at most until an instant; whether it came. The event stays as it is."""
        ...


class Entropy(Protocol):
    """The only source of chance. A seeded one gives the same twice."""

    def ids(self, prefix: str, now: datetime, count: int) -> Sequence[str]:
        """New ids that sort by the time they were made."""
        ...

    def hex(self, length: int) -> str:
        """Random hexadecimal digits."""
        ...

    def share(self) -> float:
        """A number from 0 up to 1."""
        ...
