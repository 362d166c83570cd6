"""Schedules in plain words, and what the nights on which clocks change do to them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile

import msgspec

from rota.core.calendar import (
    DAY_NAMES,
    LAST,
    Daily,
    MonthDay,
    Monthly,
    NthWeekday,
    Weekday,
    Weekly,
    format_clock,
    ordinal_word,
)
from rota.core.chain import After, ChainOn
from rota.core.cron import parse_cron
from rota.core.decision import Decision, Source
from rota.core.duration import format_duration
from rota.core.schedule import Cron, Every, First, Manual, Once, Schedule, Wall, Webhook, due_times
from rota.core.zone import ClockChange, clock_changes, second_instant, zone_named

_TICK = timedelta(microseconds=1)
_ENDINGS = {ChainOn.SUCCESS: "succeeds", ChainOn.FAILURE: "fails", ChainOn.DONE: "ends"}


class ClockChangeNight(msgspec.Struct, frozen=True):
    """A clock change that touches a schedule: the wall times concerned, and the instants at which it fires instead."""

    change: ClockChange
    walls: tuple[datetime, ...]
    fires: tuple[datetime, ...]
    is_gap: bool
    in_words: str


def in_words(schedule: Schedule) -> str:
    """One sentence for people."""
    match schedule:
        case Once(at=at):
            return f"once, at {at.isoformat(sep=' ', timespec='minutes')}"
        case Every(interval=interval, first=first):
            begin = "the first at once" if first is First.NOW else "the first one interval from now"
            return f"every {format_duration(interval)}, counted from the end of the previous run, {begin}"
        case Cron(expression=expression):
            text = parse_cron(expression).simulator.explain()
            return f"{text[0].lower()}{text[1:]}"
        case Daily() | Weekly() | Monthly():
            return f"{_days_in_words(schedule)} at {format_clock(schedule.at)}"
        case After(job=job, on=on):
            return f"after {job} {_ENDINGS[on]}"
        case Manual():
            return "only when run by hand"
        case Webhook():
            return "when a webhook calls"
        case _:
            return "when a chat message asks"


def next_in_words(decision: Decision, schedule: Schedule) -> str:
    """When next, for people; an interval job that runs has no time yet."""
    if decision.next_run_at is not None:
        return decision.next_run_at.isoformat(sep=" ", timespec="seconds")
    if decision.source is Source.AFTER_RUN:
        return (
            f"{format_duration(schedule.interval)} after this run" if isinstance(schedule, Every) else "after this run"
        )
    return "paused" if decision.source is Source.PAUSED else "none"


def clock_change_nights(
    schedule: Schedule, zone_name: str, *, after: datetime, until: datetime
) -> tuple[ClockChangeNight, ...]:
    """The clock changes in ``(after, until]`` that touch a schedule."""
    if not isinstance(schedule, Wall | Once):
        return ()
    changes = clock_changes(zone_named(zone_name), after=after, until=until)
    nights = (_night(schedule, zone_name, change) for change in changes)
    return tuple(night for night in nights if night.walls)


def _days_in_words(schedule: Daily | Weekly | Monthly) -> str:
    match schedule:
        case Daily():
            return "every day"
        case Weekly(on=days):
            return f"every {_listed([_day_name(day) for day in days])}"
    return f"on {_rule_in_words(schedule.on)}"


def _rule_in_words(rule: MonthDay | NthWeekday) -> str:
    if isinstance(rule, NthWeekday):
        return f"the {ordinal_word(rule.nth)} {_day_name(rule.weekday)} of every month"
    if rule.day == LAST:
        return "the last day of every month"
    return f"day {rule.day} of every month" + (", or the last day of a shorter month," if rule.day > 28 else "")


def _day_name(day: Weekday) -> str:
    return DAY_NAMES[day]


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _night(schedule: Wall | Once, zone_name: str, change: ClockChange) -> ClockChangeNight:
    is_gap = change.wall_after > change.wall_before
    begin, end = sorted((change.wall_before, change.wall_after))
    walls = _walls_between(schedule, begin, end)
    if _is_fixed(schedule):
        fires = (change.changes_at,) if is_gap else _first_passes(walls, change)
    else:
        fires = () if is_gap else (*_first_passes(walls, change), *_second_passes(walls, zone_name))
    words = _night_in_words(begin, end, is_gap=is_gap, is_fixed=_is_fixed(schedule))
    return ClockChangeNight(change, walls, fires, is_gap, words)


def _walls_between(schedule: Wall | Once, begin: datetime, end: datetime) -> tuple[datetime, ...]:
    if isinstance(schedule, Once):
        is_between = schedule.at.tzinfo is None and begin <= schedule.at < end
        return (schedule.at,) if is_between else ()
    # In UTC no clock ever changes, so there the due times of a schedule are its wall times.
    instants = due_times(schedule, begin.replace(tzinfo=UTC) - _TICK, "UTC")
    walls = (instant.replace(tzinfo=None) for instant in instants)
    return tuple(takewhile(lambda wall: wall < end, walls))


def _is_fixed(schedule: Wall | Once) -> bool:
    return not isinstance(schedule, Cron) or parse_cron(schedule.expression).is_fixed


def _first_passes(walls: Sequence[datetime], change: ClockChange) -> tuple[datetime, ...]:
    return tuple((wall - change.before).replace(tzinfo=UTC) for wall in walls)


def _second_passes(walls: Sequence[datetime], zone_name: str) -> tuple[datetime, ...]:
    return tuple(second_instant(wall, zone_named(zone_name)) for wall in walls)


def _night_in_words(begin: datetime, end: datetime, *, is_gap: bool, is_fixed: bool) -> str:
    form = "%H:%M" if end - begin < timedelta(days=1) else "%Y-%m-%d %H:%M"
    hours = f"{begin:{form}} to {end:{form}}"
    if is_gap:
        effect = f"fires at {end:{form}} instead" if is_fixed else "nothing runs in between"
        return f"clocks skip {hours}: {effect}"
    effect = "fires once, the first time" if is_fixed else "runs both times"
    return f"clocks show {hours} twice: {effect}"
