"""The same commands on PostgreSQL."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.cli.cli import Cli
from tests.postgres_server import FAST, postgres_server
from tests.stores import Servers


@pytest.fixture
def cli(servers: Servers) -> Cli:
    return Cli(asyncio.run(servers.new_database(16)))


def test_jobs_and_runs_are_the_same(cli: Cli) -> None:
    cli("job", "add", "report", "--cron", "0 * * * *", "--agent", "coder", "--", "true")
    cli("job", "edit", "report", "--timeout", "5m")
    run_id = cli("job", "run", "rep").strip()
    assert [run["id"] for run in cli.json("runs", "--state", "queued", "--since", "1h")] == [run_id]
    cli("run", "cancel", run_id)
    assert cli.json("job", "show", "report")["definition"]["timeout"] == "5m"
    assert len(cli.json("next", "-n", "3")) == 3
    assert [event["event"] for event in cli.json("events", "-n", "100")][:2] == ["job.added", "job.edited"]
    assert cli.json("audit", "report")[0]["operation"] == "job.run"
    assert cli.json("db", "check") == {"faults": []}


def test_a_fleet_is_applied(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli("init", "--yes")
    assert "4 added" in cli("apply")
    assert "Nothing changes" in cli("diff")
    assert cli.json("agent", "list")[0]["name"] == "clerk"
    assert cli.json("simulate", "--days", "1")["totals"]["runs"] > 1_000


def test_tables_are_made_when_asked_for() -> None:
    with postgres_server(16, *FAST) as server:
        cli = Cli(server.url())
        assert "rota db migrate" in cli.refused("job", "list")
        assert cli.json("db", "migrate")["applied"] != []
        assert cli.json("job", "list") == []


def test_a_server_that_is_away_is_said(cli: Cli) -> None:
    assert "Check that PostgreSQL runs" in cli.refused("job", "list", "--db", "postgresql://x@127.0.0.1:1/x")
