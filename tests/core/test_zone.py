"""Zones: from a wall clock to an instant and back, and where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.zone import (
    ClockChange,
    clock_changes,
    fall_back,
    first_instant,
    is_doubled,
    is_gap,
    second_instant,
    wall_time,
    zone_named,
)
from rota.errors import ScheduleError
from tests.core.brute import utc, wall

HOUR = timedelta(hours=1)

# zone, instant of the change, offsets before and after in minutes
CHANGES = [
    ("America/New_York", "2024-03-10T07:00", -300, -240),
    ("America/New_York", "2024-11-03T06:00", -240, -300),
    ("Europe/Berlin", "2024-03-31T01:00", 60, 120),
    ("Europe/Berlin", "2024-10-27T01:00", 120, 60),
    ("Australia/Lord_Howe", "2024-04-06T15:00", 660, 630),
    ("Australia/Lord_Howe", "2024-10-05T15:30", 630, 660),
    ("Pacific/Apia", "2011-04-02T14:00", -600, -660),
    ("Pacific/Apia", "2011-09-24T14:00", -660, -600),
    ("Pacific/Apia", "2011-12-30T10:00", -600, 840),
    ("Pacific/Apia", "2012-03-31T14:00", 840, 780),
    ("Pacific/Apia", "2012-09-29T14:00", 780, 840),
    ("America/Santiago", "2024-04-07T03:00", -180, -240),
    ("America/Santiago", "2024-09-08T04:00", -240, -180),
    ("America/Nuuk", "2024-03-31T01:00", -120, -60),
    ("America/Nuuk", "2024-10-27T01:00", -60, -120),
]


def test_zone_is_given_when_its_name_is_known() -> None:
    """Every job has an IANA zone."""
    assert zone_named("Europe/Berlin").key == "Europe/Berlin"
    assert zone_named("UTC").key == "UTC"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Europe/Berlim", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
        ("Asia/Tokio", "Asia/Tokyo"),
    ],
)
def test_near_miss_is_proposed_when_a_zone_is_misspelt(name: str, near: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        zone_named(name)
    error = caught.value
    expected = f"an IANA zone name, such as {near}"
    assert str(error) == f'Invalid timezone "{name}": expected {expected}. Example: Europe/Berlin'
    assert (error.field, error.value, error.expected, error.example) == ("timezone", name, expected, "Europe/Berlin")


@pytest.mark.parametrize(
    "name", ["", "/", "..", "\x00", "\ud800", "/etc/passwd", "../../etc/passwd", "q" * 5000, "é/é"]
)
def test_zone_is_refused_without_a_guess_when_nothing_is_near(name: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        zone_named(name)
    assert str(caught.value) == f'Invalid timezone "{name}": expected an IANA zone name. Example: Europe/Berlin'


def test_directory_is_refused_when_given_as_a_zone() -> None:
    with pytest.raises(ScheduleError, match='Invalid timezone "America": expected an IANA zone name'):
        zone_named("America")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30) | st.text(alphabet="aEu/._-\x00 ", max_size=8))
def test_only_the_documented_error_is_raised_when_a_zone_name_is_arbitrary(name: str) -> None:
    try:
        zone = zone_named(name)
    except ScheduleError as error:
        assert (error.field, error.value) == ("timezone", name)  # noqa: PT017
    else:
        assert zone.key == name


@pytest.mark.parametrize(("name", "at", "before", "after"), CHANGES)
def test_walls_around_a_change_are_read_when_clocks_jump(name: str, at: str, before: int, after: int) -> None:
    """A removed time maps to the first instant after the gap; one that happens twice to the first time."""
    zone, change = ZoneInfo(name), utc(at)
    old, new = timedelta(minutes=before), timedelta(minutes=after)
    shown_old, shown_new = (change + old).replace(tzinfo=None), (change + new).replace(tzinfo=None)
    step = timedelta(minutes=1)
    jump = abs(new - old)
    low, high = min(shown_old, shown_new), max(shown_old, shown_new)
    affected = [low, low + step, low + jump / 2, high - step, high - timedelta(microseconds=1)]
    for clock in (low - step, low - timedelta(microseconds=1), high, high + step):
        offset = old if clock < low else new
        assert not is_gap(clock, zone)
        assert not is_doubled(clock, zone)
        assert fall_back(clock, zone) == timedelta()
        assert first_instant(clock, zone) == second_instant(clock, zone) == (clock - offset).replace(tzinfo=UTC)
    for clock in affected:
        assert is_gap(clock, zone) is (new > old)
        assert is_doubled(clock, zone) is (new < old)
        assert fall_back(clock, zone) == old - new
        if new > old:
            assert first_instant(clock, zone) == change
        else:
            assert first_instant(clock, zone) == (clock - old).replace(tzinfo=UTC)
            assert second_instant(clock, zone) == (clock - new).replace(tzinfo=UTC)


@pytest.mark.parametrize(("name", "at", "before", "after"), CHANGES)
def test_change_is_found_exactly_when_it_lies_in_the_window(name: str, at: str, before: int, after: int) -> None:
    zone, change = ZoneInfo(name), utc(at)
    expected = ClockChange(change, timedelta(minutes=before), timedelta(minutes=after))
    micro = timedelta(microseconds=1)
    for left, right in [
        (change - micro, change),
        (change - timedelta(seconds=1), change),
        (change - timedelta(days=1), change),
        (change - timedelta(days=3, seconds=7), change + timedelta(days=3)),
        (change - timedelta(seconds=0.5), change + timedelta(seconds=0.5)),
    ]:
        assert clock_changes(zone, after=left, until=right) == (expected,)
    assert clock_changes(zone, after=change, until=change + timedelta(days=5)) == ()
    assert clock_changes(zone, after=change - timedelta(days=5), until=change - micro) == ()
    assert clock_changes(zone, after=change, until=change) == ()
    assert clock_changes(zone, after=change + HOUR, until=change - HOUR) == ()
    assert expected.wall_before == (change + timedelta(minutes=before)).replace(tzinfo=None)
    assert expected.wall_after == (change + timedelta(minutes=after)).replace(tzinfo=None)


def test_every_change_is_found_in_order_when_the_window_is_a_year() -> None:
    found = clock_changes(zone_named("Pacific/Apia"), after=utc("2011-01-01"), until=utc("2012-12-31"))
    assert [(str(change.changes_at), change.wall_before, change.wall_after) for change in found] == [
        ("2011-04-02 14:00:00+00:00", wall("2011-04-02T04:00"), wall("2011-04-02T03:00")),
        ("2011-09-24 14:00:00+00:00", wall("2011-09-24T03:00"), wall("2011-09-24T04:00")),
        ("2011-12-30 10:00:00+00:00", wall("2011-12-30T00:00"), wall("2011-12-31T00:00")),
        ("2012-03-31 14:00:00+00:00", wall("2012-04-01T04:00"), wall("2012-04-01T03:00")),
        ("2012-09-29 14:00:00+00:00", wall("2012-09-30T03:00"), wall("2012-09-30T04:00")),
    ]
    assert clock_changes(UTC, after=utc("2011-01-01"), until=utc("2012-12-31")) == ()


@pytest.mark.parametrize(
    ("name", "instant", "shown", "fold"),
    [
        ("America/New_York", "2024-11-03T05:30", "2024-11-03T01:30", 0),
        ("America/New_York", "2024-11-03T06:30", "2024-11-03T01:30", 1),
        ("America/New_York", "2024-03-10T06:59", "2024-03-10T01:59", 0),
        ("America/New_York", "2024-03-10T07:00", "2024-03-10T03:00", 0),
        ("Pacific/Apia", "2011-12-30T09:59", "2011-12-29T23:59", 0),
        ("Pacific/Apia", "2011-12-30T10:00", "2011-12-31T00:00", 0),
        ("Asia/Kathmandu", "2024-01-01T00:00", "2024-01-01T05:45", 0),
    ],
)
def test_wall_clock_shows_the_local_reading_when_asked(name: str, instant: str, shown: str, fold: int) -> None:
    reading = wall_time(utc(instant), zone_named(name))
    assert reading == wall(shown)
    assert (reading.tzinfo, reading.fold) == (None, fold)


def test_instants_are_in_utc_with_fold_zero_when_the_wall_carries_a_fold() -> None:
    zone = zone_named("America/New_York")
    folded = wall("2024-11-03T01:30").replace(fold=1)
    for instant, expected in (
        (first_instant(folded, zone), utc("2024-11-03T05:30")),
        (second_instant(folded, zone), utc("2024-11-03T06:30")),
    ):
        assert (instant, instant.tzinfo, instant.fold) == (expected, UTC, 0)


def test_change_is_found_to_the_second_when_old_clocks_kept_odd_seconds() -> None:
    """New York's local mean time was 4:56:02 behind; the railway noon of 1883 came at 12:03:58 by the old clock."""
    zone = zone_named("America/New_York")
    change = utc("1883-11-18T17:00")
    found = clock_changes(zone, after=change - HOUR, until=change + HOUR)
    assert found == (ClockChange(change, timedelta(hours=-4, minutes=-56, seconds=-2), timedelta(hours=-5)),)
    assert found[0].wall_before == wall("1883-11-18T12:03:58")


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([row[0] for row in CHANGES]),
    st.datetimes(min_value=wall("1975-01-01"), max_value=wall("2060-01-01")),
)
def test_wall_time_leads_back_to_its_instant_when_read_by_its_pass(name: str, naive: datetime) -> None:
    zone, instant = zone_named(name), naive.replace(tzinfo=UTC)
    reading = wall_time(instant, zone)
    assert not is_gap(reading, zone)
    assert (second_instant if reading.fold else first_instant)(reading, zone) == instant


@pytest.mark.parametrize("name", ["right/Europe/Berlin", "posix/Europe/Berlin", "posixrules", "localtime", "Factory"])
def test_zone_is_refused_when_it_is_only_a_file_beside_the_zones(name: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        zone_named(name)
    assert caught.value.field == "timezone"
    assert "localtime" not in caught.value.expected
