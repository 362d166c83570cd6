"""Doing the work of a run: what an action is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from rota.core.definition import Definition
from rota.core.settlement import Outcome


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as an action sees it."""

    run_id: str
    job: str
    definition: Definition
    attempt: int
    token: int
    trace_id: str
    due_at: datetime | None = None
    input: str | None = None
    credentials: Mapping[str, str] = {}
    """What a child may knock on Rota's own door with. It goes to child processes only, never to other machines."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What a child is told of itself, and recovery looks for."""
        return identity(
            run_id=self.run_id,
            job=self.job,
            agent=self.definition.agent,
            attempt=self.attempt,
            trace_id=self.trace_id,
            token=self.token,
        )


def identity(*, run_id: str, job: str, agent: str | None, attempt: int, trace_id: str, token: int) -> Mapping[str, str]:
    """The variables that say which run it is."""
    return {
        "ROTA_RUN_ID": run_id,
        "ROTA_JOB": job,
        "ROTA_AGENT": agent or "",
        "ROTA_ATTEMPT": str(attempt),
        "ROTA_TRACE_ID": trace_id,
        "TRACEPARENT": f"00-{trace_id}-{run_id[-16:]:0>16}-01",
        "ROTA_FENCING_TOKEN": str(token),
    }


class Result(msgspec.Struct, frozen=True):
    """How the work ended, and what it gave back."""

    outcome: Outcome
    result: str | None = None
    """A JSON text, where there is one."""
    response: str | None = None


class Output(Protocol):
    """Where output goes: in order, bounded, redacted, live."""

    async def write(self, stream: str, data: bytes) -> None:
        """Take a piece; it returns quickly, whatever the database does. An empty one is the end of its stream."""
        ...

    def tail(self) -> str:
        """The last part of what was written."""
        ...


class Started(Protocol):
    async def __call__(self) -> bool:
        """Put the start on record. No side effect may come before; none at all when the answer is no."""
        ...


class Action(Protocol):
    """One way of doing work. Cancelling ``perform`` ends the work, for certain, before it returns."""

    async def preflight(self, work: Work) -> str | None:
        """A sentence that says what to fix, when the work cannot be done as it is defined."""
        ...

    async def perform(self, work: Work, output: Output, started: Started) -> Result: ...
