"""``rota next`` and ``rota explain``, as a person types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROTA = str(Path(sys.executable).with_name("rota"))


def rota(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run([ROTA, *words], capture_output=True, text=True, check=False, env=env)


BERLIN = ("--timezone", "Europe/Berlin")


def test_next_shows_five_weekday_mornings_in_berlin() -> None:
    done = rota("next", "0 9 * * 1-5", *BERLIN, "-n", "5", "--after", "2026-11-18T12:00")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "At 09:00 on Monday through Friday (Europe/Berlin)",
        "  Thu 2026-11-19 09:00 CET  in 21h",
        "  Fri 2026-11-20 09:00 CET  in 1d21h",
        "  Mon 2026-11-23 09:00 CET  in 4d21h",
        "  Tue 2026-11-24 09:00 CET  in 5d21h",
        "  Wed 2026-11-25 09:00 CET  in 6d21h",
    ]
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("option", "first"),
    [
        (("--cron", "@daily"), "2026-11-19T00:00:00+01:00"),
        (("--every", "90m"), "2026-11-18T12:00:00+01:00"),
        (("--daily", "09:00"), "2026-11-19T09:00:00+01:00"),
        (("--weekly", "mon,thu 09:00"), "2026-11-19T09:00:00+01:00"),
        (("--monthly", "last fri 17:00"), "2026-11-27T17:00:00+01:00"),
        (("--at", "2026-12-01T09:00"), "2026-12-01T09:00:00+01:00"),
        (("--in", "20m"), "2026-11-18T12:20:00+01:00"),
        (("every 1h first after",), "2026-11-18T13:00:00+01:00"),
    ],
)
def test_every_kind_of_schedule_can_be_given(option: tuple[str, ...], first: str) -> None:
    done = rota("next", *option, *BERLIN, "-n", "1", "--after", "2026-11-18T12:00", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert [due["local"] for due in shown["times"]] == [first]


def test_next_as_json_has_the_documented_fields() -> None:
    done = rota("next", "30 2 * * *", *BERLIN, "-n", "1", "--after", "2027-03-27T12:00", "--json")
    assert json.loads(done.stdout)["times"] == [
        {
            "at": "2027-03-28T01:00:00Z",
            "local": "2027-03-28T03:00:00+02:00",
            "note": "clocks skip 02:00 to 03:00: fires at 03:00 instead",
        }
    ]
    assert set(json.loads(done.stdout)) == {
        "schedule",
        "type",
        "timezone",
        "in_words",
        "warnings",
        "times",
        "clock_changes",
    }


def test_explain_marks_the_nights_on_which_clocks_change() -> None:
    done = rota("explain", "30 2 * * *", *BERLIN, "--after", "2026-11-18")
    assert done.stdout.splitlines()[0] == "At 02:30 every day (Europe/Berlin)"
    assert done.stdout.splitlines()[-3:] == [
        "Nights on which clocks change:",
        "  Sun 2027-03-28  clocks skip 02:00 to 03:00: fires at 03:00 instead",
        "  Sun 2027-10-31  clocks show 02:00 to 03:00 twice: fires once, the first time",
    ]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("next", "0 25 * * *"), 'Invalid cron expression "0 25 * * *" - hour must be 0-23'),
        (("next", "* * *"), "expected 5 fields, got 3"),
        (("next", "*/5 * * * * *"), "use every: 30s"),
        (("next", "0 0 31 2 *"), "no date ever matches"),
        (("next", "--every", "5x"), 'Invalid time unit "x". Valid units are: s, m, h, d, w'),
        (("next", "--daily", "25:00"), "HH:MM from 00:00 to 23:59"),
        (("explain", "@daily", "--timezone", "Europe/Berln"), "such as Europe/Berlin"),
        (("next", "@daily", "--after", "yesterday"), "an ISO 8601 date and time"),
    ],
)
def test_bad_input_is_exit_code_2_with_the_cure_on_stderr(words: tuple[str, ...], part: str) -> None:
    done = rota(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert part in done.stderr
    assert "Example: " in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_input_as_json_is_an_error_object() -> None:
    done = rota("next", "--every", "0m", "--json")
    assert done.returncode == 2
    error = json.loads(done.stderr)["error"]
    assert (error["field"], error["value"], error["example"]) == ("every", "0m", "5m")
    assert "Zero interval is not allowed" in error["message"]


@pytest.mark.parametrize(
    "words", [("next", "--daily", "09:00", "--every", "5m"), ("next", "@daily", "--every", "5m"), ("explain",)]
)
def test_none_or_two_schedules_are_a_usage_error(words: tuple[str, ...]) -> None:
    done = rota(*words)
    assert done.returncode == 2
    assert "Give one schedule" in done.stderr


def test_the_machines_zone_is_used_when_none_is_given() -> None:
    done = rota("next", "@daily", "--json", TZ="America/New_York")
    assert json.loads(done.stdout)["timezone"] == "America/New_York"


def test_a_warning_is_shown_when_both_day_fields_are_restricted() -> None:
    done = rota("next", "0 9 */2 * 1", "-n", "1")
    assert "Warning:" in done.stdout
    assert "must both match" in done.stdout


@pytest.mark.parametrize("words", [(), ("next",), ("explain",)])
def test_help_has_examples(words: tuple[str, ...]) -> None:
    done = rota(*words, "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout


def test_a_schedule_without_due_times_says_so() -> None:
    assert "No due time: it only runs when something asks for it." in rota("next", "manual").stdout
    assert "No due time left." in rota("next", "--at", "2020-01-01T00:00").stdout


def test_the_version_is_printed() -> None:
    assert rota("--version").stdout.startswith("rota 0.")


@pytest.mark.parametrize(
    "words", [("explain", "--json"), ("next", "@daily", "-n", "x", "--json"), ("nothing", "--json")]
)
def test_a_usage_error_is_an_error_object_when_json_is_asked_for(words: tuple[str, ...]) -> None:
    done = rota(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert json.loads(done.stderr)["error"]["message"]


@pytest.mark.parametrize("after", ["9998-12-31", "9998-12-31T23:59:59-23:59", "9990-01-01", "1970-01-01"])
def test_the_edges_of_the_calendar_are_no_crash_when_asked_from_there(after: str) -> None:
    done = rota("next", "@daily", "--after", after, "--tz", "UTC")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_empty_zone_is_refused_when_given() -> None:
    done = rota("next", "@daily", "--tz", "")
    assert done.returncode == 2
    assert 'Invalid timezone ""' in done.stderr


def test_a_new_interval_job_runs_at_once_when_listed() -> None:
    done = rota("next", "--every", "90m", "-n", "2", "--after", "2026-11-18T12:00", "--tz", "UTC")
    assert done.stdout.splitlines() == [
        "Every 1h30m, counted from the end of the previous run, the first at once (UTC)",
        "  Wed 2026-11-18 12:00 UTC  now",
        "  Wed 2026-11-18 13:30 UTC  in 1h30m",
    ]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("once 2027-03-28T02:30", "--tz", "Europe/Berlin", "--after", "2027-01-01"),
            "  Sun 2027-03-28  clocks skip 02:00 to 03:00: fires at 03:00 instead",
        ),
        (
            ("30 23 * * *", "--tz", "America/Santiago", "--after", "2027-01-01"),
            "  Sat 2027-04-03  clocks show 23:00 to 00:00 twice: fires once, the first time",
        ),
        (
            ("0 9 * * *", "--tz", "Pacific/Apia", "--after", "2011-12-01"),
            "  Fri 2011-12-30  clocks skip 2011-12-30 00:00 to 2011-12-31 00:00: fires at 2011-12-31 00:00 instead",
        ),
    ],
)
def test_explain_names_the_night_when_a_schedule_is_touched(words: tuple[str, ...], line: str) -> None:
    assert line in rota("explain", *words).stdout.splitlines()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only some systems have a disk that is always full")
def test_a_full_disk_is_said_when_the_output_cannot_be_written() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([ROTA, "next", "@daily"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "Error: cannot write the output: No space left on device\n")


def test_nothing_is_said_when_the_reader_has_left() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{ROTA} next '* * * * *' -n 1000 | head -1"], capture_output=True, text=True, check=False
    )
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")
