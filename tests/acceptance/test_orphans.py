"""Processes that want to stay: no descendant of a run survives it or its engine (GUARANTEES G9)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from rota.core.definition import CommandAction, define
from rota.core.job import Timing
from rota.core.schedule import Manual
from tests.acceptance.hall import Hall
from tests.actions.bench import is_alive, pids_in, survivors, unique
from tests.rota_process import eventually, rota, rota_json

IS_LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
# Each writes its number down and stays; the number of seconds is the tag by which survivors are found.
LEAF = "echo $$ >> {witness}; exec sleep {tag}"
SHAPES = {
    "twice": f"( ( sh -c '{LEAF}' & ) & )",
    "session": f"setsid sh -c '{LEAF}' &",
    "deaf": f"sh -c 'trap \"\" TERM; {LEAF}' &",
    "silent": f"sh -c 'exec <&- >&- 2>&-; {LEAF}' &",
    "all": f"( setsid sh -c 'trap \"\" TERM; exec <&- >&- 2>&-; {LEAF}' & )",
}
ROUNDS = 20 if IS_LONG else 1
TREES = ROUNDS * len(SHAPES)
PATIENCE = 300 if IS_LONG else 60


class Garden(Hall):
    """Where runs plant processes: each the child itself and one that wants to stay."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.witness = folder / "witness"
        self.tag = f"600.{int(unique()[:12], 16)}"

    def plant(self, prefix: str, **given: object) -> list[str]:
        """Ask for runs of every shape; their ids."""
        shapes = {f"{prefix}-{number}-{name}": SHAPES[name] for number in range(ROUNDS) for name in SHAPES}
        self.add_all(
            define(name, Timing(schedule=Manual()), self._action(shape), pool="garden", **given)
            for name, shape in shapes.items()
        )
        self.size("garden", 1_000)
        return self.request(list(shapes))

    def _action(self, shape: str) -> CommandAction:
        script = f"{shape}\n{LEAF}".replace("{witness}", str(self.witness)).replace("{tag}", self.tag)
        return CommandAction(argv=("/bin/sh", "-c", script))

    def wait_grown(self, runs: int) -> None:
        eventually(lambda: len(pids_in(self.witness)) >= 2 * runs, patience=PATIENCE)

    def wait_ended(self, run_ids: list[str]) -> list[tuple[str, str | None]]:
        """How each has ended: state and reason."""

        def look() -> list[dict[str, Any]]:
            found = [run for run in rota_json("runs", "-n", "10000", db=self.db) if run["id"] in run_ids]
            return found if all(run["ended_at"] for run in found) else []

        ended = eventually(look, patience=PATIENCE)
        assert len(ended) == len(run_ids)
        return [(run["state"], run["reason"]) for run in ended]

    def check_empty(self, runs: int) -> None:
        assert len(set(pids_in(self.witness))) == 2 * runs
        assert survivors(self.tag) == []


@pytest.fixture
def garden(tmp_path: Path) -> Iterator[Garden]:
    garden = Garden(tmp_path)
    yield garden
    for pid in pids_in(garden.witness):
        if is_alive(pid) and garden.tag in " ".join(psutil.Process(pid).cmdline()):
            os.kill(pid, signal.SIGKILL)


def test_no_descendant_is_left_when_runs_are_cancelled_or_take_too_long(garden: Garden) -> None:
    with garden.engine() as running:
        late = garden.plant("late", timeout=timedelta(seconds=60 if IS_LONG else 4))
        unwanted = garden.plant("unwanted")
        garden.wait_grown(2 * TREES)
        for run_id in unwanted:
            rota("run", "cancel", run_id, db=garden.db)
        assert set(garden.wait_ended(unwanted)) == {("cancelled", "by_hand")}
        assert set(garden.wait_ended(late)) == {("timed_out", "timeout")}
        # Before the engine goes: it is not its end that ended them.
        garden.check_empty(2 * TREES)
        assert psutil.Process(running.pid).children() == []


def test_no_descendant_is_left_when_the_engine_was_killed_and_starts_again(garden: Garden) -> None:
    killed = garden.start()
    planted = garden.plant("orphan")
    garden.wait_grown(TREES)
    killed.kill()
    assert len(survivors(garden.tag)) >= 2 * TREES
    again = garden.start(count=2)
    # Leftovers are ended before a worker says that it has started.
    garden.check_empty(TREES)
    assert {state for state, _ in garden.wait_ended(planted)} == {"lost"}
    assert again.stop() == 0


def test_no_descendant_is_left_when_the_engine_is_asked_to_stop(garden: Garden) -> None:
    stopped = garden.start(drain="1s")
    planted = garden.plant("drained")
    garden.wait_grown(TREES)
    stopped.process.send_signal(signal.SIGTERM)
    assert stopped.process.wait(PATIENCE) == 0
    garden.check_empty(TREES)
    assert set(garden.wait_ended(planted)) == {("cancelled", "shutdown")}
