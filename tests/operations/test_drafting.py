"""What a job would be, while somebody writes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rota.errors import FleetError, ScheduleError
from rota.ledger.site import Site
from rota.operations import drafting, jobs
from rota.operations.drafting import JobPreview
from rota.store.sqlite import SqliteDatabase
from rota.store.store import SqlStore
from tests.operations.ward import site_of

pytestmark = pytest.mark.anyio

NOW = datetime(2027, 3, 26, 12, tzinfo=UTC)
YAML = """\
# What it is for.
daily: "02:30"
command: [./report.sh]
timezone: Europe/Berlin
"""


@pytest.fixture
def alone(tmp_path: Path) -> Site:
    """A site whose store is not open: a preview asks it nothing."""
    return site_of(SqlStore(SqliteDatabase(tmp_path / "rota.db")), NOW)


def places(shown: JobPreview) -> list[tuple[str, int, int]]:
    return [(problem.path, problem.line, problem.column) for problem in shown.problems]


async def test_a_text_is_shown_in_words_with_times_and_clock_changes(alone: Site) -> None:
    shown = await drafting.preview_job(alone, text=YAML)
    assert (shown.problems, shown.in_words, shown.warnings) == ((), "every day at 02:30", ())
    assert shown.definition == {"daily": "02:30", "command": ["./report.sh"], "timezone": "Europe/Berlin"}
    assert [due.local.isoformat() for due in shown.next_times][:3] == [
        "2027-03-27T02:30:00+01:00",
        "2027-03-28T03:00:00+02:00",
        "2027-03-29T02:30:00+02:00",
    ]
    assert [bool(due.note) for due in shown.next_times] == [False, True, False, False, False]
    assert shown.next_times[1].at == datetime(2027, 3, 28, 1, tzinfo=UTC)


async def test_words_go_before_those_of_the_text(alone: Site) -> None:
    words = {"timezone": "UTC", "retry": {"max": 2}, "timeout": None}
    text = f"{YAML}timeout: 5m\nretry: {{max: 1, first: 10s}}\n"
    shown = await drafting.preview_job(alone, text=text, definition=words)
    assert shown.problems == ()
    assert shown.definition == {
        "daily": "02:30",
        "command": ["./report.sh"],
        "timezone": "UTC",
        "retry": {"max": 2, "first": "10s"},
    }


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ({"every": "5m"}, {"command": ["./report.sh"], "timezone": "Europe/Berlin", "every": "5m"}),
        (
            {"http": {"url": "https://example.org"}},
            {"daily": "02:30", "timezone": "Europe/Berlin", "http": {"url": "https://example.org"}},
        ),
        (
            {"python": "a:b", "daily": None, "manual": True},
            {"timezone": "Europe/Berlin", "python": "a:b", "manual": True},
        ),
    ],
)
async def test_another_schedule_or_action_takes_the_place_of_that_of_the_text(
    alone: Site, words: dict[str, Any], wanted: dict[str, Any]
) -> None:
    shown = await drafting.preview_job(alone, text=YAML, definition=words)
    assert (shown.problems, shown.definition) == ((), wanted)


async def test_single_words_over_a_request_change_only_themselves(alone: Site) -> None:
    text = "http: https://example.org/tick\nmanual: true\n"
    shown = await drafting.preview_job(alone, text=text, definition={"http": {"method": "POST"}})
    assert shown.definition["http"] == {"url": "https://example.org/tick", "method": "POST"}
    assert shown.problems == ()


async def test_everything_wrong_is_said_at_once_where_it_stands(alone: Site) -> None:
    text = 'daily: 25:00\ncomand: [x]\ntimeout: "5x"\n'
    shown = await drafting.preview_job(alone, text=text, definition={"silence_after": "soon"}, name="bad name")
    assert {("daily", 1, 8), ("comand", 2, 1), ("timeout", 3, 10), ("silence_after", 0, 0)} <= set(places(shown))
    assert any('Invalid name "bad name"' in problem.message for problem in shown.problems)
    assert all(problem.message for problem in shown.problems)
    assert (shown.in_words, shown.next_times) == ("", ())
    assert shown.definition["silence_after"] == "soon"


async def test_a_text_that_is_no_yaml_is_said_beside_what_is_wrong_with_the_words(alone: Site) -> None:
    shown = await drafting.preview_job(alone, text="every: 5m\ncommand: [x\n", definition={"timeout": "5x"})
    assert places(shown) == [("timeout", 0, 0), ("", 2, 10)]
    assert (await drafting.preview_job(alone, text="- a\n- b\n")).problems[0].message == "This is not a mapping."


async def test_a_key_that_stands_twice_is_said_beside_all_else(alone: Site) -> None:
    shown = await drafting.preview_job(alone, text="every: 5m\nevery: 6m\ntimeout: 5x\n")
    assert {line for _, line, _ in places(shown)} == {1, 2, 3}


async def test_nothing_written_yet_is_no_refusal(alone: Site) -> None:
    shown = await drafting.preview_job(alone)
    assert [problem.message for problem in shown.problems] == ["This job has no schedule.", "This job has no action."]
    assert shown.definition == {}


@pytest.mark.parametrize(
    ("words", "times"),
    [
        ({"every": "1h"}, ["26 12:00:00", "26 13:00:00"]),
        ({"daily": "13:00", "quiet": "12:00-15:00", "quiet_policy": "defer"}, ["26 15:00:00", "27 15:00:00"]),
        ({"daily": "13:00", "from": "2027-04-01"}, ["01 13:00:00", "02 13:00:00"]),
        ({"daily": "13:00", "until": "2027-03-27T00:00"}, ["26 13:00:00"]),
        ({"daily": "13:00", "max_runs": 1}, ["26 13:00:00"]),
        ({"manual": True}, []),
    ],
)
async def test_the_whole_timing_is_looked_at_as_when_a_job_is_saved(
    alone: Site, words: dict[str, Any], times: list[str]
) -> None:
    shown = await drafting.preview_job(alone, definition={**words, "command": ["true"]})
    assert shown.problems == ()
    assert [f"{due.at:%d %H:%M:%S}" for due in shown.next_times][:2] == times


async def test_due_times_that_quiet_hours_will_skip_say_so(alone: Site) -> None:
    words = {"daily": "13:00", "quiet": ["sat", "sun"], "command": ["true"]}
    shown = await drafting.preview_job(alone, definition=words, timezone="Europe/Berlin")
    assert [due.note for due in shown.next_times] == [
        *("quiet until Mon 00:00: skipped", "quiet until Mon 00:00: skipped", "", "", ""),
    ]


async def test_a_stagger_is_counted_and_clock_changes_are_noted_beside_it(alone: Site) -> None:
    words = {"stagger": "20m"}
    shown = await drafting.preview_job(alone, text=YAML, definition=words, name="report")
    plain = await drafting.preview_job(alone, text=YAML)
    moved = {due.at - before.at for due, before in zip(shown.next_times, plain.next_times, strict=True)}
    assert len(moved) == 1
    assert timedelta() < moved.pop() < timedelta(minutes=20)
    assert [due.note for due in shown.next_times] == [due.note for due in plain.next_times]


async def test_a_time_that_has_passed_is_a_problem_where_it_stands(alone: Site) -> None:
    shown = await drafting.preview_job(alone, text="command: [x]\nat: 2020-01-01T00:00\n")
    assert places(shown) == [("at", 2, 5)]
    assert "a time to come" in shown.problems[0].message


async def test_an_unknown_zone_is_a_problem_too(alone: Site) -> None:
    for shown in (
        await drafting.preview_job(alone, text=YAML.replace("Berlin", "Berlim")),
        await drafting.preview_job(alone, definition={"every": "5m", "command": ["x"]}, timezone="Europe/Berlim"),
    ):
        assert any("Europe/Berlin" in problem.message for problem in shown.problems)


async def test_warnings_come_with_the_preview(alone: Site) -> None:
    shown = await drafting.preview_job(alone, definition={"cron": "0 9 1 * 1", "command": ["x"]})
    assert any("a day that matches either one counts" in warning for warning in shown.warnings)


async def test_unusual_numbers_are_shown_as_they_are_written(alone: Site) -> None:
    shown = await drafting.preview_job(alone, text="manual: true\ncommand: [chmod, 0644]\nenv: {V: 1.10}\n")
    assert shown.problems == ()
    assert shown.definition["command"] == ["chmod", "0644"]
    assert shown.definition["env"] == {"V": "1.10"}


async def test_unusual_numbers_are_numbers_where_numbers_are_wanted(site: Site) -> None:
    text = (
        "monthly: {on: 31, at: '09:00'}\njitter: 1.0e-05\nmax_runs: 0x10\nretry: {max: 2, factor: 1.50}\n"
        "http: {url: https://example.org, expect: [0xc8], headers: {V: 1.10}}\n"
    )
    shown = await drafting.preview_job(site, text=text)
    assert shown.problems == ()
    assert shown.definition == {
        "monthly": {"on": 31, "at": "09:00"},
        "jitter": 1e-05,
        "max_runs": 16,
        "retry": {"max": 2, "factor": 1.5},
        "http": {"url": "https://example.org", "expect": [200], "headers": {"V": "1.10"}},
    }
    await jobs.add_job(site, name="x", definition=shown.definition)


async def test_a_long_text_is_read_too(alone: Site) -> None:
    text = YAML + "".join(f"env_{number}: x\n" for number in range(5_000))
    shown = await drafting.preview_job(alone, text=text)
    assert len(shown.problems) == 201
    assert shown.problems[-1].message == "and 4800 more"


@pytest.mark.parametrize(
    "words",
    [
        {"every": "5m", "command": ["x"]},
        {"daily": "09:00", "command": ["x"], "quiet": "22:00-07:00", "stagger": "5m"},
        {"cron": "0 9 * * *", "command": "a b"},
        {"every": "5x", "command": ["x"]},
        {"every": "5m"},
        {"at": "2020-01-01", "command": ["x"]},
        {"webhook": True, "http": "https://example.org"},
    ],
)
async def test_what_is_previewed_is_what_is_saved(site: Site, words: dict[str, Any]) -> None:
    shown = await drafting.preview_job(site, definition=words, name="x")
    if shown.problems:
        with pytest.raises((FleetError, ScheduleError)) as refused:
            await jobs.add_job(site, name="x", definition=words)
        assert all(problem.message in str(refused.value) for problem in shown.problems)
        return
    saved = await jobs.add_job(site, name="x", definition=words)
    assert saved.next_times == tuple(due.at for due in shown.next_times)
    assert saved.warnings == shown.warnings
