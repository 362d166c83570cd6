"""Charts: figures as shapes that a template draws. Pure: numbers in, coordinates out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

import msgspec

from rota.core.run import FAILURES, RunState
from rota.core.zone import zone_named
from rota.operations.history import JobHistory
from rota.operations.views import RunMark

_BAR, _TALL = 6, 80
_CELL = 12
_WEEKS = 53
_DAYS = timedelta(days=7)
_LEVELS = (1, 3, 10)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Bar(msgspec.Struct, frozen=True):
    """One run as long as it took."""

    x: int
    y: float
    height: float
    tone: str
    run_id: str
    seconds: float


class BarChart(msgspec.Struct, frozen=True):
    bars: tuple[Bar, ...]
    width: int
    height: int
    most: float
    """Seconds at the top."""


class Cell(msgspec.Struct, frozen=True):
    """A day: where it stands, how busy it was from 0 to 4, and in which colour."""

    x: int
    y: int
    level: int
    tone: str
    text: str


class HeatMap(msgspec.Struct, frozen=True):
    cells: tuple[Cell, ...]
    months: tuple[tuple[int, str], ...]
    width: int
    height: int
    text: str
    """What the picture says, for those who do not see it."""


def bar_chart(runs: Sequence[RunMark]) -> BarChart:
    """How long runs took, the oldest first; those that never ran are left out."""
    timed = [(one, (one.ended_at - one.started_at).total_seconds()) for one in runs if one.started_at and one.ended_at]
    most = max((seconds for _, seconds in timed), default=0.0)
    bars = tuple(
        Bar(index * _BAR, _TALL - height, height, _tone(one.state), one.id, seconds)
        for index, (one, seconds) in enumerate(timed)
        for height in (max(2.0, round(_TALL * seconds / most, 1) if most else 2.0),)
    )
    return BarChart(bars, max(1, len(bars)) * _BAR, _TALL, most)


def _tone(state: str) -> str:
    return "good" if state == RunState.SUCCEEDED else "bad" if state in FAILURES else "dim"


def past_year(now: datetime, history: JobHistory, zone: str) -> HeatMap:
    """What became of each day of the past year."""
    today = now.astimezone(zone_named(zone)).date()
    begin = _monday(today) - _DAYS * (_WEEKS - 1)
    cells = []
    for one in history.days:
        done = one.succeeded + one.failed
        rest = one.skipped + one.missed + one.cancelled
        tone = "bad" if one.failed else "good" if one.succeeded else "warn"
        named = ("succeeded", "failed", "skipped", "missed", "cancelled")
        parts = [f"{getattr(one, name)} {name}" for name in named if getattr(one, name)]
        cells.append(_cell(begin, date.fromisoformat(one.day), done or rest, tone, ", ".join(parts)))
    total, failed = sum(one.succeeded + one.failed for one in history.days), sum(one.failed for one in history.days)
    return _map(
        begin,
        cells,
        f"The past year: {_counted(total, 'run')} on {_counted(len(history.days), 'day')}, {failed} failed.",
    )


def coming_year(now: datetime, history: JobHistory, zone: str) -> HeatMap:
    """How often each day of the coming year will see it."""
    begin = _monday(now.astimezone(zone_named(zone)).date())
    cells = [
        _cell(begin, date.fromisoformat(one.day), one.count, "live", f"{one.count} planned") for one in history.planned
    ]
    total = sum(one.count for one in history.planned)
    return _map(
        begin, cells, f"The coming year: {_counted(total, 'due time')} on {_counted(len(history.planned), 'day')}."
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _cell(begin: date, day: date, count: int, tone: str, text: str) -> Cell | None:
    week, weekday = divmod((day - begin).days, 7)
    if not 0 <= week < _WEEKS:
        return None
    level = 1 + sum(count > limit for limit in _LEVELS)
    return Cell(week * _CELL, weekday * _CELL, level, tone, f"{day:%a %d %b %Y}: {text}")


def _map(begin: date, cells: Sequence[Cell | None], text: str) -> HeatMap:
    weeks = [begin + _DAYS * index for index in range(_WEEKS)]
    firsts = [(index, week) for index, week in enumerate(weeks) if not index or week.month != weeks[index - 1].month]
    months = tuple((index * _CELL, _MONTHS[week.month - 1]) for index, week in firsts if index < _WEEKS - 2)
    return HeatMap(tuple(one for one in cells if one), months, _WEEKS * _CELL, 7 * _CELL, text)
