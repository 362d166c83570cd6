"""``rota up`` with its doors open: a new user's way in, on both databases, with real processes and real requests."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import textwrap
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.rota_process import EngineProcess, eventually, rota, rota_json
from tests.stores import Servers

ADDRESS = re.compile(r"Rota is up: (http://[^/ ]+) \(token for the API in ([^)]+)\)")
FLEET = """\
fleet: {name: home, timezone: Europe/Berlin}
pools: {local: 4}
agents:
  coder:
    description: writes code
    command: ["/bin/sh", "-c", "echo hello from $ROTA_JOB"]
    schedules:
      nightly: {cron: "30 2 * * *", description: "in the night"}
      weekly: {weekly: {on: [mon, thu], at: "09:00"}}
      month: {monthly: {on: last, at: "18:00"}, quiet: ["sat", "sun"]}
jobs:
  backup: {daily: "03:00", command: ["/bin/true"], retry: {max: 2}, timeout: 10m}
  report: {after: {job: backup, on: success}, command: ["/bin/true"]}
  fetch: {every: 1h, first: after, http: {url: "https://example.org/", method: POST, expect: [200, 204]}}
"""


class House:
    """A running ``rota up``, and requests to it."""

    def __init__(self, process: EngineProcess) -> None:
        found = eventually(lambda: ADDRESS.search(process.log.read_text("utf-8")))
        self.process = process
        self.url = f"{found[1]}/api/v1"
        self.token_file = Path(found[2])
        self.token = self.token_file.read_text().strip()

    def ask(self, path: str, *, method: str = "GET", body: object = None, token: str | None = None) -> Any:  # noqa: ANN401
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}{path}", data=data, headers=headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.loads(answer.read())


@contextmanager
def house(db: str, folder: Path, *words: str) -> Iterator[House]:
    process = EngineProcess(
        db, folder / "up.log", "up", "--port", "0", *words, environment={"XDG_DATA_HOME": str(folder)}
    )
    try:
        process.wait_started()
        yield House(process)
    finally:
        process.stop()


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    file = tmp_path / "rota.yaml"
    file.write_text(FLEET)
    return file


@pytest.fixture
def postgres_url(servers: Servers) -> str:
    return asyncio.run(servers.new_database(16))


def test_a_new_user_gets_in_with_the_token_of_the_first_start(tmp_path: Path, fleet: Path) -> None:
    db = str(tmp_path / "rota.db")
    with house(db, tmp_path, "--file", str(fleet)) as first:
        assert stat.S_IMODE(first.token_file.stat().st_mode) == 0o600
        assert len(first.ask("/jobs")["items"]) == 6
        run = first.ask("/jobs/coder%2Fnightly/run", method="POST", body={})
        ended = eventually(lambda: (found := first.ask(f"/runs/{run['run_id']}"))["ended_at"] and found)
        assert ended["state"] == "succeeded"
        assert first.ask(f"/runs/{run['run_id']}/output")["items"][0]["text"] == "hello from coder/nightly\n"
        assert {
            (one["caller"], one["door"]) for one in first.ask("/audit")["items"] if one["operation"] == "job.run"
        } == {("local", "api")}
    with house(db, tmp_path, "--file", str(fleet)) as second:
        assert second.token == first.token


def test_the_token_of_one_machine_outlives_the_start_of_another(tmp_path: Path, postgres_url: str) -> None:
    """Several may be up on one PostgreSQL; each has a file of its own."""
    rota("db", "migrate", db=postgres_url)
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    with house(postgres_url, one, "--no-file") as first:
        with house(postgres_url, other, "--no-file") as second:
            assert first.token != second.token
            assert first.ask("/jobs") == second.ask("/jobs")
        lost = first.token
        first.token_file.unlink()
    first.process.log.unlink()
    with house(postgres_url, one, "--no-file") as again:
        assert again.ask("/jobs")["items"] == []
        with pytest.raises(urllib.error.HTTPError, match="401"):
            again.ask("/jobs", token=lost)


def test_every_setting_says_where_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, file = str(tmp_path / "rota.db"), tmp_path / "rota.yaml"
    file.write_text(FLEET + "engine: {poll: 10s, drain: 5s}\n")
    monkeypatch.setenv("ROTA_DRAIN", "3s")
    monkeypatch.chdir(tmp_path)
    with house(db, tmp_path) as up:
        asked = up.ask("/settings")
    told = {one["name"]: (one["value"], one["origin"]) for one in asked["settings"]}
    assert (told["poll"], told["drain"], told["beat"]) == (
        ("10s", "rota.yaml"),
        ("3s", "environment ROTA_DRAIN"),
        ("15s", "default"),
    )
    # What an engine would have that is started here now, is what that one had.
    assert rota_json("settings", db=db) == asked


def test_the_same_file_gives_the_same_answers_on_both_databases(tmp_path: Path, fleet: Path, postgres_url: str) -> None:
    answers = []
    for name, db in (("sqlite", str(tmp_path / "rota.db")), ("postgres", postgres_url)):
        folder = tmp_path / name
        folder.mkdir()
        rota("db", "migrate", db=db)
        rota("apply", str(fleet), db=db)
        listing = rota("job", "list", db=db, COLUMNS="200").stdout
        coming = rota_json("next", "-n", "12", db=db)
        # Without a file here: the listing must come from the store alone.
        with house(db, folder, "--no-file") as up:
            paths = (
                "/jobs",
                "/jobs/backup",
                "/jobs/coder%2Fmonth/next",
                "/agents",
                "/agents/coder",
                "/pools",
                "/hints",
            )
            given = {path: up.ask(path) for path in paths}
            diff = up.ask("/fleet/diff", method="POST", body={"source": {"text": FLEET, "file": str(fleet)}})
        answers.append((_same(listing), _same(coming), _same(given), _same(diff)))
    for on_sqlite, on_postgres in zip(*answers, strict=True):
        assert on_sqlite.splitlines() == on_postgres.splitlines()


def _same(answer: Any) -> str:  # noqa: ANN401
    """An answer without what is new each time: ids, and how far away times are to the second."""
    text = answer if isinstance(answer, str) else json.dumps(answer, sort_keys=True, indent=1)
    text = re.sub(r"(job|run)_[0-9a-f]{20,}", r"\1_…", text)
    # An interval counts from when it was saved, to the microsecond.
    text = re.sub(r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|\+00:00)", "…", text)
    return re.sub(r"(\d\d:\d\d:\d\d )?\(in \d+[smh]\)", "in …", text)


def test_a_run_uses_its_own_token_for_its_own_agent_and_nothing_else(tmp_path: Path) -> None:
    script = tmp_path / "ask.py"
    script.write_text(
        textwrap.dedent(
            """\
            import json, os, urllib.error, urllib.request
            token = os.environ["ROTA_API_TOKEN"]
            idle = {"manual": True, "command": ["true"]}
            def ask(path, method="GET", body=None):
                request = urllib.request.Request(
                    os.environ["ROTA_API_URL"] + "/api/v1" + path,
                    method=method,
                    data=None if body is None else json.dumps(body).encode(),
                    headers={"Authorization": "Bearer " + token, "Content-Type": "application/json"},
                )
                try:
                    with urllib.request.urlopen(request, timeout=10) as answer:
                        return answer.status, json.loads(answer.read())
                except urllib.error.HTTPError as error:
                    return error.code, None
            status, page = ask("/jobs")
            print("jobs", status, sorted(job["name"] for job in page["items"]))
            print("own run", ask("/runs/" + os.environ["ROTA_RUN_ID"])[0])
            print("stranger", ask("/jobs/stranger")[0])
            print("add", ask("/jobs", "POST", {"name": "x", "definition": idle})[0])
            print("pause", ask("/jobs/coder%2Fother/pause", "POST", {})[0])
            print("tokens", ask("/tokens")[0])
            print("run other", ask("/jobs/coder%2Fother/run", "POST", {})[0])
            print("propose", ask("/proposals", "POST", {"name": "coder/idea", "definition": idle})[0])
            print("my token is", token)
            """
        )
    )
    file = tmp_path / "rota.yaml"
    file.write_text(
        "agents:\n  coder:\n    max_concurrent: 2\n    schedules:\n"
        f"      asks: {{manual: true, command: [python3, '{script}']}}\n"
        "      other: {manual: true, command: ['true']}\n"
        "jobs:\n  stranger: {manual: true, command: ['true']}\n"
    )
    db = str(tmp_path / "rota.db")
    with house(db, tmp_path, "--file", str(file)) as up:
        done = rota("job", "run", "coder/asks", "--follow", db=db)
        lines = done.stdout.splitlines()
        assert lines[:8] == [
            "jobs 200 ['coder/asks', 'coder/other']",
            "own run 200",
            "stranger 404",
            "add 403",
            "pause 403",
            "tokens 403",
            "run other 202",
            "propose 201",
        ]
        assert "rotarun" not in lines[8], "the token of the run must not be in its log"
        assert {job["name"]: job["status"] for job in up.ask("/jobs")["items"]}["coder/idea"] == "proposed"


def test_the_runs_of_a_worker_knock_where_it_was_told(tmp_path: Path, fleet: Path, postgres_url: str) -> None:
    """SPEC 5: "a run-scoped API token"; the doors are on another machine."""
    rota("db", "migrate", db=postgres_url)
    fleet.write_text(FLEET.replace("hello from $ROTA_JOB", "$ROTA_API_URL/api/v1"))
    rota("apply", str(fleet), db=postgres_url)
    address = "https://rota.example:8443"
    worker = EngineProcess(postgres_url, tmp_path / "worker.log", "worker", environment={"ROTA_API_URL": address})
    try:
        worker.wait_started()
        done = rota("job", "run", "coder/nightly", "--follow", db=postgres_url)
        assert f"{address}/api/v1" in done.stdout
    finally:
        worker.stop()


def test_a_changed_file_is_applied_while_the_engine_runs(tmp_path: Path, fleet: Path) -> None:
    db = str(tmp_path / "rota.db")
    with house(db, tmp_path, "--file", str(fleet)) as up:
        fleet.write_text(FLEET.replace("backup:", "saved:").replace("job: backup", "job: saved"))
        eventually(lambda: any(job["name"] == "saved" for job in up.ask("/jobs")["items"]))
        fleet.write_text(FLEET.replace("03:00", "25:00"))
        refused = eventually(lambda: [one for one in up.process.events() if one["event"] == "fleet.refused"])
        assert "25:00" in refused[0]["reason"]
        assert refused[0]["line"] == 12
        assert any(job["name"] == "saved" for job in up.ask("/jobs")["items"])


def test_a_broken_file_is_refused_at_the_start_with_everything_that_is_wrong(tmp_path: Path, fleet: Path) -> None:
    fleet.write_text(FLEET.replace("03:00", "25:00").replace("cron:", "corn:"))
    done = rota("up", "--file", str(fleet), "--port", "0", db=str(tmp_path / "rota.db"), check=False)
    assert done.returncode == 2
    assert "rota.yaml:8" in done.stderr
    assert "rota.yaml:12" in done.stderr


def test_doors_open_to_others_only_when_told_to(tmp_path: Path) -> None:
    done = rota("up", "--host", "0.0.0.0", "--port", "0", db=str(tmp_path / "rota.db"), check=False)  # noqa: S104
    assert done.returncode == 2
    assert "--allow-remote" in done.stderr


def test_an_address_may_be_written_as_in_a_url(tmp_path: Path) -> None:
    with house(str(tmp_path / "rota.db"), tmp_path, "--no-file", "--host", "[::1]") as up:
        assert up.url.startswith("http://[::1]:")
        assert up.ask("/jobs")["items"] == []


def test_a_taken_port_is_named_with_a_cure(tmp_path: Path) -> None:
    with house(str(tmp_path / "a.db"), tmp_path, "--no-file") as up:
        port = up.url.rpartition(":")[2].partition("/")[0]
        done = rota("up", "--port", port, "--no-file", db=str(tmp_path / "b.db"), check=False)
        assert done.returncode == 1
        assert f"{port}" in done.stderr
        assert "--port" in done.stderr


def test_no_secret_of_the_engine_is_in_its_log_or_its_address_line(tmp_path: Path) -> None:
    with house(str(tmp_path / "rota.db"), tmp_path, "--no-file") as up:
        with pytest.raises(urllib.error.HTTPError):
            up.ask("/jobs", token="wrong")  # noqa: S106
        assert up.token not in up.process.log.read_text()
        assert os.access(up.token_file, os.R_OK)
