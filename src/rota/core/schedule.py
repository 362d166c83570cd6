"""The kinds of schedule, their text form, and the next due time of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import islice

import msgspec

from rota.core.calendar import (
    Calendar,
    Daily,
    Monthly,
    Weekly,
    check_calendar,
    format_calendar,
    next_calendar,
    parse_clock,
    parse_month_day,
    parse_weekdays,
)
from rota.core.chain import After, format_after, parse_after
from rota.core.cron import next_cron, parse_cron
from rota.core.duration import MAX_DURATION, format_duration, parse_duration
from rota.core.zone import first_instant, in_utc, zone_named
from rota.errors import ScheduleError

MAX_JITTER = 10.0
LAST_INSTANT = datetime.max.replace(tzinfo=UTC)


class First(StrEnum):
    """When a new interval job runs for the first time."""

    NOW = "now"
    AFTER = "after"


class Once(msgspec.Struct, frozen=True, tag="once"):
    """One due time. A naive ``at`` is a wall time in the job's zone. ``keep: false`` removes the job after success."""

    at: datetime
    keep: bool = True


class Every(msgspec.Struct, frozen=True, tag="every"):
    """An interval, counted from the completion of the previous run."""

    interval: timedelta
    first: First = First.NOW


class Cron(msgspec.Struct, frozen=True, tag="cron"):
    expression: str


class Manual(msgspec.Struct, frozen=True, tag="manual"):
    """Only run by hand."""


class Webhook(msgspec.Struct, frozen=True, tag="webhook"):
    """Fired by a request from outside."""


class Chat(msgspec.Struct, frozen=True, tag="chat"):
    """Fired by a chat message."""


Wall = Cron | Daily | Weekly | Monthly
Schedule = Once | Every | Wall | Manual | Webhook | Chat | After

_OUTSIDE: dict[str, Schedule] = {"manual": Manual(), "webhook": Webhook(), "chat": Chat()}


def schedule_type(schedule: Schedule) -> str:
    """The word for the kind of schedule: one of SPEC's types."""
    return "calendar" if isinstance(schedule, Calendar) else str(type(schedule).__struct_config__.tag)


def next_wall(schedule: Wall, after: datetime, zone_name: str) -> datetime | None:
    """The first match of a cron or calendar schedule strictly after an instant."""
    if isinstance(schedule, Cron):
        return next_cron(schedule.expression, after, zone_name)
    return next_calendar(schedule, after, zone_name)


def once_instant(schedule: Once, zone_name: str) -> datetime:
    """The instant of a one-time schedule."""
    if schedule.at.tzinfo is None:
        return first_instant(schedule.at, zone_named(zone_name))
    return schedule.at.astimezone(UTC)


def next_time(schedule: Schedule, after: datetime, zone_name: str) -> datetime | None:
    """The first due time strictly after an instant, as if every run took no time; none for what fires from outside."""
    match schedule:
        case Once():
            at = once_instant(schedule, zone_name)
            return at if at > after else None
        case Every(interval=interval):
            return _within_calendar(after, interval)
        case Cron() | Daily() | Weekly() | Monthly():
            return next_wall(schedule, after, zone_name)
        case _:
            return None


def due_times(schedule: Schedule, after: datetime, zone_name: str) -> Iterator[datetime]:
    """Every due time after an instant, in order."""
    at = next_time(schedule, after, zone_name)
    while at is not None:
        yield at
        at = next_time(schedule, at, zone_name)


def next_times(schedule: Schedule | str, *, after: datetime, count: int, zone: str = "UTC") -> tuple[datetime, ...]:
    """The next due times after a time; without an offset it is a wall time in the zone. A text is parsed."""
    if count < 0:
        raise ScheduleError(field="count", value=str(count), expected="zero or more", example="5")
    instant = once_instant(Once(after), zone)
    if isinstance(schedule, str):
        schedule = parse_schedule(schedule, now=instant)
    check_schedule(schedule)
    return tuple(islice(due_times(schedule, instant, zone), count))


def check_schedule(schedule: Schedule) -> tuple[str, ...]:
    """Raise when a schedule could never work; return what a person should be warned of when saving it."""
    match schedule:
        case Cron(expression=expression):
            return parse_cron(expression).warnings
        case Every(interval=interval):
            _check_interval(interval)
        case Daily() | Weekly() | Monthly():
            check_calendar(schedule)
        case _:
            pass
    return ()


