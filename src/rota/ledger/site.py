"""Where an engine stands: its clock, its chance, its store, its name among the workers, and its settings."""

from __future__ import annotations

from datetime import timedelta

import msgspec

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


class Site(msgspec.Struct, frozen=True, kw_only=True):
    store: Store
    clock: Clock
    entropy: Entropy
    worker: str
    settings: Settings = Settings()
