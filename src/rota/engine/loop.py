"""A loop is a step and a wait. The step says when it wants to be called again; a bell may come earlier."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from rota.errors import StoreUnavailableError
from rota.log import log_fields
from rota.ports.clock import Clock

Step = Callable[[], Awaitable[datetime | None]]

# After errors in a row the waits grow up to the last of these.
_RECOVERY = tuple(timedelta(seconds=seconds) for seconds in (0.2, 1, 5, 15))
# A database that is locked lets a step wait for longer than anybody who asks for its health should.
_PATIENCE = timedelta(seconds=5)


class Loop:
    """Calls a step again and again, survives its errors, and stops when told."""

    def __init__(self, name: str, step: Step, clock: Clock) -> None:
        self.name = name
        self._step = step
        self._clock = clock
        self._bell = asyncio.Event()
        self._is_stopping = False
        self._errors = 0
        self._began_at: datetime | None = None
        self.failed_at: datetime | None = None

    @property
    def is_failing(self) -> bool:
        """Whether the last step failed, or the present one does not come to an end."""
        is_stuck = self._began_at is not None and self._clock.now() - self._began_at > _PATIENCE
        return is_stuck or self._errors > 0

    def wake(self) -> None:
        """Call the step as soon as possible."""
        self._bell.set()

    def stop(self) -> None:
        """End after the present step."""
        self._is_stopping = True
        self._bell.set()

    async def run(self) -> None:
        while not self._is_stopping:
            # Cleared before the step: a bell that rings during it is a reason for another one.
            self._bell.clear()
            until = await self.step()
            if not self._is_stopping:
                await self._clock.wait(self._bell, until=until)

    async def step(self) -> datetime | None:
        """One step; after an error, the time to try again."""
        self._began_at = self._clock.now()
        try:
            until = await self._step()
        except Exception as error:  # noqa: BLE001 - no loop may end because one of its steps failed
            wait = _RECOVERY[min(self._errors, len(_RECOVERY) - 1)]
            self._errors += 1
            self.failed_at = self._clock.now()
            is_expected = isinstance(error, StoreUnavailableError)
            fields = {"loop": self.name, "retry_in": wait.total_seconds(), "reason": str(error)}
            log_fields("step.failed", fields, level=logging.ERROR, error=None if is_expected else error)
            return self._clock.now() + wait
        finally:
            self._began_at = None
        self._errors = 0
        return until
