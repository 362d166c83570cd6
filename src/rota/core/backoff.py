"""Backoff: how failures in a row stretch the baseline, and how long a retry waits."""

from __future__ import annotations

import math
from datetime import timedelta

import msgspec

from rota.core.action import ActionKind
from rota.core.calendar import Daily, Monthly, Weekly
from rota.core.schedule import Cron, Every, Schedule
from rota.errors import ScheduleError

MAX_MULTIPLIER = 32
LADDER = (
    timedelta(seconds=30),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(minutes=60),
)


class Multiply(msgspec.Struct, frozen=True, tag="multiply"):
    """The interval doubles with each failure, up to 32 times."""


class Ladder(msgspec.Struct, frozen=True, tag="ladder"):
    """Each failure climbs one step; the last step holds."""

    steps: tuple[timedelta, ...] = LADDER


class NoBackoff(msgspec.Struct, frozen=True, tag="none"):
    pass


Backoff = Multiply | Ladder | NoBackoff


class Retry(msgspec.Struct, frozen=True):
    """New attempts after a failure, after a lost worker, and after a shutdown."""

    max: int = 0
    first: timedelta = timedelta(seconds=30)
    factor: float = 2.0
    cap: timedelta = timedelta(hours=1)
    on_lost: int = 0
    on_interrupted: int = 0


def default_backoff(schedule: Schedule, action: ActionKind) -> Backoff:
    """The multiplier for intervals, the ladder for agents and chats on cron or calendar, none for the rest."""
    match schedule:
        case Every():
            return Multiply()
        case Cron() | Daily() | Weekly() | Monthly() if action in (ActionKind.AGENT, ActionKind.CHAT):
            return Ladder()
        case _:
            return NoBackoff()


def multiplier(failures: int) -> int:
    """By how much an interval is stretched: 1, 2, 4, 8, 16, 32, and no further."""
    return min(1 << min(failures, MAX_MULTIPLIER), MAX_MULTIPLIER)


def ladder_step(ladder: Ladder, failures: int) -> timedelta:
    """The wait after so many failures in a row (at least one)."""
    return ladder.steps[min(failures, len(ladder.steps)) - 1]


def retry_delay(retry: Retry, attempt: int) -> timedelta:
    """The wait after attempt number ``attempt`` (counted from 1) before the next one."""
    wait = min(retry.first, retry.cap)
    for _ in range(attempt - 1):
        # Compared as a ratio first: a large factor must end at the cap, not in an overflow.
        if retry.factor >= retry.cap / wait:
            return retry.cap
        wait *= retry.factor
    return wait


def check_backoff(backoff: Backoff) -> None:
    """Refuse a ladder that could not be climbed."""
    if isinstance(backoff, Ladder) and (not backoff.steps or min(backoff.steps) <= timedelta()):
        raise ScheduleError(
            field="backoff",
            value=", ".join(map(str, backoff.steps)),
            expected="at least one step, each more than zero",
            example="[30s, 1m, 5m, 15m, 60m]",
        )


def check_retry(retry: Retry) -> None:
    """Refuse counts below zero, a factor below one, and waits that are not positive."""
    limits = (
        ("retry.max", retry.max, 0, "2"),
        ("retry.on_lost", retry.on_lost, 0, "1"),
        ("retry.on_interrupted", retry.on_interrupted, 0, "1"),
    )
    for field, value, low, example in limits:
        if value < low:
            raise ScheduleError(field=field, value=str(value), expected=f"at least {low}", example=example)
    if not 1 <= retry.factor < math.inf:
        raise ScheduleError(field="retry.factor", value=str(retry.factor), expected="at least 1", example="2")
    for field, wait in (("retry.first", retry.first), ("retry.cap", retry.cap)):
        if wait <= timedelta():
            raise ScheduleError(field=field, value=str(wait), expected="more than zero", example="30s")
