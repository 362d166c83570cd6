"""Hints, pools, agents, tokens, the audit, events, the database, the doctor, and what is to come."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.cli import Cli


@pytest.fixture
def home(cli: Cli) -> Cli:
    """A store with a job of an agent, every hour."""
    cli("job", "add", "report", "--cron", "0 * * * *", "--agent", "coder", "--timezone", "UTC", "--", "true")
    return cli


def test_a_hint_is_set_listed_and_taken_back(home: Cli) -> None:
    hint = home.json("hint", "set", "report", "--every", "5m", "--for", "2h", "--because", "the queue is long")
    assert (hint["kind"], hint["interval"], hint["reason"]) == ("interval", "5m", "the queue is long")
    assert home.json("job", "show", "report")["source"] == "ai-interval"
    assert home.json("hint", "list") == home.json("hint", "list", "report") == [hint]
    row = home("hint", "list").splitlines()[1]
    assert "every 5m" in row
    assert "the queue is long" in row
    assert "Took back: every 5m" in home("hint", "revert", "report")
    assert home("hint", "list") == "No hint counts now.\n"
    assert "no hint to take back" in home.refused("hint", "revert", "report")


def test_a_hint_of_each_kind_can_be_given(home: Cli) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=2)).replace(microsecond=0)  # noqa: TID251 - the real one
    once = home.json("hint", "set", "report", "--at", soon.isoformat(), "--for", "3h", "--because", "x")
    pause = home.json("hint", "set", "report", "--pause-until", soon.isoformat(), "--because", "x")
    assert (once["kind"], datetime.fromisoformat(once["at"])) == ("oneshot", soon)
    assert (pause["kind"], datetime.fromisoformat(pause["at"])) == ("pause", soon)
    assert [hint["kind"] for hint in home.json("hint", "revert", "report", "--kind", "pause")] == ["pause"]
    assert [hint["kind"] for hint in home.json("hint", "list")] == ["oneshot"]


@pytest.mark.parametrize(
    ("words", "part", "code"),
    [
        (("report", "--because", "x"), "Give one of --every, --at and --pause-until", 2),
        (("report", "--every", "5m", "--at", "2030-01-01", "--because", "x"), "Give one of", 2),
        (("report", "--every", "5m"), "Missing option '--because'", 2),
        (("report", "--every", "5x", "--because", "x"), 'Invalid every "5x"', 2),
        (("nothing", "--every", "5m", "--because", "x"), 'There is no job "nothing"', 1),
    ],
)
def test_a_hint_that_cannot_be_is_refused(home: Cli, words: tuple[str, ...], part: str, code: int) -> None:
    assert part in home.refused("hint", "set", *words, code=code)


def test_pools_are_listed_and_sized(home: Cli) -> None:
    assert {limit["name"]: limit["size"] for limit in home.json("pool", "list")} == {"coder": 1, "local": 1}
    assert home.json("pool", "set", "local", "4") == {"scope": "pool", "name": "local", "size": 4, "used": 0}
    assert home("pool", "set", "coder", "2", "--agent").splitlines()[1].split() == ["agent", "coder", "0", "2"]
    assert 'No job belongs to an agent "x"' in home.refused("pool", "set", "x", "2", "--agent")
    assert "-1" in home.refused("pool", "set", "local", "--", "-1", code=2)


def test_an_agent_is_shown_with_its_jobs(home: Cli) -> None:
    (agent,) = home.json("agent", "list")
    assert (agent["name"], agent["jobs"], agent["failing"], agent["max_concurrent"]) == ("coder", 1, 0, 1)
    assert [job["name"] for job in home.json("agent", "show", "coder")["jobs_of_agent"]] == ["report"]
    assert "report" in home("agent", "show", "coder")
    assert 'There is no agent "x"' in home.refused("agent", "show", "x")


def test_a_token_is_printed_once_and_revoked(cli: Cli) -> None:
    assert "No tokens" in cli("token", "list")
    done = cli.ask("token", "create", "ci", "--role", "operate", "--expires-in", "30d")
    assert done.stdout.startswith("rota_")
    assert len(done.stdout.splitlines()) == 1
    assert "not shown again" in done.stderr
    (token,) = cli.json("token", "list")
    assert (token["name"], token["role"], token["is_valid"]) == ("ci", "operate", True)
    assert done.stdout.strip() not in cli("token", "list")
    assert cli("token", "revoke", "ci").startswith("Revoked ci")
    assert "revoked" in cli("token", "list").splitlines()[1]
    assert 'No token "ci" is valid' in cli.refused("token", "revoke", "ci")
    assert "Missing option '--role'" in cli.refused("token", "create", "x", code=2)
    assert 'Invalid expires_in "soon"' in cli.refused(
        "token", "create", "x", "--role", "read", "--expires-in", "soon", code=2
    )


def test_the_audit_says_who_changed_what(home: Cli) -> None:
    home("job", "edit", "report", "--timeout", "5m")
    edited, added = home.json("audit", "report")
    assert (edited["operation"], edited["door"], added["operation"]) == ("job.edit", "cli", "job.add")
    assert "timeout: - → 5m" in home("audit", "report", "-n", "1").splitlines()[1]
    assert [one["id"] for one in home.json("audit", "--after", edited["id"])] == [added["id"]]
    assert len(home.json("audit", "--all")) == 2
    assert home("audit", "nobody") == "Nothing is on record for nobody.\n"


def test_events_are_told_in_order(home: Cli) -> None:
    home("job", "pause", "report", "--note", "a\033[2Jb")
    added, paused = home.json("events")
    assert (added["event"], paused["event"], paused["job"]) == ("job.added", "job.paused", "report")
    assert home.json("events", "--after", added["id"]) == [paused]
    assert home.json("events", "-n", "1") == [paused]
    assert "a[2Jb" in home("events").splitlines()[1]
    assert 'Invalid after "x"' in home.refused("events", "--after", "x", code=2)


def test_the_database_is_looked_after(cli: Cli) -> None:
    assert cli.json("db", "migrate")["applied"] != []
    assert cli("db", "migrate") == "Nothing to do.\n"
    assert cli.json("db", "check") == {"faults": []}
    assert cli("db", "check") == "All is well.\n"
    assert cli.json("db", "vacuum") == {"is_done": True}


def test_a_file_that_is_no_database_is_said(tmp_path: Path, cli: Cli) -> None:
    Path(cli.db).write_text("no database " * 100)
    assert "damaged or no database" in cli.refused("job", "list")
    assert "mysql" in cli.refused("job", "list", "--db", "mysql://x", code=2)
    assert "cannot be used" in cli.refused("job", "list", "--db", str(tmp_path / "rota.db" / "inner"))


def test_the_doctor_finds_what_is_wrong_and_says_what_to_do(home: Cli) -> None:
    assert home.ask("doctor").stdout.startswith("✓ ")
    home("job", "add", "broken", "--every", "1m", "--", "/no/such/program")
    shown = home.ask("doctor", code=1).stdout
    assert "✗ " in shown
    found = home.json("doctor", code=1)["findings"]
    assert {"ok", "failure"} <= {finding["status"] for finding in found}
    assert all(finding["cure"] for finding in found if finding["status"] == "failure")


def test_the_doctor_looks_at_the_port_that_the_engine_is_to_have(home: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = str(server.getsockname()[1])
        assert f"has port {taken}" in home.ask("doctor", "--port", taken, code=1).stdout
        monkeypatch.setenv("ROTA_PORT", taken)
        shown = home.ask("doctor", code=1).stdout
        cure = f"export ROTA_PORT={int(taken) + 1}"
        assert cure in shown
        assert "does not know the variable" not in shown
    assert f"Nobody has port {taken}" in home("doctor")


def test_the_doctor_says_when_there_is_no_database_to_look_at(cli: Cli) -> None:
    Path(cli.db).write_text("no database " * 100)
    assert "damaged or no database" in cli.refused("doctor")


def test_the_doctor_makes_no_database_where_there_is_none(cli: Cli) -> None:
    assert "make it: rota up" in cli.refused("doctor")
    assert not Path(cli.db).exists()


def test_no_worker_is_there_until_one_was(cli: Cli) -> None:
    assert "rota up" in cli("worker", "list")
    assert cli.json("worker", "list") == []


def test_the_coming_days_are_shown(home: Cli) -> None:
    shown = home("simulate", "--days", "1")
    assert "24 runs of 1 jobs" in shown
    assert "runs an hour" in shown
    found = home.json("simulate", "--days", "2", "--agent", "coder")
    assert (found["totals"]["runs"], found["jobs"][0]["job"]) == (48, "report")
    assert 'No job belongs to an agent "x"' in home.refused("simulate", "--agent", "x")
    assert "--days" in home.refused("simulate", "--days", "0", code=2)


def test_collisions_and_quiet_hours_are_named(home: Cli) -> None:
    for number in range(3):
        home("job", "add", f"q{number}", "--cron", "0 * * * *", "--quiet", "22:00-23:30", "--tz", "UTC", "--", "true")
    shown = home("simulate", "--days", "1")
    assert "Quiet hours" in shown


def test_due_times_to_come_are_those_of_all_jobs_or_of_one(home: Cli) -> None:
    home("job", "add", "daily", "--daily", "09:30", "--timezone", "Europe/Berlin", "--", "true")
    both = home.json("next", "-n", "48")
    assert {one["job"] for one in both} == {"report", "daily"}
    assert [one["at"] for one in both] == sorted(one["at"] for one in both)
    assert {one["job"] for one in home.json("next", "rep", "-n", "3")} == {"report"}
    shown = home("next", "daily", "-n", "1").splitlines()[1]
    assert " 09:30 C" in shown
    assert ":30 UTC" in home("next", "daily", "-n", "1", "--tz", "UTC").splitlines()[1]


@pytest.mark.parametrize(
    ("words", "part", "code"),
    [
        (("next", "nothing"), 'There is no job "nothing", and it is no schedule: Invalid cron', 2),
        (("next", "report", "--after", "2030-01-01"), "--after belongs to a schedule", 2),
        (("next", "report", "--every", "5m"), "Give one schedule", 2),
    ],
)
def test_what_is_neither_job_nor_schedule_is_refused(home: Cli, words: tuple[str, ...], part: str, code: int) -> None:
    assert part in home.refused(*words, code=code)


def test_a_schedule_needs_no_store(cli: Cli) -> None:
    cli("next", "@daily")
    cli("explain", "@daily")
    assert not Path(cli.db).exists()


def test_the_schedule_is_meant_when_a_job_has_its_name(cli: Cli) -> None:
    cli("job", "add", "manual", "--every", "1h", "--", "true")
    assert cli.json("next", "manual")["type"] == "manual"


def test_a_job_says_why_it_runs_next(home: Cli) -> None:
    assert any("baseline-cron" in line for line in home.json("why", "report")["lines"])
    assert "still to come" in home("why", "report", "--at", "2030-01-01T00:00")
    assert "--at belongs to a job" in home.refused("why", "run_1", "--at", "2030-01-01", code=2)


@pytest.mark.parametrize(
    ("words", "part", "code"),
    [
        (("nothing", "--from", "2026-01-01", "--to", "2026-01-02"), 'There is no job "nothing"', 1),
        (("ticks", "--from", "2026-01-01", "--to", "2026-01-02"), "is an interval", 1),
        (("report", "--from", "2026-01-02", "--to", "2026-01-01"), "a time after the begin", 2),
        (("report", "--from", "2026-01-01", "--to", "2098-01-01"), "a time that has passed", 2),
        (("report", "--from", "soon", "--to", "2026-01-01"), 'Invalid from "soon"', 2),
        (("report", "--from", "2026-01-01"), "Missing option '--to'", 2),
    ],
)
def test_a_backfill_that_cannot_be_is_refused(home: Cli, words: tuple[str, ...], part: str, code: int) -> None:
    home("job", "add", "ticks", "--every", "1h", "--", "true")
    assert part in home.refused("backfill", *words, code=code)


def test_settings_are_shown_with_where_they_come_from(
    home: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROTA_BEAT", "20s")
    (tmp_path / "rota.yaml").write_text('engine: {poll: 10s}\njobs: {a: {manual: true, command: ["true"]}}\n')
    home("apply", "--yes")
    rows = [line.split() for line in home("settings").splitlines()]
    for row in (
        ["poll", "10s", "30s", "rota.yaml"],
        ["scan", "5s", "5s", "default"],
        ["max_concurrent", "-", "-", "default"],
    ):
        assert row in rows
    assert ["beat", "20s", "15s", "environment", "ROTA_BEAT"] in rows
    assert any(row[:3] == ["main", "1", "0"] for row in rows)
    found = home.json("settings")
    assert (found["store"], found["database"], found["tokens"]) == ("sqlite", home.db, 0)
    (tmp_path / "rota.yaml").write_text("engine: {poll: soon}\n")
    assert 'Invalid poll "soon"' in home.refused("settings", code=2)
    (tmp_path / "rota.yaml").unlink()
    monkeypatch.setenv("ROTA_BEAT", "0s")
    assert "Invalid beat" in home.refused("settings", code=2)
