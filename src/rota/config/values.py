"""A fleet as it was read, and where it was read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from rota.core.definition import Definition
from rota.errors import Problem


class FleetJob(msgspec.Struct, frozen=True):
    """A job of a fleet, and the line it stands on."""

    definition: Definition
    line: int
    renamed_from: str | None = None
    is_enabled: bool = True
    wait: str | None = None
    """How long from now it is to run once, where the file says it so."""


class FleetAgent(msgspec.Struct, frozen=True):
    name: str
    line: int
    description: str = ""
    max_concurrent: int | None = None
    timezone: str | None = None


class Fleet(msgspec.Struct, frozen=True):
    """Everything that a fleet file says."""

    name: str
    description: str
    timezone: str
    agents: tuple[FleetAgent, ...]
    jobs: tuple[FleetJob, ...]
    pools: dict[str, int]
    settings: dict[str, timedelta | int]
    warnings: tuple[Problem, ...]


class Surroundings(msgspec.Struct, frozen=True):
    """Where a fleet file is read: its name and folder, and what it may refer to."""

    file: str
    folder: str
    home: str
    environment: Mapping[str, str]
    zone: str
    now: datetime
