"""A run that this worker holds: what the work needs, and what its end must give back."""

from __future__ import annotations

from datetime import datetime

import msgspec

from rota.core.action import ActionKind
from rota.core.definition import Definition, action_kind
from rota.core.run import Cause


class ClaimedRun(msgspec.Struct, frozen=True, gc=False):
    id: str
    job_id: str
    job: str
    definition: Definition
    token: int
    cause: Cause
    attempt: int
    due_at: datetime | None
    trace_id: str
    is_started: bool
    """Whether its start is on record already; a child process is spawned only after that."""
    input: str | None = None

    @property
    def agent(self) -> str | None:
        return self.definition.agent

    @property
    def pool(self) -> str:
        return self.definition.pool

    @property
    def concurrency_key(self) -> str | None:
        return self.definition.concurrency_key


def starts_at_claim(definition: Definition) -> bool:
    """Work inside this process has no preflight: the claim is its start. All other starts get a record of their own."""
    return action_kind(definition.action) is ActionKind.PYTHON
