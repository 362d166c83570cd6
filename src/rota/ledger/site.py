"""Where an engine stands: its clock, its chance, its store, its name among the workers, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from rota.core.duration import parse_duration
from rota.errors import ScheduleError
from rota.ports.caller import ENGINE, Caller
from rota.ports.clock import Clock, Entropy
from rota.ports.store import Store


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The ``engine:`` part of the configuration, with its defaults."""

    poll: timedelta = timedelta(seconds=30)
    beat: timedelta = timedelta(seconds=15)
    dead_after: int = 4
    scan: timedelta = timedelta(seconds=5)
    snapshot: timedelta = timedelta(seconds=60)
    fire_batch: int = 1_000
    claim_batch: int = 1_000
    max_concurrent: int | None = None
    max_jitter: timedelta = timedelta(seconds=30)
    jitter_threshold: int = 3
    drain: timedelta = timedelta(seconds=30)

    @property
    def lease(self) -> timedelta:
        """How long a worker is believed without a sign of life."""
        return self.beat * self.dead_after

    @property
    def unrenewed(self) -> timedelta:
        """How long a worker goes on without renewing its lease: the rest of it is for ending what it holds."""
        return self.lease - max(self.beat, self.lease / 4)


def settings_from(environment: Mapping[str, str], file: Mapping[str, timedelta | int] | None = None) -> Settings:
    """The settings of a fleet file, and over them those of the environment, by ``ROTA_`` and their name."""
    given: dict[str, object] = dict(file or {})
    for name, default in zip(Settings.__struct_fields__, msgspec.structs.astuple(Settings()), strict=True):
        text = environment.get(f"ROTA_{name.upper()}")
        if text is not None:
            is_duration = isinstance(default, timedelta)
            given[name] = parse_duration(text, field=name) if is_duration else _count(text, name)
    return Settings(**given)  # type: ignore[arg-type] # each by its own type


def setting_origins(
    environment: Mapping[str, str], file: Mapping[str, timedelta | int] | None = None, file_name: str = ""
) -> dict[str, str]:
    """Where settings come from that are not left to their defaults: the fleet file, or a variable, which goes first."""
    of_file = {name: file_name for name in Settings.__struct_fields__ if name in (file or {})}
    variables = {name: f"ROTA_{name.upper()}" for name in Settings.__struct_fields__}
    of_environment = {name: f"environment {key}" for name, key in variables.items() if key in environment}
    return of_file | of_environment


def _count(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ScheduleError(field=f"ROTA_{name.upper()}", value=text, expected="a number from 1", example="10")
    return int(text)


class Site(msgspec.Struct, frozen=True, kw_only=True):
    store: Store
    clock: Clock
    entropy: Entropy
    worker: str
    settings: Settings = Settings()
    caller: Caller = ENGINE
    """On whose behalf this writes."""

    def next_look(self, now: datetime, at: datetime | None) -> datetime:
        """When to look again: at that time, but never later than the safety net says."""
        latest = now + self.settings.poll
        return latest if at is None else min(at, latest)
