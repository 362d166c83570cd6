"""The machine a worker runs on, for those that must know who still lives there."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Vitals(msgspec.Struct, frozen=True):
    """What a machine is busy with."""

    cpu_percent: float
    memory_mb: float
    load: float
    tmux_sessions: int


class Machine(Protocol):
    """A boot, a process number and a start time together are never used twice."""

    @property
    def host(self) -> str: ...
    @property
    def boot_id(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def started_at(self) -> int: ...

    def is_alive(self, pid: int, started_at: int) -> bool:
        """Whether the process of that number is the one that started then."""
        ...

    def end_leftovers(self, run_id: str, token: int) -> int:
        """Kill what a run has left behind; how many processes there were."""
        ...

    def cpu_by_run(self) -> dict[str, float]:
        """Seconds of processor time that the processes of each run have used."""
        ...

    def vitals(self) -> Vitals: ...
