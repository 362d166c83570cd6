"""What a simulation shows."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from rota.operations.inputs import Instant


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is of everything, also of what the lists leave out."""

    jobs: int
    runs: int
    busy_seconds: float
    skipped: int
    """Due times that quiet hours skip."""
    moved: int
    """Due times that quiet hours move to their end."""
    collisions: int
    bursts: int


class JobForecast(msgspec.Struct, frozen=True, kw_only=True):
    """One job in the stretch."""

    job: str
    agent: str | None
    schedule: str
    timezone: str
    count: int
    first: Instant | None
    last: Instant | None
    typical_seconds: float | None
    """The median of its latest successful runs; none if there are none."""
    skipped: int
    moved: int
    cost: Decimal | None
    tokens: int | None
    notes: tuple[str, ...]


class Collision(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch in which more runs want to be under way at once than a limit allows, so that some wait."""

    start: Instant
    end: Instant
    scope: str
    """``pool``, ``agent``, ``key`` or ``all``."""
    name: str
    wanted: int
    allowed: int
    jobs: tuple[str, ...]
    job_count: int
    times: int
    """How often the same jobs collide; the worst of these times is shown."""


class Burst(msgspec.Struct, frozen=True, kw_only=True):
    """A minute in which unusually many runs begin."""

    at: Instant
    runs: int
    jobs: tuple[str, ...]
    job_count: int
    times: int
    """How many minutes there are with the same jobs; the first is shown."""


class QuietTime(msgspec.Struct, frozen=True, kw_only=True):
    """A due time that quiet hours skip, or the end of quiet hours to which they move some."""

    at: Instant
    job: str
    policy: str


class ClockChangeEffect(msgspec.Struct, frozen=True, kw_only=True):
    """A clock change that touches due times."""

    at: Instant
    timezone: str
    effect: str
    """``moved``, ``dropped``, ``doubled``, or ``once`` where a doubled time still fires once."""
    in_words: str
    jobs: tuple[str, ...]
    job_count: int


class HourLoad(msgspec.Struct, frozen=True):
    """An hour: how many runs begin in it, and how long runs are under way in it, all together."""

    at: Instant
    runs: int
    busy_seconds: float


class CostForecast(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs will cost, going by what the latest ones did."""

    cost: Decimal
    tokens: int
    known_jobs: int
    """Of how many jobs with runs in the stretch something is known."""
    unknown_jobs: int


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """What a stretch of time will look like, if nothing changes and every run takes as long as usual."""

    begin: Instant
    end: Instant
    is_cut: bool
    """Whether there was more than is looked at."""
    complete_until: Instant
    """Up to when everything is counted: the end, unless it was cut."""
    totals: Totals
    jobs: tuple[JobForecast, ...]
    collisions: tuple[Collision, ...]
    """The worst first."""
    bursts: tuple[Burst, ...]
    """The largest first."""
    quiet: tuple[QuietTime, ...]
    clock_changes: tuple[ClockChangeEffect, ...]
    load: tuple[HourLoad, ...]
    cost: CostForecast
