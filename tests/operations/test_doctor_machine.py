"""The doctor finds what is wrong with the machine, and is content when it is cured."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rota.operations.health.findings import Status
from rota.operations.health.machine import (
    check_disk,
    check_environment,
    check_machine_zone,
    check_modes,
    check_port,
)
from rota.ports.records import WorkerRecord
from tests.operations.ward import is_well, only, premises


@pytest.mark.parametrize("name", ["rota.db", "rota.db-wal", "token"])
def test_a_file_that_others_can_read_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.touch(mode=0o600)
    assert is_well(check_modes(premises(tmp_path), is_file=True))
    path.chmod(0o644)
    assert str(path) in only(check_modes(premises(tmp_path), is_file=True), Status.FAILURE)
    path.chmod(0o640)
    findings = check_modes(premises(tmp_path), is_file=True)
    assert str(path) in only(findings, Status.WARNING)
    subprocess.run(findings[0].cure.partition(": ")[2].split(), check=True)
    assert is_well(check_modes(premises(tmp_path), is_file=True))


def test_a_server_has_no_file_whose_mode_could_be_wrong(tmp_path: Path) -> None:
    (tmp_path / "rota.db").touch()
    (tmp_path / "rota.db").chmod(0o666)
    assert is_well(check_modes(premises(tmp_path), is_file=False))


def test_a_log_that_others_can_read_is_told_unless_they_cannot_enter_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "rota.log").touch()
    (folder / "rota.log").chmod(0o644)
    folder.chmod(0o755)
    assert str(folder / "rota.log") in only(check_modes(premises(tmp_path), is_file=True), Status.FAILURE)
    folder.chmod(0o700)
    assert is_well(check_modes(premises(tmp_path), is_file=True))
    folder.chmod(0o755)
    (folder / "rota.log").chmod(0o600)
    assert is_well(check_modes(premises(tmp_path), is_file=True))


@contextmanager
def disk_of(folder: Path, megabytes: int) -> Iterator[None]:
    size = f"size={megabytes}m"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("only root may mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True, capture_output=True)


@pytest.mark.parametrize(("megabytes", "status"), [(50, Status.FAILURE), (500, Status.WARNING), (2_000, Status.OK)])
def test_a_disk_with_little_room_is_told(tmp_path: Path, megabytes: int, status: Status) -> None:
    with disk_of(tmp_path, megabytes):
        (finding,) = check_disk(tmp_path / "not" / "there" / "yet")
        assert finding.status is status
        assert finding.message.startswith(f"{megabytes:,} MiB")


@contextmanager
def listening() -> Iterator[int]:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def worker(pid: int, host: str = "") -> WorkerRecord:
    return WorkerRecord("wrk_1", host or socket.gethostname(), "boot", pid, 0, "1", "alive", 0, 0, 0, 0, None)


def test_a_port_that_somebody_else_has_is_a_failure(tmp_path: Path) -> None:
    with listening() as port:
        at = premises(tmp_path, port=port)
        message = only(check_port(at), Status.FAILURE)
        assert message == f"The process {os.getpid()} has port {port} of 127.0.0.1."
        assert is_well(check_port(at, [worker(os.getpid())]))
        assert not is_well(check_port(at, [worker(1), worker(os.getpid(), "elsewhere")]))
        assert is_well(check_port(premises(tmp_path, port=port, is_serving=True)))
    assert is_well(check_port(at))


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host"])
def test_an_address_of_another_machine_is_a_failure(tmp_path: Path, host: str) -> None:
    assert "EADDRNOTAVAIL" in only(check_port(premises(tmp_path, host=host, port=0)), Status.FAILURE)
    assert is_well(check_port(premises(tmp_path, host="localhost", port=0)))


def test_a_zone_of_the_machine_that_nobody_knows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Mars/Olympus")
    assert "Mars/Olympus" in only(check_machine_zone(), Status.WARNING)
    monkeypatch.setenv("TZ", "Europe/Berlin")
    findings = check_machine_zone()
    assert is_well(findings)
    assert "Europe/Berlin" in findings[0].message


def test_a_machine_without_zones_is_a_failure() -> None:
    look = "from rota.operations.health.machine import check_machine_zone as c; print(c()[0].status, c()[0].message)"
    bare = os.environ | {"PYTHONTZPATH": "", "TZ": "UTC"}

    def answer(code: str) -> str:
        return subprocess.check_output([sys.executable, "-c", code], env=bare, text=True)

    hidden = f"import sys; sys.modules['tzdata'] = None; {look}"
    assert answer(hidden) == "failure This machine knows no time zones.\n"
    assert answer(look) == "ok Zones are known; this machine is in UTC.\n"


@pytest.mark.parametrize(
    ("variable", "near"),
    [("ROTA_MAX_CONCURENT", "Did you mean ROTA_MAX_CONCURRENT?"), ("ROTA_ZZZ", "unset ROTA_ZZZ")],
)
def test_a_variable_that_rota_does_not_know_is_told(variable: str, near: str) -> None:
    environment = {variable: "3", "ROTA_DB": "x", "HOME": "/"}
    findings = check_environment(environment)
    assert variable in only(findings, Status.WARNING)
    assert near in findings[0].cure
    del environment[variable]
    assert is_well(check_environment(environment))


def test_a_variable_that_cannot_be_read_is_a_failure() -> None:
    findings = check_environment({"ROTA_POLL": "soon"})
    assert (findings[0].status, findings[0].cure) == (Status.FAILURE, "For example: export ROTA_POLL=5m")
    assert check_environment({"ROTA_CLAIM_BATCH": "-1"})[0].cure == "For example: export ROTA_CLAIM_BATCH=10"
    assert is_well(check_environment({"ROTA_POLL": "10s"}))
