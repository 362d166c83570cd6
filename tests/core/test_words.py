"""Schedules in plain words, and the nights on which clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rota.core.decision import Decision, Source
from rota.core.schedule import Every, First, parse_schedule
from rota.core.words import clock_change_nights, in_words, next_in_words

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
YEAR = timedelta(days=365)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("once 2026-12-01T09:00", "once, at 2026-12-01 09:00"),
        ("every 90m", "every 1h30m, counted from the end of the previous run, the first at once"),
        ("0 9 * * 1-5", "at 09:00 on Monday through Friday"),
        ("@daily", "at 00:00 every day"),
        ("daily 09:00", "every day at 09:00"),
        ("daily 09:00:30", "every day at 09:00:30"),
        ("weekly thu 09:00", "every Thursday at 09:00"),
        ("weekly thu,mon,sat 09:00", "every Monday, Thursday and Saturday at 09:00"),
        ("monthly 28 09:00", "on day 28 of every month at 09:00"),
        ("monthly 29 09:00", "on day 29 of every month, or the last day of a shorter month, at 09:00"),
        ("monthly last 09:00", "on the last day of every month at 09:00"),
        ("monthly first mon 09:00", "on the first Monday of every month at 09:00"),
        ("monthly last fri 17:00", "on the last Friday of every month at 17:00"),
        ("after build on success", "after build succeeds"),
        ("after build on failure", "after build fails"),
        ("after build on done", "after build ends"),
        ("manual", "only when run by hand"),
        ("webhook", "when a webhook calls"),
        ("chat", "when a chat message asks"),
    ],
)
def test_a_schedule_is_said_in_plain_words(line: str, words: str) -> None:
    assert in_words(parse_schedule(line, now=NOW)) == words


def test_an_interval_that_waits_first_says_so() -> None:
    every = Every(timedelta(minutes=5), First.AFTER)
    assert in_words(every) == "every 5m, counted from the end of the previous run, the first one interval from now"


def test_a_fixed_time_marks_both_nights_of_a_year() -> None:
    gap, doubled = clock_change_nights(
        parse_schedule("30 2 * * *", now=NOW), "Europe/Berlin", after=NOW, until=NOW + YEAR
    )
    assert gap.walls == (datetime(2027, 3, 28, 2, 30),)
    assert gap.fires == (datetime(2027, 3, 28, 1, 0, tzinfo=UTC),)
    assert gap.is_gap
    assert gap.in_words == "clocks skip 02:00 to 03:00: fires at 03:00 instead"
    assert doubled.walls == (datetime(2027, 10, 31, 2, 30),)
    assert doubled.fires == (datetime(2027, 10, 31, 0, 30, tzinfo=UTC),)
    assert not doubled.is_gap
    assert doubled.in_words == "clocks show 02:00 to 03:00 twice: fires once, the first time"


def test_a_wildcard_time_skips_the_gap_and_runs_both_passes() -> None:
    gap, doubled = clock_change_nights(
        parse_schedule("*/30 2 * * *", now=NOW), "Europe/Berlin", after=NOW, until=NOW + YEAR
    )
    assert gap.walls == (datetime(2027, 3, 28, 2, 0), datetime(2027, 3, 28, 2, 30))
    assert gap.fires == ()
    assert gap.in_words == "clocks skip 02:00 to 03:00: nothing runs in between"
    assert [at.isoformat()[11:16] for at in doubled.fires] == ["00:00", "00:30", "01:00", "01:30"]
    assert doubled.in_words == "clocks show 02:00 to 03:00 twice: runs both times"


def test_a_calendar_time_is_a_fixed_time() -> None:
    (gap,) = clock_change_nights(
        parse_schedule("daily 02:15", now=NOW), "Australia/Lord_Howe", after=NOW, until=NOW + YEAR
    )
    assert gap.in_words == "clocks skip 02:00 to 02:30: fires at 02:30 instead"
    assert gap.fires == (datetime(2027, 10, 2, 15, 30, tzinfo=UTC),)


@pytest.mark.parametrize(
    ("line", "zone"),
    [
        ("0 9 * * *", "Europe/Berlin"),
        ("0 3 * * *", "Europe/Berlin"),
        ("30 2 * * *", "UTC"),
        ("every 5m", "Europe/Berlin"),
        ("once 2027-03-28T03:00", "Europe/Berlin"),
        ("once 2027-03-28T02:30+01:00", "Europe/Berlin"),
    ],
)
def test_nights_that_touch_nothing_are_not_listed(line: str, zone: str) -> None:
    assert clock_change_nights(parse_schedule(line, now=NOW), zone, after=NOW, until=NOW + YEAR) == ()


@pytest.mark.parametrize(("clock", "hour"), [("2027-03-28T02:00", 1), ("2027-10-31T02:59", 0)])
def test_a_single_appointment_is_marked_when_a_clock_change_touches_it(clock: str, hour: int) -> None:
    (night,) = clock_change_nights(
        parse_schedule(f"once {clock}", now=NOW), "Europe/Berlin", after=NOW, until=NOW + YEAR
    )
    assert night.walls == (datetime.fromisoformat(clock),)
    assert [at.hour for at in night.fires] == [hour]


def test_a_removed_day_is_named_with_its_dates_when_clocks_skip_it() -> None:
    (night,) = clock_change_nights(
        parse_schedule("daily 09:00", now=NOW),
        "Pacific/Apia",
        after=datetime(2011, 12, 1, tzinfo=UTC),
        until=datetime(2012, 1, 31, tzinfo=UTC),
    )
    assert night.in_words == "clocks skip 2011-12-30 00:00 to 2011-12-31 00:00: fires at 2011-12-31 00:00 instead"


def test_days_are_named_in_english_when_the_process_speaks_another_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calendar.day_name", ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "?", "?"])
    weekly = parse_schedule("weekly tue,wed 09:00", now=NOW)
    assert in_words(weekly) == "every Tuesday and Wednesday at 09:00"


@pytest.mark.parametrize(
    ("at", "source", "line", "words"),
    [
        (None, Source.AFTER_RUN, "every 5m", "5m after this run"),
        (None, Source.AFTER_RUN, "0 9 * * *", "after this run"),
        (None, Source.PAUSED, "every 5m", "paused"),
        (None, Source.NONE, "manual", "none"),
        (NOW, Source.BASELINE_CRON, "0 9 * * *", f"{NOW:%Y-%m-%d %H:%M:%S}+00:00"),
    ],
)
def test_the_next_time_is_said_when_there_is_one_or_none(
    at: datetime | None, source: Source, line: str, words: str
) -> None:
    """SPEC 3: a running interval job has no next_run_at, "shown as '5m after this run'"."""
    assert next_in_words(Decision(at, source), parse_schedule(line, now=NOW)) == words
