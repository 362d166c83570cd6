"""Who asks, through which door, and what they may."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Role(StrEnum):
    """What somebody may do. Each role may do what those before it may."""

    READ = "read"
    OPERATE = "operate"
    """Run, cancel, retry, approve, pause, give hints."""
    ADMIN = "admin"
    """Create or edit anything that executes."""

    def covers(self, wanted: Role) -> bool:
        return _RANKS[self] >= _RANKS[wanted]


_RANKS = {role: rank for rank, role in enumerate(Role)}


class Door(StrEnum):
    CLI = "cli"
    API = "api"
    PAGE = "page"
    FILE = "file"
    ENGINE = "engine"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """A person at the machine, the holder of a token, a run, or the engine itself."""

    name: str
    door: Door
    role: Role = Role.ADMIN
    run_id: str | None = None
    """The run that asks with a token of its own. It sees what belongs to its job and agent, and nothing else."""
    job_id: str | None = None
    agent: str | None = None

    @property
    def is_person(self) -> bool:
        """Whether somebody types, who may mean a name by its beginning."""
        return self.door is Door.CLI

    @property
    def is_run(self) -> bool:
        return self.run_id is not None


ENGINE = Caller(name="engine", door=Door.ENGINE)
