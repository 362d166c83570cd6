"""A chart of the load in plain text: a row for each day, a column for each hour."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from rota.core.zone import wall_time, zone_named
from rota.operations.simulation.views import HourLoad

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*#@"
_LABEL = len("Mon 2026-03-02")
_HOURS = 24
_EMPTY = ("Nothing to show.",)


def chart(load: Sequence[HourLoad], *, width: int, zone: str = "UTC", is_ascii: bool = False) -> tuple[str, ...]:
    """The runs that begin in each hour, on the wall clock of a zone. The wider, the more columns an hour gets."""
    days = _days(load, zone)
    if not days:
        return _EMPTY
    totals = {day: sum(hours) for day, hours in days.items()}
    most = max(max(hours) for hours in days.values())
    tail = max(len(f"{total:,}") for total in totals.values())
    cell = max(1, min(4, (width - _LABEL - tail - 4) // _HOURS))
    marks = _ASCII if is_ascii else _BLOCKS
    edge = "|" if is_ascii else "│"
    rows = [
        f"{day:%a %Y-%m-%d} {edge}{''.join(_mark(runs, most, marks) * cell for runs in hours)}{edge}"
        f" {totals[day]:>{tail},}"
        for day, hours in days.items()
    ]
    return (_ruler(cell), *rows, "", _legend(most, marks, width))


def _days(load: Sequence[HourLoad], zone: str) -> dict[date, list[int]]:
    where = zone_named(zone)
    days: dict[date, list[int]] = {}
    for hour in load:
        wall = wall_time(hour.at, where)
        days.setdefault(wall.date(), [0] * _HOURS)[wall.hour] += hour.runs
    return days


def _mark(runs: int, most: int, marks: str) -> str:
    # The least that runs is never drawn as nothing.
    return marks[0] if not runs else marks[max(1, round(runs / most * (len(marks) - 1)))]


def _ruler(cell: int) -> str:
    labels = "".join(f"{hour:02d}".ljust(6 * cell) for hour in range(0, _HOURS, 6))
    return f"{' ' * (_LABEL + 2)}{labels}".rstrip()


def _legend(most: int, marks: str, width: int) -> str:
    indent = " " * (_LABEL + 2)
    if not most:
        return f"{indent}no runs"
    steps = list(dict.fromkeys(max(1, round(most * share)) for share in (0.125, 0.25, 0.5, 0.75, 1)))
    while True:
        shown = "  ".join(f"{_mark(step, most, marks)} {step:,}" for step in steps)
        line = f"{indent}runs an hour: {shown}"
        if len(line) <= width or len(steps) == 1:
            return line
        del steps[0]
