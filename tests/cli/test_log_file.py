"""Logs go to a file, too: one for each process, that never grows too large."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import rota.log
from rota.log import configure, log


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    logger = logging.getLogger("rota")
    before = (logger.handlers, logger.level, logger.propagate)
    yield
    for handler in logger.handlers:
        handler.close()
    logger.handlers, logger.level, logger.propagate = before


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_events_are_in_the_file_when_a_folder_is_given(tmp_path: Path) -> None:
    """SPEC 12: "also to a rotated file in the data folder"."""
    stream = io.StringIO()
    configure(stream, folder=tmp_path / "new")
    log("run.started", run_id="run_1", trace_id="abc", nothing=None)
    (line,) = lines(tmp_path / "new" / "rota.log")
    assert {name: value for name, value in line.items() if name != "timestamp"} == {
        "level": "info",
        "event": "run.started",
        "run_id": "run_1",
        "trace_id": "abc",
    }
    assert json.loads(stream.getvalue()) == line


def test_each_process_has_its_own_file_when_several_write_to_one_folder(tmp_path: Path) -> None:
    # A lock that is taken twice counts as taken by somebody else, within a process, too.
    configure(io.StringIO(), folder=tmp_path)
    log("first.happened")
    configure(io.StringIO(), folder=tmp_path)
    log("second.happened")
    assert [line["event"] for line in lines(tmp_path / "rota.log")] == ["first.happened"]
    assert [line["event"] for line in lines(tmp_path / "rota-2.log")] == ["second.happened"]


def test_old_lines_go_when_the_file_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rota.log, "_FILE_SIZE", 1_000)
    configure(io.StringIO(), folder=tmp_path)
    for number in range(200):
        log("thing.happened", number=number)
    files = sorted(path.name for path in tmp_path.glob("rota.log*") if path.suffix != ".lock")
    assert files == ["rota.log", *(f"rota.log.{number}" for number in range(1, 6))]
    assert all(path.stat().st_size <= 1_000 for path in tmp_path.glob("rota.log*"))
    assert lines(tmp_path / "rota.log")[-1]["number"] == 199


def test_the_stream_says_so_when_the_folder_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    stream = io.StringIO()
    configure(stream, folder=tmp_path / "file")
    assert json.loads(stream.getvalue())["event"] == "log.unwritable"
    log("still.logged")
    assert "still.logged" in stream.getvalue()
