"""Due times without a decision for each are those that the governor would give."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile

import msgspec
import pytest

from rota.core.backoff import Ladder
from rota.core.decision import Moment, Source
from rota.core.governor import decide
from rota.core.job import JobState, Timing
from rota.core.quiet import QuietPolicy, parse_quiet
from rota.core.schedule import Every, parse_schedule
from rota.operations.foreseeing import due_times_of, foreseen_times, is_plain

NOW = datetime(2026, 3, 27, 10, 7, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
LINES = ("* * * * *", "*/7 * * * *", "30 2 * * *", "0 9 * * 1-5", "daily 02:30", "monthly last fri 17:00", "every 90m")
TIMINGS: tuple[dict[str, object], ...] = (
    {},
    {"stagger": 2 * MINUTE},
    {"until": NOW + timedelta(days=3)},
    {"begins_at": NOW + timedelta(days=2, minutes=3)},
    {"max_runs": 5},
    {"min_interval": 2 * HOUR},
    {"max_interval": 6 * HOUR},
    {"quiet": (parse_quiet("22:00-07:00"),)},
    {"quiet": (parse_quiet("22:00-07:00"),), "quiet_policy": QuietPolicy.DEFER},
)


def planned(line: str, now: datetime = NOW, **fields: object) -> JobState:
    timing_fields = {"zone": "Europe/Berlin", **fields}
    timing = Timing(schedule=parse_schedule(line, now=NOW), **timing_fields)  # type: ignore[arg-type]
    state = JobState(
        name="some-job", timing=timing, created_at=NOW - HOUR, scheduled_at=NOW - HOUR, last_completed_at=NOW - MINUTE
    )
    return msgspec.structs.replace(state, planned=decide(now, state, moment=Moment.REPLANNED))


def both(now: datetime, state: JobState, count: int = 300) -> tuple[list[datetime], list[datetime]]:
    governed = (
        at
        for at, source in foreseen_times(now, state)
        if source != Source.PAUSED or isinstance(state.timing.schedule, Every)
    )
    return list(islice(due_times_of(now, state), count)), list(islice(governed, count))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("fields", TIMINGS, ids=lambda fields: "-".join(fields) or "plain")
def test_due_times_are_those_of_the_governor(line: str, fields: dict[str, object]) -> None:
    """Three nights later the clocks change."""
    found, governed = both(NOW, planned(line, **fields))
    assert found == governed


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("fields", [{}, {"stagger": 2 * MINUTE}, {"until": NOW + timedelta(days=9)}], ids=str)
@pytest.mark.parametrize("wait", [-HOUR, timedelta(), MINUTE, timedelta(days=2, seconds=7), timedelta(days=8)])
def test_what_comes_before_a_time_is_passed_over(line: str, fields: dict[str, object], wait: timedelta) -> None:
    state, end = planned(line, **fields), NOW + timedelta(days=10)
    found = list(takewhile(lambda at: at <= end, due_times_of(NOW, state, begin=NOW + wait)))
    whole = list(takewhile(lambda at: at <= end, due_times_of(NOW, state)))
    assert found == [at for at in whole if at >= NOW + wait]


@pytest.mark.parametrize("line", LINES)
def test_an_overdue_time_comes_first_and_those_behind_it_do_not(line: str) -> None:
    state = planned(line)
    assert state.planned is not None
    at = state.planned.next_run_at
    assert at is not None
    later = at + timedelta(days=3, seconds=5)
    times = list(islice(due_times_of(later, state), 5))
    assert times[0] == at
    assert all(one > later for one in times[1:])
    begin = later + timedelta(days=40)
    ahead = [one for one in islice(due_times_of(later, state, begin=begin), 5) if one >= begin]
    beyond = (one for one in due_times_of(later, state) if one >= begin)
    assert ahead == list(islice(beyond, len(ahead)))
    assert ahead


@pytest.mark.parametrize("line", LINES)
def test_a_plain_schedule_needs_no_decisions(line: str) -> None:
    assert is_plain(planned(line))
    assert is_plain(planned(line, until=NOW + timedelta(days=30)))
    assert not is_plain(planned(line, max_runs=5))
    assert not is_plain(msgspec.structs.replace(planned(line), is_enabled=False))


@pytest.mark.parametrize("line", LINES)
def test_failures_that_hold_a_job_back_are_considered(line: str) -> None:
    state = planned(line, backoff=Ladder((30 * MINUTE, HOUR)))
    failing = msgspec.structs.replace(state, failure_count=1, planned=None)
    failing = msgspec.structs.replace(failing, planned=decide(NOW, failing, moment=Moment.SETTLED))
    found, governed = both(NOW, failing, 50)
    assert found == governed


@pytest.mark.parametrize("line", LINES)
def test_the_end_of_a_pause_is_no_due_time_of_the_wall(line: str) -> None:
    paused = msgspec.structs.replace(planned(line), paused_until=NOW + timedelta(days=1), planned=None)
    paused = msgspec.structs.replace(paused, planned=decide(NOW, paused))
    found, governed = both(NOW, paused, 50)
    assert found == governed
    assert (found[0] == NOW + timedelta(days=1)) is (line == "every 90m")


def test_a_job_that_is_off_or_done_has_none() -> None:
    off = msgspec.structs.replace(planned("daily 09:00"), is_enabled=False)
    assert both(NOW, off) == ([], [])
    assert both(NOW, planned("manual")) == ([], [])
