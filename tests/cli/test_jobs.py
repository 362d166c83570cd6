"""``rota job``: what a person can say of a job, and what becomes of it."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli import Cli


def definition(cli: Cli, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cli.json("job", "show", name)["definition"]
    return {word: value for word, value in found.items() if word != "timezone"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--every", "5m"), {"every": "5m"}),
        (("--cron", "0 9 * * 1-5"), {"cron": "0 9 * * 1-5"}),
        (("--daily", "09:00"), {"daily": "09:00"}),
        (("--weekly", "mon,thu 09:00"), {"weekly": {"on": ["mon", "thu"], "at": "09:00"}}),
        (("--monthly", "last fri 17:00"), {"monthly": {"on": "last fri", "at": "17:00"}}),
        (("--schedule", "every 1h first after"), {"every": "1h", "first": "after"}),
        (("--manual",), {"manual": True}),
    ],
)
def test_a_schedule_becomes_its_word_in_the_file(cli: Cli, options: tuple[str, ...], words: dict[str, Any]) -> None:
    cli("job", "add", "x", *options, "--", "true")
    assert definition(cli, "x") == {**words, "command": ["true"]}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--start-within", "10m"), {"start_within": "10m"}),
        (("--catch-up", "all"), {"catch_up": "all"}),
        (("--backoff", "30s,1m"), {"backoff": ["30s", "1m"]}),
        (("--backoff", "none"), {"backoff": "none"}),
        (("--silence-after", "2m", "--on-silence", "fail"), {"silence_after": "2m", "on_silence": "fail"}),
        (("--description", "what it is"), {"description": "what it is"}),
        (("--prompt", "look"), {"prompt": "look"}),
        (("--jitter", "5"), {"jitter": 5}),
        (("--min-interval", "1m", "--max-interval", "1h"), {"min_interval": "1m", "max_interval": "1h"}),
        (("--quiet", "sat", "--quiet-policy", "defer"), {"quiet": "sat", "quiet_policy": "defer"}),
        (("--retry", "2", "--retry-first", "10s"), {"retry": {"max": 2, "first": "10s"}}),
        (("--timeout", "30m", "--queue-timeout", "2h"), {"timeout": "30m", "queue_timeout": "2h"}),
        (("--pool", "gpu", "--key", "repo"), {"pool": "gpu", "concurrency_key": "repo"}),
        (("--env", "A=1", "--env", "B=x=y", "--shell"), {"env": {"A": "1", "B": "x=y"}, "shell": True}),
        (("--max-runs", "3", "--pause-after", "5"), {"max_runs": 3, "pause_after": 5}),
        (("--stagger", "2m", "--overlap", "queue"), {"stagger": "2m", "overlap": "queue"}),
    ],
)
def test_an_option_becomes_its_word_in_the_file(cli: Cli, options: tuple[str, ...], words: dict[str, Any]) -> None:
    cli("job", "add", "x", "--every", "5m", *options, "--", "true")
    found = definition(cli, "x")
    assert {word: found.get(word) for word in words} == words


def test_a_request_has_everything_that_was_given(cli: Cli) -> None:
    request = ("--url", "https://example.org/x", "--method", "post", "--header", "A: b", "--body", "{}", "--expect")
    cli("job", "add", "x", "--daily", "09:00", *request, "200,204")
    assert definition(cli, "x")["http"] == {
        "url": "https://example.org/x",
        "method": "POST",
        "headers": {"A": "b"},
        "body": "{}",
        "expect": [200, 204],
    }


def test_a_python_call_is_an_action_too(cli: Cli) -> None:
    cli("job", "add", "x", "--manual", "--python", "reports.nightly:run")
    assert definition(cli, "x") == {"manual": True, "python": "reports.nightly:run"}


def test_a_folder_is_meant_as_it_is_seen_from_here(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli("job", "add", "x", "--manual", "--cwd", "inner", "--", "true")
    assert definition(cli, "x")["cwd"] == str(tmp_path / "inner")


def test_times_are_on_the_jobs_clock(cli: Cli) -> None:
    words = ("--at", "2030-12-01T09:00", "--timezone", "Asia/Tokyo", "--until", "2030-12-02")
    saved = cli.json("job", "add", "x", *words, "--", "true")
    assert saved["next_times"] == ["2030-12-01T00:00:00Z"]


def test_saving_shows_the_next_five_due_times(cli: Cli) -> None:
    lines = cli("job", "add", "x", "--daily", "09:00", "--", "true").splitlines()
    assert lines[0].startswith("Saved x (job_")
    assert len(lines) == 6


def test_everything_that_is_wrong_is_said_at_once(cli: Cli) -> None:
    said = cli.refused("job", "add", "bad name", "--every", "5x", "--timeout", "0s", "--", "true", code=2)
    for part in ('Invalid name "bad name"', 'Invalid every "5x"', 'Invalid timeout "0s"', "    For example: 5m"):
        assert part in said
    done = cli.ask("job", "add", "x", "--every", "5x", "--timeout", "0s", "--json", "--", "true", code=2)
    error = json.loads(done.stderr)["error"]
    assert {problem["path"] for problem in error["problems"]} == {"every", "timeout"}
    assert set(error["problems"][0]) == {"message", "cure", "path", "file", "line", "column"}


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--manual",), "Give the command after --"),
        (("--", "true"), "Give one schedule"),
        (("--manual", "--every", "5m", "--", "true"), "Give one schedule"),
        (("--manual", "--url", "http://x", "--", "true"), "not both"),
        (("--manual", "--url", "http://x", "--header", "bad"), 'Invalid header "bad"'),
        (("--manual", "--url", "http://x", "--expect", "ok"), 'Invalid expect "ok"'),
        (("--manual", "--env", "=1", "--", "true"), 'Invalid env "=1"'),
        (("--manual", "--stdin", "x", "--url", "http://x.org"), "stdin belongs to a command"),
        (("--manual", "--overlap", "never", "--", "true"), "'never' is not one of"),
        (("--from-file", "/no/such/file"), "does not exist"),
    ],
)
def test_what_cannot_be_accepted_is_exit_code_2(cli: Cli, words: tuple[str, ...], part: str) -> None:
    assert part in cli.refused("job", "add", "x", *words, code=2)
    assert cli.json("job", "list") == []


JOB = """\
# One job in the words of the fleet file.
daily: "09:00"
command: [./backup.sh, --all]
retry: {max: 2}
"""


def test_a_job_can_come_from_a_file_or_from_standard_input(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    cli("job", "add", "one", "--from-file", str(tmp_path / "job.yaml"))
    cli("job", "add", "two", "--from-file", "-", stdin=JOB)
    expected = {"daily": "09:00", "command": ["./backup.sh", "--all"], "retry": {"max": 2}}
    assert definition(cli, "one") == definition(cli, "two") == expected


def test_options_go_before_the_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    cli("job", "add", "x", "--from-file", str(tmp_path / "job.yaml"), "--every", "5m", "--retry", "3", "--", "true")
    assert definition(cli, "x") == {"every": "5m", "command": ["true"], "retry": {"max": 3}}


def test_problems_of_a_file_have_their_lines(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text("daily: 25:00\ncomand: [x]\n")
    said = cli.refused("job", "add", "x", "--from-file", "job.yaml", code=2)
    assert "job.yaml:1:8: daily: " in said
    assert 'job.yaml:2:1: comand: There is no key "comand" here.\n    Did you mean "command"?' in said
    Path("job.yaml").write_text("a: [\n")
    assert "job.yaml:" in cli.refused("job", "add", "x", "--from-file", "job.yaml", code=2)


def test_a_name_is_taken_once(cli: Cli) -> None:
    cli("job", "add", "x", "--manual", "--", "true")
    assert 'already a job named "x"' in cli.refused("job", "add", "x", "--manual", "--", "true")


def test_a_proposed_job_waits_until_it_is_accepted(cli: Cli) -> None:
    assert "rota job accept x" in cli("job", "add", "x", "--every", "5m", "--propose", "--", "true")
    assert [job["status"] for job in cli.json("job", "list", "--status", "proposed")] == ["proposed"]
    assert "only proposed" in cli.refused("job", "enable", "x")
    assert cli.json("job", "accept", "x")["status"] == "idle"
    assert "nothing to accept" in cli.refused("job", "accept", "x")


def test_a_job_goes_through_its_states(cli: Cli) -> None:
    cli("job", "add", "x", "--daily", "09:00", "--", "true")
    paused = cli.json("job", "pause", "x", "--until", "2030-01-01T00:00", "--note", "holiday")
    assert (paused["status"], paused["pause_note"]) == ("paused", "holiday")
    assert datetime.fromisoformat(paused["paused_until"]).tzinfo is not None
    assert cli("job", "resume", "x").startswith("x: idle, next ")
    assert cli("job", "disable", "x") == "x: disabled\n"
    assert cli.json("job", "enable", "x")["status"] == "idle"
    assert cli.json("job", "remove", "x") == {"removed": "x"}
    assert 'There is no job "x"' in cli.refused("job", "show", "x")
    assert "Invalid until" in cli.refused("job", "pause", "x", "--until", "soon", code=2)


def test_jobs_are_listed_by_what_is_asked_for(cli: Cli) -> None:
    assert "No jobs" in cli("job", "list")
    for name, agent in (("a1", "coder"), ("a2", "coder"), ("b1", "writer")):
        cli("job", "add", name, "--manual", "--agent", agent, "--", "true")
    cli("job", "pause", "a2")

    def names(*words: str) -> list[str]:
        return [job["name"] for job in cli.json("job", "list", *words)]

    assert names() == ["a1", "a2", "b1"]
    assert names("--agent", "coder") == ["a1", "a2"]
    assert names("--status", "paused") == ["a2"]
    assert names("--contains", "1") == ["a1", "b1"]
    assert names("-n", "2") == ["a1", "a2"]
    assert names("--after", "a1") == ["a2", "b1"]
    assert names("--fleet", "main") == []
    assert cli("job", "list").splitlines()[2].split()[:3] == ["a2", "paused", "manual"]


def test_a_job_is_shown_whole(cli: Cli) -> None:
    cli("job", "add", "report", "--daily", "09:00", "--timezone", "Europe/Berlin", "--", "./report.sh")
    shown = cli("job", "show", "rep")
    for part in ("every day at 09:00", "Europe/Berlin", "baseline-calendar", "command: [./report.sh]"):
        assert part in shown
    assert {"definition", "hints", "why", "in_words", "version"} <= set(cli.json("job", "show", "report"))


def test_a_prefix_that_several_have_is_refused(cli: Cli) -> None:
    for name in ("report-a", "report-b"):
        cli("job", "add", name, "--manual", "--", "true")
    assert "could be any of these jobs: report-a, report-b" in cli.refused("job", "show", "report")


def test_a_run_can_be_asked_for(cli: Cli) -> None:
    cli("job", "add", "x", "--manual", "--", "true")
    first = cli.json("job", "run", "x", "--key", "k", "--input", "hello")
    assert first == {**first, "is_new": True, "is_skipped": False, "reason": None}
    assert cli("job", "run", "x", "--key", "k").strip() == first["run_id"]
    assert cli.json("run", "show", first["run_id"])["input"] == "hello"


def test_a_job_is_previewed_without_being_saved(cli: Cli, tmp_path: Path) -> None:
    words = ("--daily", "09:00", "--timezone", "UTC", "--quiet", "sat", "--quiet", "sun")
    lines = cli("job", "preview", *words, "--", "./report.sh").splitlines()
    assert lines[0] == "Every day at 09:00 (UTC)"
    assert len(lines) == 6
    assert [line.split()[0] in ("Sat", "Sun") for line in lines[1:]] == ["skipped" in line for line in lines[1:]]
    (tmp_path / "job.yaml").write_text(JOB)
    shown = cli.json(
        "job", "preview", "--from-file", str(tmp_path / "job.yaml"), "--every", "5m", "--retry-first", "1m"
    )
    assert shown["definition"] == {
        "command": ["./backup.sh", "--all"],
        "retry": {"max": 2, "first": "1m"},
        "every": "5m",
    }
    assert (shown["problems"], len(shown["next_times"])) == ([], 5)
    assert "No due time" in cli("job", "preview", "--manual", "--", "true")
    assert cli.json("job", "list") == []


def test_what_is_wrong_with_a_preview_is_said_where_it_stands(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text("daily: 25:00\ncommand: [x\n")
    assert "job.yaml:2:10: " in cli.refused("job", "preview", "--from-file", "job.yaml", code=2)
    shown = cli.json("job", "preview", "--every", "5x", "--", "true", code=2)
    assert [problem["path"] for problem in shown["problems"]] == ["every"]
    assert 'every: Invalid every "5x"' in cli.refused("job", "preview", "--every", "5x", "--", "true", code=2)
    assert "This job has no action." in cli.refused("job", "preview", "--from-file", "-", stdin="every: 5m", code=2)


def test_a_job_without_a_next_time_has_it_from_nowhere(cli: Cli) -> None:
    cli("job", "add", "by-hand", "--manual", "--", "true")
    shown = cli("job", "show", "by-hand")
    assert "from none" not in shown
    assert "Why: rota why by-hand" in cli("next", "by-hand")
