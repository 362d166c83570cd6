"""Four engines on one PostgreSQL, with kills, stops, broken connections and restarts: nothing doubled, nothing lost."""

from __future__ import annotations

import asyncio
import os
import random  # noqa: TID251 - what to break when
import signal
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import asyncpg

from tests.actions.bench import is_alive
from tests.postgres_server import PostgresServer, postgres_server
from tests.rota_process import EngineProcess, eventually, instant_of, rota, rota_json

LENGTH = 90.0 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 12.0
ENGINES, JOBS = 4, 8
# Leases of five seconds, so that what a stopped engine held is resolved while the test looks.
FAST_LEASES = {"ROTA_BEAT": "1s", "ROTA_DEAD_AFTER": "5", "ROTA_SCAN": "1s", "ROTA_POLL": "2s"}


def test_nothing_is_doubled_or_lost_when_engines_and_database_are_broken_again_and_again(tmp_path: Path) -> None:
    """GUARANTEES: "4 schedulers on one PostgreSQL with random kill -9, SIGSTOP, …, server restarts"."""
    witness = tmp_path / "witness"
    with postgres_server(16) as server:
        db = server.url()
        rota("db", "migrate", db=db)
        script = f'echo "$ROTA_RUN_ID $ROTA_ATTEMPT $$" >> {witness}; sleep 0.2'
        for number in range(JOBS):
            words = ("job", "add", f"j{number}", "--schedule", "every 1s", "--pool", f"p{number}")
            rota(*words, "--", "/bin/sh", "-c", script, db=db)
        engines = [_start(db, tmp_path, number) for number in range(ENGINES)]
        broken = _break_things(server, db, tmp_path, engines)
        for engine in engines:
            engine.process.send_signal(signal.SIGCONT)
        # Whatever the dead held is resolved within a lease and a scan.
        _await_rest(db)
        for engine in engines:
            engine.stop()
        _check(db, witness)
        assert "deadlock detected" not in server.log()
        assert min(broken[fault] for fault in ("killed", "stopped", "terminated", "restarted", "resumed")) > 0


def _start(db: str, folder: Path, number: int) -> EngineProcess:
    return EngineProcess(db, folder / f"engine{number}.log", "worker", environment=FAST_LEASES)


def _break_things(server: PostgresServer, db: str, folder: Path, engines: list[EngineProcess]) -> Counter[str]:
    chance, broken = random.Random(11), Counter[str]()  # noqa: S311
    faults = ["kill", "stop", "terminate", "kill", "resume", "restart"]
    deadline = time.monotonic() + LENGTH
    while time.monotonic() < deadline:
        time.sleep(0.5 + chance.random())
        number = chance.randrange(ENGINES)
        match faults[broken.total() % len(faults)]:
            case "kill":
                engines[number].process.send_signal(signal.SIGCONT)
                engines[number].kill()
                engines[number] = _start(db, folder, number)
                broken["killed"] += 1
            case "stop":
                engines[number].process.send_signal(signal.SIGSTOP)
                broken["stopped"] += 1
            case "resume":
                for engine in engines:
                    engine.process.send_signal(signal.SIGCONT)
                broken["resumed"] += 1
            case "restart":
                server.stop(chance.choice((signal.SIGINT, signal.SIGQUIT)))
                server.start()
                broken["restarted"] += 1
            case _:
                asyncio.run(_terminate(server.url()))
                broken["terminated"] += 1
    return broken


async def _terminate(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'rota%'"
    )
    await connection.close()


def _await_rest(db: str) -> None:
    for number in range(JOBS):
        rota("job", "pause", f"j{number}", db=db)
    eventually(
        lambda: not [run for run in rota_json("runs", "-n", "10000", db=db) if run["ended_at"] is None], patience=60
    )


def _check(db: str, witness: Path) -> None:
    lines = [line.split() for line in witness.read_text().splitlines()]
    starts = Counter((run_id, attempt) for run_id, attempt, _ in lines)
    runs = {run["id"]: run for run in rota_json("runs", "-n", "10000", db=db)}
    occurrences = Counter((run["job_id"], run["due_at"]) for run in runs.values() if run["cause"] == "schedule")
    assert max(starts.values()) == 1, "an attempt was started twice"
    assert {run_id for run_id, _ in starts} <= set(runs), "a child ran that is not on record"
    assert max(occurrences.values()) == 1, "an occurrence was recorded twice"
    finished = [run for run in runs.values() if run["state"] == "succeeded"]
    assert all((run["id"], "1") in starts for run in finished), "a success without a start"
    assert len(finished) > JOBS
    for number in range(JOBS):
        _check_no_overlap([run for run in runs.values() if run["job"] == f"j{number}" and run["started_at"]])
    assert [pid for _, _, pid in lines if is_alive(int(pid))] == [], "a child survived"
    assert rota("db", "check", db=db).stdout == "All is well.\n"


def _check_no_overlap(runs: list[dict[str, Any]]) -> None:
    """GUARANTEES G5: "with skip or queue, never two live leases of one job"."""
    in_order = sorted(runs, key=lambda run: instant_of(run["started_at"]))
    for earlier, later in pairwise(in_order):
        assert instant_of(earlier["ended_at"]) <= instant_of(later["started_at"]), (earlier["id"], later["id"])
