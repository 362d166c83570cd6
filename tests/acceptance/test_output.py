"""Output beside a running engine: bounded, readable afterwards, never in the child's way (GUARANTEES G10)."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import psutil

from tests.rota_process import EngineProcess, engine, eventually, rota, rota_json

IS_LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
MEGABYTE = 1024 * 1024
HUGE = 1024 * MEGABYTE if IS_LONG else 256 * MEGABYTE
BINARY = 400 * MEGABYTE if IS_LONG else 40 * MEGABYTE
LINES = 1_000_000
GROWTH = 50 * MEGABYTE
KEPT = 10 * MEGABYTE
MARK = re.compile(r"\n\[… ([0-9,]+) bytes cut …\]\n")


class Watched:
    """A run that has ended, and the most memory that the engine took meanwhile."""

    def __init__(self, run: dict[str, Any], growth: int, db: str) -> None:
        self.run = run
        self.growth = growth
        self._db = db

    @property
    def text(self) -> str:
        return rota("logs", self.run["id"], db=self._db).stdout

    @property
    def chunks(self) -> list[dict[str, Any]]:
        # Not splitlines: binary output holds separators that are only known to Unicode.
        lines = rota("logs", self.run["id"], "--json", db=self._db).stdout.split("\n")
        return [json.loads(line) for line in lines if line]

    def parts(self) -> tuple[str, int, str]:
        """The head, how much was cut, and the tail."""
        head, cut, tail = MARK.split(self.text)
        return head, int(cut.replace(",", "")), tail


def watch(folder: Path, *argv: str) -> Watched:
    """Do a job once with an engine of its own, whose memory nothing else has touched."""
    db = str(folder / "rota.db")
    rota("job", "add", "loud", "--manual", "--", *argv, db=db)
    with engine(db, folder) as running:
        memory = psutil.Process(running.pid).memory_info
        before = memory().rss
        sampled = [before]
        run_id = rota("job", "run", "loud", db=db).stdout.strip()
        eventually(lambda: (sampled.append(memory().rss), has_ended(running, run_id))[1], patience=120)
        assert [event for event in running.events() if event["level"] != "info"] == []
    return Watched(rota_json("run", "show", run_id, db=db), max(sampled) - before, db)


def has_ended(running: EngineProcess, run_id: str) -> bool:
    return any((event["event"], event.get("run_id")) == ("run.ended", run_id) for event in running.events())


def check(done: Watched) -> None:
    assert (done.run["state"], done.run["exit_code"], done.run["error"]) == ("succeeded", 0, None)
    assert done.growth < GROWTH, f"the engine grew by {done.growth / MEGABYTE:.0f} MB"
    sequences = [chunk["sequence"] for chunk in done.chunks]
    assert sequences == sorted(set(sequences))


def test_head_and_tail_are_whole_when_a_million_lines_are_printed(tmp_path: Path) -> None:
    done = watch(tmp_path, "seq", "-f", "%020.0f", str(LINES))
    check(done)
    head, cut, tail = done.parts()
    assert len(head) + cut + len(tail) == 21 * LINES
    assert 9 * MEGABYTE < len(head) + len(tail) <= KEPT + 128 * 1024
    # A cut may go through a line; what stands before and behind it is as it was printed.
    first = len(head) // 21
    assert head[: first * 21] == "".join(f"{number:020}\n" for number in range(1, first + 1))
    last = len(tail) // 21
    assert tail[-last * 21 :] == "".join(f"{number:020}\n" for number in range(LINES - last + 1, LINES + 1))
    assert [chunk["stream"] for chunk in done.chunks].count("rota") == 1


def test_memory_stays_flat_when_there_is_no_newline_in_a_gigabyte(tmp_path: Path) -> None:
    text = f"printf BEGIN; head -c {HUGE} /dev/zero | tr '\\0' x; printf END"
    done = watch(tmp_path, "/bin/sh", "-c", text)
    check(done)
    head, cut, tail = done.parts()
    assert (head[:8], tail[-6:]) == ("BEGINxxx", "xxxEND")
    assert set(head[5:]) | set(tail[:-3]) == {"x"}
    assert len(head) + cut + len(tail) == HUGE + len("BEGINEND")


def test_memory_stays_flat_when_output_is_binary(tmp_path: Path) -> None:
    done = watch(tmp_path, "/bin/sh", "-c", f"printf BEGIN; head -c {BINARY} /dev/urandom; printf END")
    check(done)
    kept = "".join(chunk["text"] for chunk in done.chunks)
    head, _, tail = MARK.split(kept)
    assert head.startswith("BEGIN")
    assert tail.endswith("END")
    assert len((head + tail).encode()) <= KEPT + 1024 * 1024
    assert "\0" not in kept
    assert done.text.startswith("BEGIN")


def test_memory_stays_flat_when_every_character_is_wide(tmp_path: Path) -> None:
    """In memory such text is four times as large as text that is plain."""
    done = watch(tmp_path, "/bin/sh", "-c", f"yes 😀ü | head -c {BINARY // 7 * 7}")
    check(done)
    head, _, tail = done.parts()
    assert head.startswith("😀ü\n😀ü\n")
    assert tail.endswith("😀ü\n😀ü\n")


def test_text_is_readable_when_bytes_are_not(tmp_path: Path) -> None:
    """No UTF-8, a NUL, a surrogate, and at the end a character of which a part is missing."""
    done = watch(tmp_path, "/usr/bin/printf", r"\377\376ok a\000b \355\240\200 \342\202")
    check(done)
    assert done.text == "\ufffd\ufffdok a\ufffdb \ufffd\ufffd\ufffd \ufffd"


def test_child_goes_on_when_the_store_takes_nothing(tmp_path: Path) -> None:
    """The database is held by somebody else for as long as the child writes."""
    db, started, go, written = str(tmp_path / "rota.db"), tmp_path / "started", tmp_path / "go", tmp_path / "written"
    wait = f"touch {started}; while ! test -e {go}; do sleep 0.01; done"
    script = f"{wait}; printf BEGIN; head -c {64 * MEGABYTE} /dev/zero | tr '\\0' x; printf END; touch {written}"
    rota("job", "add", "loud", "--manual", "--", "/bin/sh", "-c", script, db=db)
    with engine(db, tmp_path) as running:
        run_id = rota("job", "run", "loud", db=db).stdout.strip()
        eventually(started.exists)
        other = sqlite3.connect(db, isolation_level=None, timeout=30)
        other.execute("BEGIN IMMEDIATE")
        go.touch()
        eventually(written.exists, patience=25)
        assert not has_ended(running, run_id)
        other.execute("ROLLBACK")
        other.close()
        eventually(lambda: has_ended(running, run_id))
    done = Watched(rota_json("run", "show", run_id, db=db), 0, db)
    check(done)
    head, cut, tail = done.parts()
    assert (head[:5], tail[-3:]) == ("BEGIN", "END")
    assert len(head) + cut + len(tail) == 64 * MEGABYTE + len("BEGINEND")
