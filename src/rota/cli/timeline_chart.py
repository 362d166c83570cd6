"""A timeline in plain text: a row for each job, a column for each stretch of time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from rota.core.run import FAILURES, RunState
from rota.core.zone import wall_time, zone_named
from rota.operations.timeline import Lane, Timeline
from rota.operations.views import RunMark

_LABEL = 24
_TICK = 12
_LEAST = 24

Cell = tuple[str, str | None]
"""A mark, and the state that it stands for."""


class Chart(NamedTuple):
    ruler: str
    lanes: Sequence[tuple[str, Sequence[Cell]]]
    legend: str


class _Marks(NamedTuple):
    by_state: Mapping[str, str]
    due: str
    now: str
    empty: str


# What comes later wins a cell that several runs share: the worst must not be drawn over.
_STATES = (
    RunState.SKIPPED,
    RunState.CANCELLED,
    RunState.SUCCEEDED,
    RunState.QUEUED,
    RunState.HELD,
    RunState.RUNNING,
    RunState.MISSED,
    *sorted(FAILURES),
)
_RANKS = {state.value: rank for rank, state in enumerate(_STATES)}
_FANCY = _Marks(
    {
        "skipped": "╌",
        "cancelled": "◌",
        "succeeded": "■",
        "queued": "□",
        "held": "□",
        "running": "▶",
        "missed": "?",
        **dict.fromkeys(sorted(FAILURES), "✗"),
    },
    "·",
    "│",
    " ",
)
_ASCII = _Marks(
    {
        "skipped": "-",
        "cancelled": "c",
        "succeeded": "#",
        "queued": "o",
        "held": "o",
        "running": ">",
        "missed": "?",
        **dict.fromkeys(sorted(FAILURES), "x"),
    },
    ".",
    "|",
    " ",
)


class _Scale(NamedTuple):
    begin: datetime
    column: timedelta
    width: int

    def place(self, at: datetime) -> int | None:
        """The column of an instant; none outside the window."""
        place = (at - self.begin) // self.column
        return place if 0 <= place < self.width else None

    def span(self, begin: datetime, end: datetime) -> range:
        """The columns of a stretch of time."""
        first, last = (begin - self.begin) // self.column, (end - self.begin) // self.column
        return range(max(0, first), min(self.width - 1, last) + 1)


def chart(found: Timeline, *, width: int, zone: str, is_ascii: bool = False) -> Chart:
    """The lanes on the wall clock of a zone."""
    marks = _ASCII if is_ascii else _FANCY
    label = min(_LABEL, max(len(lane.job) for lane in found.lanes))
    columns = max(_LEAST, width - label - 1)
    scale = _Scale(found.begin, (found.end - found.begin) / columns, columns)
    lanes = [(_label(lane.job, label), _cells(lane, found.now, scale, marks)) for lane in found.lanes]
    return Chart(" " * (label + 1) + _ruler(scale, zone), lanes, _legend(marks))


def _label(name: str, width: int) -> str:
    """The end of a name tells it from those of the same agent."""
    return name.ljust(width) if len(name) <= width else f"~{name[1 - width :]}"


def _cells(lane: Lane, now: datetime, scale: _Scale, marks: _Marks) -> list[Cell]:
    cells: list[Cell] = [(marks.empty, None)] * scale.width
    for at in lane.due:
        if (place := scale.place(at)) is not None:
            cells[place] = (marks.due, None)
    if (place := scale.place(now)) is not None:
        cells[place] = (marks.now, None)
    for run in sorted(lane.runs, key=lambda run: _RANKS[run.state]):
        for column in scale.span(*_stretch(run, now)):
            cells[column] = (marks.by_state[run.state], run.state)
    return cells


def _stretch(run: RunMark, now: datetime) -> tuple[datetime, datetime]:
    """From the start to the end of a run; what never began is where it was due."""
    begin = run.started_at or run.due_at or run.requested_at
    if run.started_at is None:
        return begin, begin
    return begin, max(begin, run.ended_at or now)


def _ruler(scale: _Scale, zone: str) -> str:
    where = zone_named(zone)
    form, length = ("%d. %H:%M", 9) if scale.column * scale.width > timedelta(days=1) else ("%H:%M", 5)
    columns = range(0, scale.width - length + 1, _TICK)
    return "".join(
        f"{wall_time(scale.begin + at * scale.column, where):{form}}".ljust(_TICK) for at in columns
    ).rstrip()


def _legend(marks: _Marks) -> str:
    shown = ("succeeded", "failed", "running", "queued", "skipped", "missed", "cancelled")
    return "  ".join((*(f"{marks.by_state[state]} {state}" for state in shown), f"{marks.due} due", f"{marks.now} now"))
