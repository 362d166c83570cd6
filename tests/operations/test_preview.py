"""What a person sees before saving a schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rota.core.job import JobState, Timing
from rota.core.schedule import parse_schedule
from rota.errors import ScheduleError
from rota.operations.preview import coming_times, preview

NOW = datetime(2027, 3, 26, 12, tzinfo=UTC)
SAVED_AT = datetime(2026, 3, 2, 10, tzinfo=UTC)


def test_a_preview_has_words_times_notes_and_nights() -> None:
    shown = preview(parse_schedule("30 2 * * *", now=NOW), now=NOW, zone="Europe/Berlin", count=3)
    assert (shown.schedule, shown.type, shown.timezone) == ("30 2 * * *", "cron", "Europe/Berlin")
    assert shown.in_words == "at 02:30 every day"
    assert [due.local.isoformat() for due in shown.times] == [
        "2027-03-27T02:30:00+01:00",
        "2027-03-28T03:00:00+02:00",
        "2027-03-29T02:30:00+02:00",
    ]
    assert [bool(due.note) for due in shown.times] == [False, True, False]
    assert len(shown.clock_changes) == 3


def test_warnings_come_with_the_preview() -> None:
    shown = preview(parse_schedule("0 9 1 * 1", now=NOW), now=NOW, zone="UTC", count=1)
    assert shown.warnings == ('day of month "1" or day of week "1": a day that matches either one counts',)


def test_rare_times_do_not_make_the_look_ahead_long() -> None:
    shown = preview(parse_schedule("0 0 29 2 *", now=NOW), now=NOW, zone="Europe/Berlin", count=20)
    assert [due.local.year for due in shown.times][:3] == [2028, 2032, 2036]
    assert shown.clock_changes == ()


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(ScheduleError, match="such as Europe/Berlin"):
        preview(parse_schedule("@daily", now=NOW), now=NOW, zone="Europe/Berlim", count=1)


def coming(line: str, count: int = 5, **timing: object) -> list[str]:
    state = JobState(
        name="report",
        timing=Timing(schedule=parse_schedule(line, now=SAVED_AT), **timing),
        created_at=SAVED_AT,
        scheduled_at=SAVED_AT,
    )
    return [f"{at:%d %H:%M:%S}" for at in coming_times(SAVED_AT, state, count)]


@pytest.mark.parametrize(
    ("line", "timing", "times"),
    [
        ("every 1h", {}, ["02 10:00:00", "02 11:00:00", "02 12:00:00"]),
        ("every 1h", {"max_runs": 2}, ["02 10:00:00", "02 11:00:00"]),
        ("every 1h", {"begins_at": SAVED_AT + timedelta(days=1)}, ["03 10:00:00", "03 11:00:00", "03 12:00:00"]),
        ("0 9 * * *", {"until": SAVED_AT - timedelta(days=1)}, []),
        ("0 9 * * *", {"until": SAVED_AT + timedelta(days=1)}, ["03 09:00:00"]),
        ("manual", {}, []),
    ],
)
def test_coming_times_follow_the_whole_timing_when_a_job_is_saved(
    line: str, timing: dict[str, object], times: list[str]
) -> None:
    """SPEC 2: "Saving shows the next five due times"."""
    assert coming(line, 3, **timing) == times


def test_coming_times_are_staggered_when_the_runs_will_be() -> None:
    first, second = coming("0 9 * * *", 2, stagger=timedelta(minutes=30))
    assert first.startswith("03 09:")
    assert second == first.replace("03", "04", 1)
    assert first != "03 09:00:00"
