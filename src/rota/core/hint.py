"""Hints: advice on timing with an author, a reason and an expiry of its own. They end by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from rota.core.duration import MAX_DURATION
from rota.core.zone import in_utc
from rota.errors import ScheduleError

MAX_PAUSE_HINT = timedelta(hours=24)


class Hint(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every hint has. It counts only while it has not expired."""

    expires_at: datetime
    author: str = ""
    reason: str = ""


class IntervalHint(Hint, frozen=True, kw_only=True, tag="interval"):
    """Run every so often, instead of the baseline."""

    interval: timedelta


class OneShotHint(Hint, frozen=True, kw_only=True, tag="oneshot"):
    """Run once at this time, if that is before the baseline."""

    run_at: datetime


class PauseHint(Hint, frozen=True, kw_only=True, tag="pause"):
    """Do not run before this time, at most a day ahead. A person's pause is never shortened by it."""

    pause_until: datetime


AnyHint = IntervalHint | OneShotHint | PauseHint


def check_hint(hint: AnyHint, *, now: datetime) -> None:
    """Refuse a hint that has expired, an interval that is none, and a pause of more than a day."""
    if in_utc(hint.expires_at, field="ttl") <= now:
        raise ScheduleError(
            field="ttl", value=hint.expires_at.isoformat(), expected="an expiry after now", example="15m"
        )
    match hint:
        case IntervalHint(interval=interval) if not timedelta() < interval <= MAX_DURATION:
            raise ScheduleError(
                field="interval", value=str(interval), expected="more than zero, at most 36525d", example="5m"
            )
        case OneShotHint(run_at=run_at):
            in_utc(run_at, field="at")
        case PauseHint(pause_until=end) if in_utc(end, field="pause_until") - now > MAX_PAUSE_HINT:
            raise ScheduleError(
                field="pause_until",
                value=end.isoformat(),
                expected="at most 24h from now",
                example=(now + timedelta(hours=2)).isoformat(timespec="minutes"),
            )
        case _:
            pass


def active_hints(hints: Sequence[AnyHint], now: datetime) -> tuple[AnyHint, ...]:
    """Those whose own expiry has not come."""
    return tuple(hint for hint in hints if hint.expires_at > now)


def remaining_hints(hints: Sequence[AnyHint], now: datetime) -> tuple[AnyHint, ...]:
    """What a fire or a settlement leaves: expired hints go, and one-shot hints whose time has come are consumed."""
    return tuple(hint for hint in active_hints(hints, now) if not _is_consumed(hint, now))


def next_expiry(hints: Sequence[AnyHint], now: datetime) -> datetime | None:
    """When the first of the active hints expires, and a decision is due again."""
    return min((hint.expires_at for hint in active_hints(hints, now)), default=None)


def _is_consumed(hint: AnyHint, now: datetime) -> bool:
    return isinstance(hint, OneShotHint) and hint.run_at <= now
