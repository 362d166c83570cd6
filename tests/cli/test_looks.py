"""Commands that look at everything at once, as a person would type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import apsw
import msgspec
import pytest

from rota.cli.timeline_chart import chart
from rota.operations.timeline import Lane, Timeline
from rota.operations.views import RunMark
from tests.cli.cli import Cli

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
MARK = RunMark(
    id="run_1",
    job="tick",
    job_id="job_1",
    state="succeeded",
    cause="schedule",
    attempt=1,
    due_at=NOW,
    requested_at=NOW,
    started_at=NOW,
    ended_at=NOW,
    reason=None,
    count=1,
)


@pytest.fixture
def home(cli: Cli) -> Cli:
    """A job that comes, one that is asked for, and no worker."""
    cli("job", "add", "report", "--cron", "*/30 * * * *", "--agent", "coder", "--", "true")
    cli("job", "add", "backup", "--manual", "--", "true")
    cli("job", "run", "backup")
    return cli


def test_the_status_says_what_is_wrong_and_what_to_type(home: Cli) -> None:
    shown = home.ask("status", code=1).stdout
    assert shown.splitlines()[0].startswith("✗ stalled: No worker is alive; 1 run waits; the next due time is at ")
    assert "    rota up" in shown.splitlines()
    assert "2 jobs, 0 paused, 0 failing" in shown
    assert "0 running; waiting: 1 manual, 0 scheduled, 0 corrective; slots: local 0/1" in shown
    assert "report" in shown
    found = home.json("status", code=1)
    assert [(problem["kind"], problem["severity"]) for problem in found["problems"]] == [("stalled", "bad")]
    assert len(found["coming"]) == 10


def test_the_status_is_well_when_nothing_is_there(cli: Cli) -> None:
    assert cli("status").splitlines()[0] == "✓ Nothing is wrong."
    assert cli.json("status")["problems"] == []


def test_the_timeline_has_a_line_for_each_job(home: Cli) -> None:
    lines = home("timeline").splitlines()
    assert len(lines) == 4
    backup, report = lines[1:3]
    assert (backup.split()[0], report.split()[0]) == ("backup", "report")
    assert "□" in backup
    assert report.count("·") in (3, 4, 5)
    assert "■ succeeded" in lines[3]
    assert [lane["job"] for lane in home.json("timeline", "--agent", "coder")["lanes"]] == ["report"]
    assert home.json("timeline", "--lanes", "1")["left_out"] == 1
    assert "1 more jobs are not shown" in home("timeline", "--lanes", "1")
    assert home("timeline", "--contains", "x") == "No jobs.\n"


def test_a_timeline_that_cannot_be_is_refused(home: Cli) -> None:
    assert "at most 14 days" in home.refused("timeline", "--hours", "330", "--ahead", "10", code=2)
    assert "a time after begin" in home.refused("timeline", "--hours", "0", "--ahead", "0", code=2)
    assert "--hours" in home.refused("timeline", "--hours", "-1", code=2)


def test_the_latest_outcomes_are_a_letter_each(home: Cli) -> None:
    home("job", "run", "backup")
    assert home("job", "outcomes").splitlines() == ["backup  oo", "report  no run yet"]
    assert home("job", "outcomes", "back", "-n", "1") == "backup  o\n"
    (found,) = home.json("job", "outcomes", "backup")
    assert [run["state"] for run in found["runs"]] == ["queued", "queued"]
    assert [one["job"] for one in home.json("job", "outcomes", "--after", "backup")] == ["report"]
    assert home("job", "outcomes", "--after", "report") == "No jobs.\n"
    assert 'There is no job "x"' in home.refused("job", "outcomes", "x")


def test_the_history_says_how_a_job_fared_and_what_is_planned(home: Cli) -> None:
    run_id = home("job", "run", "backup").strip()
    home("run", "cancel", run_id)
    shown = home("job", "history", "backup")
    assert "1 runs on 1 days" in shown
    assert shown.splitlines()[-1].split()[1:6] == ["0", "0", "0", "0", "1"]
    assert "oc" in shown.splitlines()
    found = home.json("job", "history", "report")
    assert (found["job"], found["runs"], found["typical"], found["days"]) == ("report", [], None, [])
    assert sum(day["count"] for day in found["planned"]) in range(48 * 365 - 1, 48 * 365 + 3)
    assert "nothing yet" in home("job", "history", "report")
    assert 'There is no job "x"' in home.refused("job", "history", "x")


def test_snapshots_and_heartbeats_are_there_when_a_worker_was(home: Cli) -> None:
    assert "No snapshot" in home("worker", "snapshots")
    assert home.json("worker", "snapshots", "--since", "2h", "--worker", "wrk_1", "-n", "5") == []
    assert "No run under way" in home("worker", "heartbeats")
    assert home.json("worker", "heartbeats") == []
    assert 'Invalid since "x"' in home.refused("worker", "snapshots", "--since", "x", code=2)
    run_id = home.json("runs", "backup")[0]["id"]
    now = int(datetime.now(UTC).timestamp() * 1e6)  # noqa: TID251 - the real one
    connection = apsw.Connection(home.db)
    for statement, values in (
        ("INSERT INTO machine_snapshots VALUES ('snp_1', 'wrk_1', ?, 1, 1, 3, 0, 12.4, 2048, 0.5, '')", (now,)),
        ("INSERT INTO heartbeats VALUES ('wrk_1', ?, 'silent', ?, ?)", (run_id, "first\nlast?\n", now)),
        ("INSERT INTO leases (worker, taken_at, run_ids) VALUES ('wrk_1', 0, json_array(?))", (run_id,)),
        ("UPDATE runs SET state = 'running', worker = 'wrk_1' WHERE id = ?", (run_id,)),
    ):
        connection.execute(statement, values)
    connection.close()
    row = home("worker", "snapshots").splitlines()[1]
    assert row.split()[-8:] == ["wrk_1", "12%", "2,048", "MB", "0.50", "3", "1", "0"]
    row = home("worker", "heartbeats").splitlines()[1]
    assert (row.split()[:3], row.split()[-1]) == ([run_id, "backup", "silent"], "last?")


def test_a_chart_has_a_column_for_each_stretch_and_never_hides_a_failure() -> None:
    runs = (
        msgspec.structs.replace(MARK, state="failed", started_at=NOW - 2 * HOUR, ended_at=NOW - 2 * HOUR),
        msgspec.structs.replace(MARK, started_at=NOW - 2 * HOUR, ended_at=NOW - HOUR),
        msgspec.structs.replace(MARK, state="missed", due_at=NOW - 3 * HOUR, started_at=None, ended_at=NOW),
        msgspec.structs.replace(MARK, state="running", started_at=NOW - 9 * HOUR, ended_at=None),
    )
    lanes = tuple(
        Lane(job=job, agent=None, status="idle", runs=shown, due=due, is_cut=False)
        for job, shown, due in (
            ("tick", runs[:3], (NOW + HOUR, NOW + 9 * HOUR)),
            ("coder/a-name-that-is-too-long", runs[3:], ()),
        )
    )
    timeline = Timeline(begin=NOW - 6 * HOUR, now=NOW, end=NOW + 2 * HOUR, lanes=lanes, left_out=0)
    shown = chart(timeline, width=25 + 32, zone="UTC", is_ascii=True)
    labels = [label for label, _ in shown.lanes]
    cells = ["".join(mark for mark, _ in line) for _, line in shown.lanes]
    assert labels == ["tick".ljust(24), "~a-name-that-is-too-long"]
    assert cells == ["            ?   x####   |   .   ", ">" * 25 + " " * 7]
    assert shown.ruler == " " * 25 + "04:00       07:00       10:00"
    assert "x failed" in shown.legend


def test_a_long_chart_shows_dates() -> None:
    lane = Lane(job="tick", agent=None, status="idle", runs=(), due=(), is_cut=False)
    timeline = Timeline(begin=NOW - 48 * HOUR, now=NOW, end=NOW, lanes=(lane,), left_out=0)
    assert chart(timeline, width=29, zone="UTC").ruler.split() == ["28.", "10:00", "01.", "10:00"]
