"""The machine: a boot, a process number and a start time together are never used twice (SPEC section 7)."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from rota.actions.machine import LocalMachine
from tests.actions.bench import unique

CODE = "from rota.actions.machine import LocalMachine as M; m = M(); print(m.pid, m.started_at, flush=True); input()"


def start_other() -> tuple[subprocess.Popen[str], int]:
    child = subprocess.Popen([sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    pid, started_at = map(int, child.stdout.readline().split())
    assert pid == child.pid
    return child, started_at


def test_machine_knows_itself_when_asked() -> None:
    machine = LocalMachine()
    assert machine.pid == os.getpid()
    assert machine.is_alive(machine.pid, machine.started_at)
    assert (machine.host, machine.boot_id) == (LocalMachine().host, LocalMachine().boot_id)
    assert machine.boot_id
    assert machine.started_at == LocalMachine().started_at


def test_process_is_alive_until_it_ends_when_another_looks() -> None:
    child, started_at = start_other()
    machine = LocalMachine()
    assert machine.is_alive(child.pid, started_at)
    child.communicate("\n")
    assert not machine.is_alive(child.pid, started_at)


def test_process_is_dead_when_it_is_only_not_buried() -> None:
    child, started_at = start_other()
    child.kill()
    deadline = time.monotonic() + 10
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not LocalMachine().is_alive(child.pid, started_at)
    child.communicate()


@pytest.mark.parametrize("difference", [-1_000_000_000, -10_000, 10_000, 60_000_000])
def test_process_is_another_when_its_number_was_given_away(difference: int) -> None:
    """Boot id, pid, start time."""
    machine = LocalMachine()
    assert not machine.is_alive(machine.pid, machine.started_at + difference)


def test_process_is_dead_when_the_number_is_free() -> None:
    with subprocess.Popen(["true"]) as child:
        pass
    assert not LocalMachine().is_alive(child.pid, LocalMachine().started_at)


def test_start_does_not_move_when_the_wall_clock_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of the clock is no reason to take a living worker for dead."""
    before = LocalMachine().started_at
    monkeypatch.setattr(psutil, "boot_time", lambda: 0.0)
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: 0.0)
    assert LocalMachine().started_at == before


def test_name_of_a_process_confuses_nobody_when_it_is_odd() -> None:
    code = "import ctypes, sys; ctypes.CDLL(None).prctl(15, b') S (1 2', 0, 0, 0); " + CODE
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    pid, started_at = map(int, child.stdout.readline().split())
    assert LocalMachine().is_alive(pid, started_at)
    child.communicate("\n")


def test_leftovers_are_counted_when_they_are_ended() -> None:
    run_id = f"run_{unique()}"
    environment = {"ROTA_RUN_ID": run_id, "ROTA_FENCING_TOKEN": "12"}
    children = [subprocess.Popen(["/bin/sleep", "600"], env=environment) for _ in range(3)]
    assert LocalMachine().end_leftovers(run_id, 12) == 3
    assert [child.wait() for child in children] == [-9] * 3
    assert LocalMachine().end_leftovers(run_id, 12) == 0


def test_vitals_are_numbers_that_can_be_when_asked() -> None:
    vitals = LocalMachine().vitals()
    assert 0 <= vitals.cpu_percent <= 100
    assert 0 < vitals.memory_mb < psutil.virtual_memory().total / 1024**2
    assert vitals.load >= 0
    assert vitals.tmux_sessions >= 0
