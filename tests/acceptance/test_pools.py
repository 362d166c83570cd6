"""Limits beside a running engine: one long run delays nothing else, and a blocked head never blocks others."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.hall import Hall
from tests.rota_process import eventually, instant_of

IS_LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
ROUNDS = 20 if IS_LONG else 4
BLOCKED = 5_000 if IS_LONG else 200
# A run that is due with a free slot starts at once; the rest is for machines that have much to do.
ON_TIME = timedelta(seconds=5)


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path)


def check_on_time(rounds: list[dict[str, Any]]) -> None:
    """Nothing was skipped or missed, and each began when it was due."""
    assert [run["state"] for run in rounds] == ["succeeded"] * len(rounds)
    late = [instant_of(run["started_at"]) - instant_of(run["due_at"]) for run in rounds]
    assert max(late) < ON_TIME, late


def test_others_of_the_pool_are_on_time_when_one_run_is_stuck_in_it(hall: Hall) -> None:
    hall.add_stuck("stuck")
    for name in ("one", "two"):
        hall.add(name, "--every", "1s")
    hall.size("local", 2)
    with hall.engine("stuck"):
        run_id = hall.run("stuck")
        hall.wait_running(run_id)
        for name in ("one", "two"):
            check_on_time(hall.wait_rounds(name, ROUNDS))
        assert hall.show(run_id)["state"] == "running"
        assert {run["state"] for name in ("one", "two") for run in hall.runs(name)} <= {
            "queued",
            "running",
            "succeeded",
        }


@pytest.mark.parametrize("slots", [1, 2])
def test_other_pools_are_on_time_when_every_slot_of_one_is_taken(slots: int, hall: Hall) -> None:
    stuck = [f"stuck{number}" for number in range(slots)]
    for name in stuck:
        hall.add_stuck(name)
    hall.add("behind", "--manual")
    for name in ("one", "two"):
        hall.add(name, "--every", "1s", "--pool", name)
    if slots != 1:
        hall.size("local", slots)
    with hall.engine(*stuck):
        taken = [hall.run(name) for name in stuck]
        hall.wait_running(*taken)
        behind = hall.run("behind")
        for name in ("one", "two"):
            check_on_time(hall.wait_rounds(name, ROUNDS))
        assert [hall.show(run_id)["state"] for run_id in (*taken, behind)] == [*(["running"] * slots), "queued"]
        hall.let_go(stuck[0])
        eventually(lambda: hall.show(behind)["state"] == "succeeded")
        assert [hall.show(run_id)["state"] for run_id in taken] == ["succeeded", *(["running"] * (slots - 1))]


def test_free_job_starts_when_many_blocked_runs_are_before_it(hall: Hall) -> None:
    """SPEC 5: "A blocked head never blocks others"."""
    hall.add_stuck("holder", "--key", "repo", "--pool", "holder")
    keyed = [f"keyed{number}" for number in range(4)]
    for name in keyed:
        hall.add(name, "--manual", "--key", "repo")
    hall.add("free", "--manual")
    with hall.engine("holder"):
        hall.wait_running(hall.run("holder"))
        hall.request(keyed * (BLOCKED // 4))
        free = hall.run("free")
        eventually(lambda: hall.show(free)["state"] == "succeeded")
        assert {run["state"] for name in keyed for run in hall.runs(name)} == {"queued"}


@pytest.mark.parametrize("words", [("--key", "repo"), ("--agent", "coder"), ()], ids=["key", "agent", "job"])
def test_a_free_job_starts_when_many_runs_that_exclude_each_other_are_before_it(
    words: tuple[str, ...], hall: Hall
) -> None:
    """None of them is blocked when the engine first looks; the first to start blocks all others."""
    hall.add_stuck("first", *words)
    hall.add("free", "--manual")
    hall.size("local", 2)
    hall.request(["first"] * BLOCKED + ["free"])
    with hall.engine("first"):
        (free,) = hall.runs("free")
        eventually(lambda: hall.show(free["id"])["state"] == "succeeded")
        assert sum(run["state"] == "running" for run in hall.runs("first")) == 1
        assert {run["state"] for run in hall.runs("first")} <= {"queued", "running"}
