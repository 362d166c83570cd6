"""Sparklines: the course of a figure."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.web.sparklines import HEIGHT, WIDTH, sparkline


@pytest.mark.parametrize(
    ("values", "figure", "name"),
    [
        ([], "", "CPU: not known yet"),
        ([0], "0 %", "CPU: 0 % now, at most 0 % lately"),
        ([80, 12.34], "12.3 %", "CPU: 12.3 % now, at most 80 % lately"),
        ([0.123], "0.12 %", "CPU: 0.12 % now, at most 0.12 % lately"),
        ([2048.4, 1024], "1,024 %", "CPU: 1,024 % now, at most 2,048 % lately"),
    ],
)
def test_the_latest_figure_and_the_highest_are_said(values: list[float], figure: str, name: str) -> None:
    drawn = sparkline("CPU", values, unit="%", least_top=100)
    assert (drawn.figure, drawn.name) == (figure, name)
    assert bool(drawn.line) == bool(values)


def test_the_scale_begins_at_nothing_and_ends_at_its_top() -> None:
    drawn = sparkline("CPU", [0, 50, 100], least_top=100)
    assert drawn.line == "M0 34L80 18L160 2"
    assert drawn.area == "M0 34L80 18L160 2L160 36L0 36Z"


@given(st.lists(st.floats(0, 1e9), max_size=200))
def test_nothing_is_drawn_outside(values: list[float]) -> None:
    numbers = [float(text) for text in re.findall(r"-?[\d.]+(?:e[-+]\d+)?", sparkline("Load", values).area)]
    assert all(0 <= x <= WIDTH for x in numbers[::2])
    assert all(0 <= y <= HEIGHT for y in numbers[1::2])
