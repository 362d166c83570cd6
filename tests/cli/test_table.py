"""How things look: tables that fit, text that steers nothing, colour where it is wanted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rota.cli.plain import one_line, plain
from rota.cli.shown import brief, distance, moment
from rota.cli.table import Cell, table_lines
from tests.cli.cli import Cli

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
ROWS = [
    [Cell("name"), Cell("status"), Cell("note")],
    [Cell("nightly-report"), Cell("idle"), Cell("a rather long note that says much about little")],
]


def test_a_table_is_as_wide_as_it_needs_to_be_when_nothing_limits_it() -> None:
    assert table_lines(ROWS, width=None) == [
        "name            status  note",
        "nightly-report  idle    a rather long note that says much about little",
    ]


def test_the_widest_column_gives_way_when_the_terminal_is_narrow() -> None:
    lines = table_lines(ROWS, width=40)
    assert lines[1] == "nightly-report  idle    a rather long n…"
    assert max(len(line) for line in lines) == 40


@pytest.mark.parametrize("width", range(30, 80))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(len(line) <= width for line in table_lines(ROWS, width=width))


def test_the_first_column_gives_way_last() -> None:
    assert table_lines(ROWS, width=28)[1] == "nightly-r…  idle    a rathe…"


def test_wide_characters_take_two_places() -> None:
    rows = [[Cell("日本"), Cell("x")], [Cell("e\u0301a"), Cell("y")]]
    assert table_lines(rows, width=None) == ["日本  x", "e\u0301a    y"]


def test_nothing_of_others_steers_the_terminal() -> None:
    assert plain("a\033]52;c;x\007b\u202ec\u009bd\te\n") == "a]52;c;xbcd\te\n"
    assert one_line(" a\n b\033[2J ") == "a b[2J"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "now"), (59, "in 59s"), (-61, "61s ago"), (3600, "in 60m"), (-90_000, "25h ago"), (864_000, "in 10d")],
)
def test_times_are_relative(seconds: float, words: str) -> None:
    assert distance(seconds) == words


def test_times_are_short_in_tables() -> None:
    assert brief(None, NOW) == moment(None, NOW) == "-"
    assert brief(NOW + timedelta(minutes=5), NOW).endswith("(in 5m)")
    assert len(brief(NOW + timedelta(days=5), NOW)) == len("11-23 12:00 (in 5d)")
    assert brief(NOW + timedelta(days=400), NOW).startswith("2027-12-")
    assert moment(NOW, NOW).startswith("2026-11-18 ")


def test_colour_is_there_only_where_it_is_wanted(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("job", "add", "tick", "--manual", "--", "true")
    cli("job", "pause", "tick")
    assert "\033[" not in cli("job", "list")
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert "\033[33mpaused" in cli("job", "list")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033[" not in cli("job", "list")


def test_a_cell_of_others_is_one_harmless_line(cli: Cli) -> None:
    cli("job", "add", "tick", "--manual", "--", "true")
    cli("job", "pause", "tick", "--note", "a\033[2Jb\nc")
    assert "a[2Jb c" in cli("job", "list").splitlines()[1]
