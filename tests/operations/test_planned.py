"""Planned days are the due times of the governor, counted by the day on the clock of the job's zone."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import takewhile

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.decision import Decision, Source
from rota.core.governor import decide
from rota.core.job import JobState, Timing
from rota.core.schedule import parse_schedule
from rota.core.zone import zone_named
from rota.operations import planned
from rota.operations.foreseeing import due_times_of
from rota.operations.planned import day_begins, day_of, planned_days

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
# Two days before clocks change in Europe; in Lord Howe they change by half an hour, in Cairo at midnight.
SPRING = datetime(2026, 3, 27, 10, 7, 30, tzinfo=UTC)
AUTUMN = datetime(2026, 10, 23, 10, 7, 30, tzinfo=UTC)
ZONES = ("UTC", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "America/New_York", "Asia/Kolkata")
LINES = (
    "* * * * *",
    "*/7 * * * *",
    "*/5 1-3 * * *",
    "0,30 * * * *",
    "30 0-3 * * *",
    "30 2 * * *",
    "15 2,3 * * 0",
    "daily 02:30",
    "daily 00:15",
    "weekly mon,thu 09:00",
    "monthly last fri 17:00",
)


def state_of(line: str, zone: str, now: datetime, **fields: object) -> JobState:
    timing = Timing(schedule=parse_schedule(line, now=now), zone=zone, **fields)  # type: ignore[arg-type]
    state = JobState(
        name="some-job", timing=timing, created_at=now - HOUR, scheduled_at=now - HOUR, last_completed_at=now - MINUTE
    )
    return msgspec.structs.replace(state, planned=decide(now, state))


def counted(now: datetime, state: JobState, until: datetime) -> dict[str, int]:
    """One due time after the other."""
    times = takewhile(lambda at: at <= until, due_times_of(now, state))
    return Counter(day_of(max(at, now), state.timing.zone).isoformat() for at in times)


def found(now: datetime, state: JobState) -> dict[str, int]:
    return {day.day: day.count for day in planned_days(now, state).days}


@pytest.fixture(autouse=True)
def _near(monkeypatch: pytest.MonkeyPatch) -> None:
    """A week is enough to come by a clock change."""
    monkeypatch.setattr(planned, "AHEAD", 7 * DAY)


@pytest.mark.parametrize("now", [SPRING, AUTUMN], ids=["spring", "autumn"])
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("line", LINES)
def test_days_alike_are_counted_like_any(line: str, zone: str, now: datetime) -> None:
    state = state_of(line, zone, now)
    assert found(now, state) == counted(now, state, now + 7 * DAY)
    assert planned_days(now, state).until == now + 7 * DAY


@settings(max_examples=60)
@given(
    minute=st.sampled_from(["*", "*/13", "0", "7,38", "10-20", "*/30"]),
    hour=st.sampled_from(["*", "*/2", "0-4", "2", "1,2,3", "23"]),
    offset=st.integers(0, 2 * 86_400),
    zone=st.sampled_from(ZONES),
    is_spring=st.booleans(),
)
def test_every_cron_is_counted_as_it_is_due(minute: str, hour: str, offset: int, zone: str, is_spring: bool) -> None:
    now = (SPRING if is_spring else AUTUMN) + timedelta(seconds=offset)
    state = state_of(f"{minute} {hour} * * *", zone, now)
    assert found(now, state) == counted(now, state, now + 7 * DAY)


@pytest.mark.parametrize("line", ["every 90m", "every 25h", "0 * * * *"])
@pytest.mark.parametrize(
    "fields", [{}, {"until": SPRING + 3 * DAY}, {"max_runs": 4}, {"min_interval": 2 * HOUR}], ids=str
)
def test_limits_of_life_and_clamps_are_considered(line: str, fields: dict[str, object]) -> None:
    state = state_of(line, "Europe/Berlin", SPRING, **fields)
    assert found(SPRING, state) == counted(SPRING, state, SPRING + 7 * DAY)


def test_what_is_overdue_is_due_today() -> None:
    passed = SPRING - 5 * DAY
    wall = msgspec.structs.replace(
        state_of("0 9 * * *", "UTC", SPRING), planned=Decision(passed, Source.BASELINE_CRON, match_at=passed)
    )
    every = msgspec.structs.replace(
        state_of("every 12h", "UTC", SPRING), planned=Decision(passed, Source.BASELINE_INTERVAL)
    )
    days = [f"2026-03-{day}" for day in range(27, 32)] + ["2026-04-01", "2026-04-02", "2026-04-03"]
    assert found(SPRING, wall) == dict.fromkeys(days, 1)
    assert next(due_times_of(SPRING, wall)) == passed
    assert found(SPRING, every) == {**dict.fromkeys(days, 2), "2026-04-03": 1}


def test_a_job_that_is_off_or_has_no_due_times_has_no_days() -> None:
    assert planned_days(SPRING, state_of("manual", "UTC", SPRING)).days == ()
    off = msgspec.structs.replace(state_of("0 9 * * *", "UTC", SPRING), is_enabled=False)
    assert planned_days(SPRING, off).days == ()


def test_how_far_was_looked_is_said_when_there_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "MOST", 10)
    monkeypatch.setattr(planned, "MOST_DECIDED", 5)
    often = planned_days(SPRING, state_of("every 1h", "UTC", SPRING))
    assert (sum(day.count for day in often.days), often.until) == (10, SPRING - MINUTE + 11 * HOUR)
    decided = planned_days(SPRING, state_of("0 * * * *", "UTC", SPRING, max_runs=50))
    assert sum(day.count for day in decided.days) == 5


def test_a_day_begins_where_its_clock_says() -> None:
    first = datetime(2026, 4, 24, tzinfo=UTC).date()
    # Cairo's clocks leave midnight out.
    assert day_begins(first, "Africa/Cairo").astimezone(zone_named("Africa/Cairo")).hour == 1
    assert day_begins(first, "UTC") == datetime(2026, 4, 24, tzinfo=UTC)
