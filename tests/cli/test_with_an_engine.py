"""Commands that go on for a while, beside a running engine: following, backfilling, and leaving with Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.cli import Cli
from tests.rota_process import ROTA, EngineProcess, engine, eventually


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rota")


@pytest.fixture(scope="module", autouse=True)
def running(home: Path) -> Iterator[EngineProcess]:
    with engine(str(home / "rota.db"), home) as process:
        yield process


@pytest.fixture
def cli(home: Path) -> Cli:
    return Cli(str(home / "rota.db"))


def start(cli: Cli, *words: str) -> subprocess.Popen[str]:
    env = {**os.environ, "ROTA_DB": cli.db}
    return subprocess.Popen([ROTA, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def add_hourly(cli: Cli, name: str, script: str) -> None:
    words = ("--cron", "0 * * * *", "--timezone", "UTC", "--pool", name, "--timeout", "1m")
    cli("job", "add", name, *words, "--", "/bin/sh", "-c", script)


def stretch(hours: int) -> tuple[str, ...]:
    end = datetime.now(UTC).replace(minute=30, second=0, microsecond=0) - timedelta(hours=1)  # noqa: TID251 - the real one
    return "--from", (end - timedelta(hours=hours)).isoformat(), "--to", end.isoformat()


def test_output_comes_as_lines_of_json_and_last_of_all_the_run(cli: Cli) -> None:
    cli("job", "add", "talks", "--manual", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 3")
    done = cli.ask("job", "run", "talks", "--follow", "--json", code=3)
    *chunks, run = [json.loads(line) for line in done.stdout.splitlines()]
    assert {(chunk["stream"], chunk["text"]) for chunk in chunks} == {("stdout", "out\n"), ("stderr", "err\n")}
    assert (run["state"], run["exit_code"]) == ("failed", 3)
    assert [json.loads(line) for line in cli("logs", "talks", "--json").splitlines()] == chunks
    assert cli.ask("logs", "talks", "-f", code=3).stdout == "out\n"
    first = chunks[0]["sequence"]
    assert [
        json.loads(line) for line in cli("logs", run["id"], "--after", str(first), "--json").splitlines()
    ] == chunks[1:]


def test_the_worker_is_listed(cli: Cli, running: EngineProcess) -> None:
    (worker,) = cli.json("worker", "list")
    assert (worker["pid"], worker["ended_at"]) == (running.pid, None)
    assert f" {running.pid} " in cli("worker", "list").splitlines()[1]


def test_events_are_followed_each_once_until_ctrl_c(cli: Cli) -> None:
    cli("job", "add", "before", "--manual", "--", "true")
    cli("job", "add", "seen", "--manual", "--", "true")
    with start(cli, "events", "-f", "-n", "1", "--json") as following:
        assert following.stdout is not None
        first = json.loads(following.stdout.readline())
        assert (first["event"], first["job"]) == ("job.added", "seen")
        cli("job", "pause", "seen")
        second = json.loads(following.stdout.readline())
        assert (second["event"], second["job"]) == ("job.paused", "seen")
        following.send_signal(signal.SIGINT)
        rest, errors = following.communicate(timeout=10)
    assert (following.returncode, rest, errors) == (130, "", "")
    with start(cli, "events", "-f", "--after", first["id"], "--json") as following:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline()) == second
        following.send_signal(signal.SIGINT)
        assert following.communicate(timeout=10) == ("", "")


def test_a_backfill_runs_what_has_not_run_and_waits_for_it(cli: Cli) -> None:
    add_hourly(cli, "fills", "true")
    found = cli.json("backfill", "fills", *stretch(3), "--per-minute", "6000")
    assert (found["due"], found["to_run"], found["states"]) == (3, 3, {"succeeded": 3})
    assert len(found["run_ids"]) == 3
    shown = cli("backfill", "fills", *stretch(4), "--per-minute", "6000")
    assert "fills: 4 due times, 3 ran already, 1 to run" in shown
    assert "1 succeeded" in shown
    assert "0 to run" in cli("backfill", "fills", *stretch(4))


def test_a_backfill_is_1_when_some_of_it_failed(cli: Cli) -> None:
    add_hourly(cli, "breaks", "exit 1")
    assert "2 failed" in cli.ask("backfill", "breaks", *stretch(2), "--per-minute", "6000", code=1).stdout


def test_a_person_is_asked_before_a_backfill(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    add_hourly(cli, "asks", "true")
    monkeypatch.setattr("rota.cli.backfill.is_terminal", lambda: True)
    assert "Nothing was started." in cli.ask("backfill", "asks", *stretch(2), code=1, stdin="n\n").stderr
    assert cli.json("runs", "asks") == []
    assert "asks: 2 due times" in cli("backfill", "asks", *stretch(2), "--detach", stdin="y\n")
    assert "to run" in cli("backfill", "asks", *stretch(2), "--detach", "--yes")


def test_the_runs_go_on_when_a_backfill_is_left(cli: Cli) -> None:
    add_hourly(cli, "long", "sleep 1")
    with start(cli, "backfill", "long", *stretch(2), "--per-minute", "6000") as leaving:
        eventually(lambda: cli.json("runs", "long", "--state", "running"))
        leaving.send_signal(signal.SIGINT)
        _, errors = leaving.communicate(timeout=10)
    assert leaving.returncode == 130
    assert "The runs go on by themselves" in errors
    eventually(lambda: [run["state"] for run in cli.json("runs", "long")] == ["succeeded"] * 2)
