"""Real processes: the command line as a person uses it, and engines that can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
ROTA = str(Path(sys.executable).with_name("rota"))
_PATIENCE = 30.0


def rota(*words: str, db: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "ROTA_DB": db, **environment}
    done = subprocess.run([ROTA, *words], capture_output=True, text=True, check=False, env=env, timeout=60)
    assert not check or done.returncode == 0, done.stderr
    return done


def rota_json(*words: str, db: str) -> Any:  # noqa: ANN401 - JSON is anything
    end = words.index("--") if "--" in words else len(words)
    return json.loads(rota(*words[:end], "--json", *words[end:], db=db).stdout)


def eventually(look: Callable[[], T], *, patience: float = _PATIENCE) -> T:
    """Wait for a fact."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError("it never came true")


class EngineProcess:
    """``rota up`` as a process of its own."""

    def __init__(self, db: str, log: Path, *words: str, environment: Mapping[str, str] | None = None) -> None:
        env = {**os.environ, "ROTA_DB": db, **(environment or {})}
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [ROTA, *(words or ("up", "--no-web"))], stdout=output, stderr=output, env=env
            )
        self.log = log

    @property
    def pid(self) -> int:
        return self.process.pid

    def events(self) -> list[dict[str, Any]]:
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines if line.startswith('{"timestamp')]

    def wait_started(self, count: int = 1) -> None:
        eventually(lambda: sum(event["event"] == "worker.started" for event in self.events()) >= count)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(40)
        except subprocess.TimeoutExpired:
            # What is left of a failed test must not fail those after it.
            self.kill()
            raise


@contextmanager
def engine(db: str, folder: Path, *words: str) -> Iterator[EngineProcess]:
    """An engine for as long as the block lasts."""
    running = EngineProcess(db, folder / "engine.log", *words)
    try:
        running.wait_started()
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


def instant_of(text: str) -> datetime:
    """A time as JSON has it."""
    return datetime.fromisoformat(text)


def ended_runs(db: str, job: str | None = None) -> list[dict[str, Any]]:
    found = rota_json("runs", *([job] if job else []), "-n", "10000", db=db)
    return [run for run in found if run["ended_at"] is not None]
