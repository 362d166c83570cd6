"""What a person sees before saving a schedule."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rota.core.schedule import parse_schedule
from rota.errors import ScheduleError
from rota.operations.preview import preview

NOW = datetime(2027, 3, 26, 12, tzinfo=UTC)


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
