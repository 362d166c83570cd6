"""A disk that takes nothing: no false success, nothing starts, and it recovers by itself (GUARANTEES G15)."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.rota_process import ROTA, EngineProcess, engine, eventually, rota, rota_json

ROUNDS = 5 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 1
MEGABYTE = 1024 * 1024
ENDINGS = {"well": 0, "badly": 3}


class FileSizeLimit:
    """The engine may write nothing beyond the first megabyte of any file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, running: EngineProcess) -> None:
        resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (MEGABYTE, resource.RLIM_INFINITY))

    def free(self, running: EngineProcess) -> None:
        resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class SmallDisk:
    """A file system of its own, filled to its last byte."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self, running: EngineProcess) -> None:  # noqa: ARG002 - it is full for everybody
        with self._ballast.open("wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(bytes(4096))
            except OSError as error:
                assert error.errno == errno.ENOSPC  # noqa: PT017 - the end of a loop

    def free(self, running: EngineProcess) -> None:  # noqa: ARG002
        self._ballast.unlink()


Disk = FileSizeLimit | SmallDisk


@contextmanager
def file_size_limit(folder: Path) -> Iterator[Disk]:
    yield FileSizeLimit(folder)


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    place = folder / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", place], check=True, capture_output=True)
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", "--lazy", place], check=True, capture_output=True)


def may_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder)):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


DISKS = [file_size_limit, *([small_disk] if may_mount() else [])]


def add(db: str, name: str, script: str, *words: str) -> None:
    rota("job", "add", name, *(words or ("--manual",)), "--pool", name, "--", "/bin/sh", "-c", script, db=db)


def failures(running: EngineProcess, loop: str) -> list[dict[str, Any]]:
    return [event for event in running.events() if event["event"] == "step.failed" and event["loop"] == loop]


def start_waiting(db: str, folder: Path, number: int) -> dict[str, str]:
    """Runs that end, each in its way, when they are told to."""
    runs = {}
    for name in ENDINGS:
        answer = rota("job", "run", name, "--input", str(folder / f"go{number}"), db=db)
        runs[name] = answer.stdout.strip()
    eventually(lambda: all((folder / f"started_{run_id}").exists() for run_id in runs.values()))
    return runs


def wait_between_ticks(running: EngineProcess) -> None:
    """Until one has just ended: what is on its way between claim and start is another matter."""

    def ticks() -> int:
        return sum((event["event"], event.get("job")) == ("run.ended", "tick") for event in running.events())

    before = ticks()
    eventually(lambda: ticks() > before)


@contextmanager
def old_view(db: str) -> Iterator[None]:
    """As long as somebody looks at what was, the write-ahead log does not begin anew, where there is room."""
    with closing(sqlite3.connect(db, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM jobs").fetchall()
        yield


def grow(db: str) -> None:
    """Make the write-ahead log so long that what comes next must lie beyond the limit."""
    assert rota("job", "run", "loud", "--follow", db=db).returncode == 0


@pytest.mark.parametrize("disk", DISKS)
def test_nothing_is_falsely_recorded_and_all_goes_on_when_the_disk_was_full(
    disk: Callable[[Path], Any], tmp_path: Path
) -> None:
    """GUARANTEES: "disk full (small tmpfs), file size limit: no false success, recovers by itself"."""
    witness = tmp_path / "witness"
    with disk(tmp_path) as place:
        db = str(place.folder / "rota.db")
        add(db, "loud", "head -c 1500000 /dev/zero | tr '\\0' x")
        add(db, "tick", f"echo $ROTA_RUN_ID >> {witness}", "--every", "1s")
        for name, code in ENDINGS.items():
            wait = f'touch {tmp_path}/started_$ROTA_RUN_ID; while ! test -e "$(cat $ROTA_INPUT)"; do sleep 0.02; done'
            add(db, name, f"{wait}; echo {name}; exit {code}")
        with engine(db, tmp_path) as running, old_view(db):
            grow(db)
            for number in range(ROUNDS):
                runs = start_waiting(db, tmp_path, number)
                wait_between_ticks(running)
                place.fill(running)
                (tmp_path / f"go{number}").touch()
                check_while_full(db, running, witness, runs)
                place.free(running)
                check_afterwards(db, witness, runs)
            assert running.stop() == 0
        check_record(db, witness)


def check_while_full(db: str, running: EngineProcess, witness: Path, runs: dict[str, str]) -> None:
    """Nothing starts, results wait, and the log says why."""
    before = len(failures(running, "fire"))
    eventually(lambda: len(failures(running, "fire")) > before)
    started = witness.read_text()
    eventually(lambda: len(failures(running, "fire")) > before + 1)
    failure = failures(running, "fire")[-1]
    assert "The database cannot be used now" in failure["reason"]
    assert "Nothing was written. Free some space on its disk" in failure["reason"]
    assert failure["retry_in"] > 0
    refused = [event["run_id"] for event in running.events() if event["event"] == "output.refused"]
    assert set(runs.values()) <= set(refused)
    for run_id in runs.values():
        run = rota_json("run", "show", run_id, db=db)
        assert (run["state"], run["ended_at"]) == ("running", None)
    assert witness.read_text() == started
    assert running.process.poll() is None


def check_afterwards(db: str, witness: Path, runs: dict[str, str]) -> None:
    """What waited is recorded, and what was due begins."""
    started = len(witness.read_text().split())
    for name, run_id in runs.items():
        run = eventually(lambda run_id=run_id: (found := rota_json("run", "show", run_id, db=db))["ended_at"] and found)
        expected = ("failed", 3) if ENDINGS[name] else ("succeeded", 0)
        assert (run["state"], run["exit_code"]) == expected
        assert rota("logs", run_id, db=db).stdout == f"{name}\n"
    eventually(lambda: len(witness.read_text().split()) > started + 1)


def check_record(db: str, witness: Path) -> None:
    ticks = rota_json("runs", "tick", "-n", "10000", db=db)
    assert {run["state"] for run in ticks} == {"succeeded"}
    assert sorted(run["id"] for run in ticks) == sorted(witness.read_text().split())
    assert rota("db", "check", db=db).stdout == "All is well.\n"


def test_engine_outlives_the_signal_of_the_limit_when_a_child_would_not(tmp_path: Path) -> None:
    """SIGXFSZ is ignored here; children get the default back, as they get that of SIGPIPE."""
    db = str(tmp_path / "rota.db")
    add(db, "signals", "grep SigIgn /proc/self/status")
    with engine(db, tmp_path) as running:
        own = Path(f"/proc/{running.pid}/status").read_text()
        run_id = rota("job", "run", "signals", db=db).stdout.strip()
        eventually(lambda: rota_json("run", "show", run_id, db=db)["ended_at"])
    assert {signal.SIGXFSZ, signal.SIGPIPE} <= ignored(own)
    assert ignored(rota("logs", run_id, db=db).stdout) & {signal.SIGXFSZ, signal.SIGPIPE} == set()


def ignored(status: str) -> set[int]:
    (mask,) = (int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigIgn"))
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


@pytest.mark.parametrize("words", ["up --no-web", "job add other --manual -- true", "job run tick"])
def test_a_sentence_says_so_when_the_database_cannot_grow_from_the_start(words: str, tmp_path: Path) -> None:
    db = tmp_path / "rota.db"
    add(str(db), "tick", "true")
    # Blocks of 512 bytes: enough for the lock, too little for the write-ahead log.
    command = f"ulimit -f 8; exec {ROTA} {words}"
    env = {**os.environ, "ROTA_DB": str(db)}
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, env=env, check=False, timeout=30)
    assert done.returncode == 1
    assert "The database cannot be used now" in done.stderr
    assert "Traceback" not in done.stderr
    assert [job["name"] for job in rota_json("job", "list", db=str(db))] == ["tick"]
    assert rota_json("runs", db=str(db)) == []
