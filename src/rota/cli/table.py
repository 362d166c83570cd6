"""Tables: as wide as they need to be, and on a terminal never wider than it is."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click

from rota.cli.plain import one_line

_GAP = "  "
# A column is not cut below this: less says nothing any more.
_LEAST = 8


class Cell(NamedTuple):
    text: str
    colour: str | None = None


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str | Cell]]) -> None:
    """Rows under their titles."""
    whole = [[Cell(title, "bright_black") for title in titles]]
    whole += [[_cell(cell) for cell in row] for row in rows]
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else None
    click.echo("\n".join(table_lines(whole, width=width)))


def table_lines(rows: Sequence[Sequence[Cell]], *, width: int | None) -> list[str]:
    """The lines of a table that is at most so wide."""
    widths = [max(_width(row[index].text) for row in rows) for index in range(len(rows[0]))]
    if width is not None:
        widths = _fitted(widths, width - len(_GAP) * (len(widths) - 1))
    return [_line(row, widths) for row in rows]


def _cell(cell: str | Cell) -> Cell:
    return Cell(one_line(cell)) if isinstance(cell, str) else Cell(one_line(cell.text), cell.colour)


def _fitted(widths: list[int], room: int) -> list[int]:
    """The widest column gives way, as often as needed; the first, which one types next, when no other can."""
    fitted = list(widths)
    while sum(fitted) > room:
        widest = max(range(len(fitted)), key=lambda index: (index > 0 and fitted[index] > _LEAST, fitted[index], index))
        if fitted[widest] <= _LEAST:
            break
        fitted[widest] -= 1
    return fitted


def _line(row: Sequence[Cell], widths: Sequence[int]) -> str:
    parts = []
    for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
        text = _cut(cell.text, width)
        padding = "" if index == len(row) - 1 else " " * (width - _width(text))
        parts.append((click.style(text, fg=cell.colour) if cell.colour and text else text) + padding)
    return _GAP.join(parts).rstrip()


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    while _width(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def _width(text: str) -> int:
    """How many places a text takes: some characters take two, and some none."""
    if text.isascii():
        return len(text)
    return sum(_places(one) for one in text)


def _places(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