def parse_schedule(text: str, *, now: datetime) -> Schedule:
    """Read a schedule from one line: cron, ``every 5m``, ``daily 09:00``, ``monthly last fri 09:00``, ``in 20m``."""
    word, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    match word.lower():
        case "every":
            interval, is_after = _without_suffix(rest, " first after")
            return Every(parse_duration(interval, field="every"), First.AFTER if is_after else First.NOW)
        case "daily":
            return Daily(parse_clock(rest, field="daily"))
        case "weekly":
            days, at = _split_last(rest, field="weekly", example="weekly mon,thu 09:00")
            return Weekly(parse_weekdays(days), parse_clock(at, field="weekly.at"))
        case "monthly":
            day, at = _split_last(rest, field="monthly", example="monthly 31 09:00")
            return Monthly(parse_month_day(day), parse_clock(at, field="monthly.at"))
        case "once" | "at":
            at, is_removed = _without_suffix(rest, " keep false")
            return Once(parse_instant(at, field="once.at"), keep=not is_removed)
        case "in":
            return Once(_from_now(rest, now))
        case "manual" | "webhook" | "chat" if not rest:
            return _OUTSIDE[word.lower()]
        case "after":
            return parse_after(rest)
        case _:
            return Cron(parse_cron(" ".join(text.split())).text)


def format_schedule(schedule: Schedule) -> str:
    """One line that ``parse_schedule`` reads back."""
    match schedule:
        case Once(at=at, keep=keep):
            return f"once {at.isoformat()}" + ("" if keep else " keep false")
        case Every(interval=interval, first=first):
            return f"every {format_duration(interval)}" + (" first after" if first is First.AFTER else "")
        case Cron(expression=expression):
            return expression
        case After():
            return f"after {format_after(schedule)}"
        case Daily() | Weekly() | Monthly():
            return format_calendar(schedule)
        case _:
            return schedule_type(schedule)


def parse_instant(text: str, *, field: str) -> datetime:
    """An ISO 8601 date and time; without an offset it is a wall time in the job's zone."""
    try:
        at = datetime.fromisoformat(text.strip())
        # A year at either end is left over for zones and stretches of time.
        if 1970 <= at.year <= 9998:
            return at.astimezone(UTC) if at.tzinfo else at
    except ValueError:
        pass
    raise ScheduleError(
        field=field, value=text, expected="an ISO 8601 date and time, 1970 to 9998", example="2026-12-01T09:00"
    )


@lru_cache(maxsize=65_536)
def stagger_offset(name: str, stagger: timedelta) -> timedelta:
    """A job's fixed share of its stagger, in whole seconds, derived from its name."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    seconds = stagger // timedelta(seconds=1)
    return timedelta(seconds=int.from_bytes(digest, "big") * seconds >> 64)


def jitter_delay(interval: timedelta, jitter: float, share: float) -> timedelta:
    """The part of an interval that jitter adds: at most ``jitter`` per cent, of which ``share`` (0 to 1) is taken."""
    return interval * (jitter / 100 * share)


def calculate_next_trigger(
    last_completed_at: datetime | None,
    interval: timedelta | str,
    *,
    now: datetime,
    jitter: float = 0.0,
    share: float = 0.0,
) -> datetime:
    """When an interval is due next: now for a first run or an overdue one. ``share`` picks the jitter within 0 to 1."""
    interval = parse_duration(interval) if isinstance(interval, str) else _check_interval(interval)
    check_jitter(jitter)
    if not 0 <= share <= 1:
        raise ScheduleError(field="share", value=str(share), expected="a number from 0 to 1", example="0.5")
    now = in_utc(now, field="now")
    if last_completed_at is None:
        return now
    wait = interval + jitter_delay(interval, jitter, share)
    return max(now, _within_calendar(in_utc(last_completed_at, field="last_completed_at"), wait) or LAST_INSTANT)


def check_jitter(jitter: float) -> None:
    """Refuse a jitter outside 0 to 10 per cent."""
    if not 0 <= jitter <= MAX_JITTER:
        raise ScheduleError(field="jitter", value=str(jitter), expected="per cent of the interval, 0-10", example="5")


def is_schedule_due(next_at: datetime | None, now: datetime) -> bool:
    """Whether a due time has come."""
    return next_at is not None and next_at <= now


def _check_interval(interval: timedelta) -> timedelta:
    if not timedelta() < interval <= MAX_DURATION:
        raise ScheduleError(field="every", value=str(interval), expected="more than zero, at most 36525d", example="5m")
    return interval


def _without_suffix(text: str, suffix: str) -> tuple[str, bool]:
    words = " ".join(text.split())
    return words.removesuffix(suffix), words.endswith(suffix)


def _from_now(text: str, now: datetime) -> datetime:
    at = _within_calendar(now, parse_duration(text, field="in"))
    if at is None:
        raise ScheduleError(field="in", value=text, expected="a time before the year 9999", example="in 20m")
    return at


def _split_last(text: str, *, field: str, example: str) -> tuple[str, str]:
    head, _, last = text.rpartition(" ")
    if not head:
        raise ScheduleError(field=field, value=text, expected="day and time", example=example)
    return head, last


def _within_calendar(after: datetime, interval: timedelta) -> datetime | None:
    try:
        return after + interval
    except OverflowError:
        return None
