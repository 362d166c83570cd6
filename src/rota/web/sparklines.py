"""Sparklines: how a figure went, small enough to stand beside it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

WIDTH, HEIGHT = 160, 36
_EDGE = 2


class Sparkline(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its course. ``name`` is what it says to those who do not see it."""

    label: str
    figure: str
    name: str
    line: str
    area: str


def sparkline(label: str, values: Sequence[float], *, unit: str = "", least_top: float = 0) -> Sparkline:
    """The course of a figure, the oldest value first. The scale begins at nothing and ends at the largest value."""
    top = max([least_top, *values]) or 1
    figure, most = (_said(values[-1], unit), _said(max(values), unit)) if values else ("", "")
    points = [f"{x:g} {y:g}" for x, y in _places(values, top)]
    line = f"M{'L'.join(points)}" if points else ""
    first, last = (points[0].partition(" ")[0], points[-1].partition(" ")[0]) if points else ("", "")
    return Sparkline(
        label=label,
        figure=figure,
        name=f"{label}: {figure} now, at most {most} lately" if values else f"{label}: not known yet",
        line=line,
        area=f"{line}L{last} {HEIGHT}L{first} {HEIGHT}Z" if line else "",
    )


def _places(values: Sequence[float], top: float) -> list[tuple[float, float]]:
    """Where each value stands; a single one is a line from edge to edge."""
    shown = [*values, *values] if len(values) == 1 else values
    step = WIDTH / max(1, len(shown) - 1)
    room = HEIGHT - 2 * _EDGE
    return [(round(at * step, 1), round(HEIGHT - _EDGE - value / top * room, 1)) for at, value in enumerate(shown)]


def _said(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2g}" if value < 1 else f"{value:.1f}"
    return f"{number} {unit}" if unit else number
