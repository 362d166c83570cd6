"""A worker that is stopped past its lease: what it held is taken from it, and what it says of it later is refused."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil

from tests.postgres_server import postgres_server
from tests.rota_process import EngineProcess, eventually, rota, rota_json

ROUNDS = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 2
FAST_LEASES = {"ROTA_BEAT": "1s", "ROTA_DEAD_AFTER": "3", "ROTA_SCAN": "1s", "ROTA_POLL": "1s"}


def test_the_late_result_is_refused_when_a_worker_was_stopped_past_its_lease(tmp_path: Path) -> None:
    """GUARANTEES: "SIGSTOP past the lease, then SIGCONT: the late result is refused; never two at once"."""
    witness = tmp_path / "witness"
    # The child says whether it found another one at work.
    script = (
        f'if kill -0 "$(cat {witness}.pid)"; then echo double >> {witness}; fi; '
        f'echo $$ > {witness}.pid; echo "$ROTA_RUN_ID" >> {witness}; sleep "$(cat {tmp_path}/length)"'
    )
    with postgres_server(16) as server:
        db = server.url()
        rota("db", "migrate", db=db)
        rota("job", "add", "slow", "--manual", "--", "/bin/sh", "-c", script, db=db)
        first = EngineProcess(db, tmp_path / "first.log", "worker", environment=FAST_LEASES)
        first.wait_started()
        for _ in range(ROUNDS):
            _stop_and_continue(db, tmp_path, first)
        assert first.stop() == 0
        assert "double" not in witness.read_text()
        assert rota("db", "check", db=db).stdout == "All is well.\n"


def _stop_and_continue(db: str, folder: Path, first: EngineProcess) -> None:
    fenced = _count(first, "worker.fenced")
    (folder / "length").write_text("100")
    run_id = rota_json("job", "run", "slow", db=db)["run_id"]
    eventually(lambda: rota_json("run", "show", run_id, db=db)["started_at"])
    first.process.send_signal(signal.SIGSTOP)
    second = EngineProcess(db, folder / "second.log", "worker", environment=FAST_LEASES)
    eventually(lambda: rota_json("run", "show", run_id, db=db)["state"] == "lost")
    first.process.send_signal(signal.SIGCONT)
    eventually(lambda: _count(first, "worker.fenced") > fenced)
    assert second.stop() == 0
    assert rota_json("run", "show", run_id, db=db)["state"] == "lost"
    # It is a worker like any other again.
    (folder / "length").write_text("0")
    again = rota_json("job", "run", "slow", db=db)["run_id"]
    eventually(lambda: rota_json("run", "show", again, db=db)["state"] == "succeeded")
    assert not [child for child in psutil.Process(first.pid).children() if child.status() != psutil.STATUS_ZOMBIE]


def _count(engine: EngineProcess, event: str) -> int:
    return sum(one["event"] == event for one in engine.events())
