"""Kill -9 under load: what was recorded stays, nothing runs twice, no child survives."""

from __future__ import annotations

import os
import random  # noqa: TID251 - when to kill
import time
from collections import Counter
from pathlib import Path

import psutil

from tests.actions.bench import is_alive
from tests.rota_process import EngineProcess, eventually, rota, rota_json

KILLS = 40 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 6
JOBS = 6


def test_nothing_is_lost_or_doubled_when_the_engine_is_killed_again_and_again(tmp_path: Path) -> None:
    """GUARANTEES: "kill -9 the engine under load, SQLite"."""
    db, witness = str(tmp_path / "rota.db"), tmp_path / "witness"
    # The witness is written by the children themselves and knows nothing of the engine.
    script = f'echo "$ROTA_RUN_ID $ROTA_ATTEMPT $$" >> {witness}; sleep 0.2'
    for number in range(JOBS):
        rota("job", "add", f"j{number}", "--every", "1s", "--pool", f"p{number}", "--", "/bin/sh", "-c", script, db=db)
    chance = random.Random(7)  # noqa: S311
    killed_with_runs = 0
    for number in range(KILLS):
        engine = EngineProcess(db, tmp_path / "engine.log")
        engine.wait_started(number + 1)
        before = len(_lines(witness))
        # Two rounds: a job that only ever loses its worker would be paused.
        eventually(lambda before=before: len(_lines(witness)) >= before + 2 * JOBS)
        time.sleep(chance.random() * 1.2)
        killed_with_runs += bool(psutil.Process(engine.pid).children())
        engine.kill()
    last = EngineProcess(db, tmp_path / "engine.log")
    last.wait_started(KILLS + 1)
    assert last.stop() == 0
    _check(db, witness)
    assert killed_with_runs > 0


def _lines(witness: Path) -> list[list[str]]:
    return [line.split() for line in witness.read_text().splitlines()] if witness.exists() else []


def _check(db: str, witness: Path) -> None:
    starts = Counter((run_id, attempt) for run_id, attempt, _ in _lines(witness))
    assert max(starts.values()) == 1, "an attempt was started twice"
    runs = {run["id"]: run for run in rota_json("runs", "-n", "10000", db=db)}
    assert {run_id for run_id, _ in starts} <= set(runs), "a child ran that is not on record"
    assert [run for run in runs.values() if run["state"] in ("running", "queued")] == []
    finished = [run for run in runs.values() if run["state"] == "succeeded"]
    assert all((run["id"], "1") in starts for run in finished), "a success without a start"
    occurrences = Counter((run["job_id"], run["due_at"]) for run in runs.values() if run["cause"] == "schedule")
    assert max(occurrences.values()) == 1, "an occurrence was recorded twice"
    assert {run["state"] for run in runs.values()} <= {"succeeded", "lost", "cancelled"}
    alive = [pid for _, _, pid in _lines(witness) if is_alive(int(pid))]
    assert alive == [], "a child survived its engine"
    assert rota("db", "check", db=db).stdout == "All is well.\n"
