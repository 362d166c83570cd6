"""Jobs: what is refused when a timing is saved, where a job stands, and that both survive storage."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import msgspec
import pytest

from rota.core.backoff import Backoff, Ladder, Multiply, NoBackoff
from rota.core.calendar import LAST, Daily, MonthDay, Monthly, NthWeekday, Weekday, Weekly
from rota.core.chain import After, ChainOn, ChainPass
from rota.core.decision import Decision, Source
from rota.core.governor import decide
from rota.core.hint import AnyHint
from rota.core.job import FOREVER, JobState, JobStatus, Timing, check_timing, job_status, pause_end, takes_hints
from rota.core.quiet import QuietDates, QuietDay, QuietHours, QuietPolicy
from rota.core.schedule import Chat, Cron, Every, First, Manual, Once, Schedule, Webhook
from rota.errors import CronParseError, ScheduleError
from tests.core.states import (
    EVERY_5M,
    HALF_PAST,
    HOUR,
    MINUTE,
    NOW,
    TICK,
    interval_hint,
    job_state,
    oneshot_hint,
    pause_hint,
    planned,
    today,
)

SECOND = timedelta(seconds=1)
NINE = time(9)
ACCEPTED: list[dict[str, object]] = [
    {},
    {"schedule": Manual()},
    {"schedule": After("build", when="/ok/")},
    {"zone": "Europe/Berlin"},
    {"max_runs": 1},
    {"begins_at": NOW},
    {"until": NOW},
    {"begins_at": NOW, "until": NOW},
    {"begins_at": NOW, "until": NOW + TICK},
    {"jitter": 0.0},
    {"jitter": 10.0},
    {"stagger": timedelta()},
    {"stagger": HOUR},
    {"min_interval": TICK},
    {"max_interval": TICK},
    {"min_interval": HOUR, "max_interval": HOUR},
    {"min_interval": HOUR - TICK, "max_interval": HOUR},
    {"quiet": (QuietDay(Weekday.SAT), QuietHours(time(22), time(7)))},
    {"backoff": Ladder()},
]


@pytest.mark.parametrize("fields", ACCEPTED)
def test_timing_is_accepted_when_it_can_work(fields: dict[str, object]) -> None:
    assert check_timing(Timing(**({"schedule": EVERY_5M} | fields))) == ()


def test_timing_passes_warnings_on_when_its_cron_is_surprising() -> None:
    assert check_timing(Timing(schedule=Cron("0 0 1 * 1"))) == (
        'day of month "1" or day of week "1": a day that matches either one counts',
    )


QUIET_EXAMPLE = '"22:00-07:00", "sat", "2026-12-24..2026-12-26"'
REFUSED = [
    ({"schedule": Every(timedelta())}, "every", "0:00:00", "more than zero, at most 36525d", "5m"),
    (
        {"schedule": Weekly((), NINE)},
        "weekly.on",
        "",
        "at least one day from mon to sun",
        "mon,thu",
    ),
    (
        {"schedule": After("build", delay=-SECOND)},
        "after.delay",
        "-1 day, 23:59:59",
        "a duration from zero to 36525d",
        "5m",
    ),
    (
        {"zone": "Europe/Berlim"},
        "timezone",
        "Europe/Berlim",
        "an IANA zone name, such as Europe/Berlin",
        "Europe/Berlin",
    ),
    (
        {"quiet": tuple(QuietDay(day) for day in Weekday)},
        "quiet",
        "mon, tue, wed, thu, fri, sat, sun",
        "some time of the week left over",
        QUIET_EXAMPLE,
    ),
    (
        {"backoff": Ladder(())},
        "backoff",
        "",
        "at least one step, each more than zero",
        "[30s, 1m, 5m, 15m, 60m]",
    ),
    ({"max_runs": 0}, "max_runs", "0", "a number from 1", "10"),
    (
        {"begins_at": NOW, "until": NOW - MINUTE},
        "until",
        "2026-03-02T09:59:00+00:00",
        "a time after from (2026-03-02T10:00:00+00:00)",
        "2026-12-31T23:59",
    ),
    ({"jitter": -0.1}, "jitter", "-0.1", "per cent of the interval, 0-10", "5"),
    ({"jitter": 10.1}, "jitter", "10.1", "per cent of the interval, 0-10", "5"),
    ({"jitter": float("nan")}, "jitter", "nan", "per cent of the interval, 0-10", "5"),
    ({"stagger": -SECOND}, "stagger", "-1 day, 23:59:59", "a duration from zero to 36525d", "2m"),
    ({"min_interval": timedelta()}, "min_interval", "0:00:00", "more than zero, at most 36525d", "5m"),
    ({"max_interval": timedelta()}, "max_interval", "0:00:00", "more than zero, at most 36525d", "5m"),
    ({"max_interval": -SECOND}, "max_interval", "-1 day, 23:59:59", "more than zero, at most 36525d", "5m"),
    (
        {"min_interval": HOUR + SECOND, "max_interval": HOUR},
        "min_interval",
        "1:00:01",
        "at most max_interval (1:00:00)",
        "min_interval: 1m, max_interval: 1h",
    ),
]


@pytest.mark.parametrize(("fields", "field", "value", "expected", "example"), REFUSED)
def test_timing_is_refused_when_it_could_never_work(
    fields: dict[str, object], field: str, value: str, expected: str, example: str
) -> None:
    """A min above the max is refused when saved."""
    with pytest.raises(ScheduleError) as caught:
        check_timing(Timing(**({"schedule": EVERY_5M} | fields)))
    error = caught.value
    assert (error.field, error.value, error.expected, error.example) == (field, value, expected, example)
    assert str(error) == f'Invalid {field} "{value}": expected {expected}. Example: {example}'


def test_timing_is_refused_when_its_cron_never_comes() -> None:
    with pytest.raises(CronParseError) as caught:
        check_timing(Timing(schedule=Cron("0 0 31 2 *")))
    assert caught.value.field == "day of month"


def test_timing_is_refused_when_its_pattern_cannot_be_read() -> None:
    with pytest.raises(ScheduleError) as caught:
        check_timing(Timing(schedule=After("build", when="/(/")))
    assert (caught.value.field, caught.value.value) == ("after.when", "/(/")


AT_NOON = today("12:00")
PAUSES = [
    (None, (), None),
    (NOW, (), None),
    (NOW + TICK, (), NOW + TICK),
    (FOREVER, (), FOREVER),
    (None, (pause_hint(AT_NOON),), AT_NOON),
    (None, (pause_hint(AT_NOON, NOW),), None),
    (None, (pause_hint(NOW),), None),
    (today("11:00"), (pause_hint(AT_NOON),), AT_NOON),
    (AT_NOON, (pause_hint(today("11:00")),), AT_NOON),
    (today("09:00"), (pause_hint(AT_NOON),), AT_NOON),
    (None, (interval_hint(HOUR), oneshot_hint(AT_NOON)), None),
]


@pytest.mark.parametrize(("paused_until", "hints", "end"), PAUSES)
def test_pause_ends_at_the_later_time_when_several_hold(
    paused_until: datetime | None, hints: tuple[AnyHint, ...], end: datetime | None
) -> None:
    assert pause_end(NOW, job_state(paused_until=paused_until, hints=hints)) == end


def test_pause_hint_holds_only_when_the_schedule_takes_hints() -> None:
    """Hints and clamps apply to every, cron and calendar."""
    for schedule in (Once(AT_NOON), Manual(), Webhook(), Chat(), After("build")):
        assert pause_end(NOW, job_state(schedule, hints=(pause_hint(AT_NOON),))) is None
        assert pause_end(NOW, job_state(schedule, paused_until=AT_NOON)) == AT_NOON


STATUSES = [
    (EVERY_5M, {}, "idle"),
    (EVERY_5M, {"planned": planned(AT_NOON)}, "idle"),
    (EVERY_5M, {"planned": planned(None, Source.AFTER_RUN)}, "idle"),
    (EVERY_5M, {"is_running": True}, "running"),
    (EVERY_5M, {"is_running": True, "planned": planned(None, Source.NONE)}, "running"),
    (EVERY_5M, {"paused_until": AT_NOON, "is_running": True}, "paused"),
    (EVERY_5M, {"paused_until": NOW}, "idle"),
    (EVERY_5M, {"hints": (pause_hint(AT_NOON),)}, "paused"),
    (EVERY_5M, {"is_enabled": False, "paused_until": AT_NOON, "is_running": True}, "disabled"),
    (EVERY_5M, {"is_proposed": True}, "proposed"),
    (EVERY_5M, {"is_proposed": True, "is_enabled": False}, "proposed"),
    (EVERY_5M, {"planned": planned(None, Source.NONE)}, "ended"),
    (HALF_PAST, {"planned": planned(None, Source.NONE)}, "ended"),
    (Daily(NINE), {"planned": planned(None, Source.NONE)}, "ended"),
    (Once(NOW), {"planned": planned(None, Source.NONE)}, "ended"),
    (Manual(), {"planned": planned(None, Source.NONE)}, "idle"),
    (Manual(), {"hints": (pause_hint(AT_NOON),)}, "idle"),
    (Webhook(), {"planned": planned(None, Source.NONE)}, "idle"),
]


@pytest.mark.parametrize(("schedule", "fields", "status"), STATUSES)
def test_status_is_one_word_when_asked_where_a_job_stands(
    schedule: Schedule, fields: dict[str, object], status: str
) -> None:
    """status (idle running disabled paused proposed ended)."""
    assert job_status(NOW, job_state(schedule, **fields)) is JobStatus(status)


def test_statuses_are_the_documented_ones_when_listed() -> None:
    assert [status.value for status in JobStatus] == ["idle", "running", "disabled", "paused", "proposed", "ended"]


def test_timing_has_no_limits_when_nothing_is_said() -> None:
    assert msgspec.json.encode(Timing(schedule=Manual())) == b'{"schedule":{"type":"manual"}}'
    timing = Timing(schedule=Manual())
    assert (timing.zone, timing.quiet_policy, timing.backoff) == ("UTC", QuietPolicy.SKIP, NoBackoff())
    assert (timing.stagger, timing.jitter, timing.min_interval, timing.max_interval) == (timedelta(), 0, None, None)
    assert (timing.begins_at, timing.until, timing.max_runs, timing.quiet) == (None, None, None, ())


def test_state_is_new_when_nothing_is_said() -> None:
    state = job_state()
    assert (state.is_enabled, state.is_proposed, state.is_running) == (True, False, False)
    assert (state.failure_count, state.lost_count, state.started_count) == (0, 0, 0)
    assert (state.planned, state.fired_until, state.last_completed_at, state.paused_until) == (None,) * 4
    assert state.hints == ()


def test_begin_is_called_from_when_a_timing_is_stored() -> None:
    timing = Timing(schedule=Manual(), begins_at=NOW)
    assert msgspec.json.encode(timing) == b'{"schedule":{"type":"manual"},"from":"2026-03-02T10:00:00Z"}'


SCHEDULES: list[Schedule] = [
    Once(NOW),
    Once(NOW.replace(tzinfo=None), keep=False),
    Every(90 * SECOND, First.AFTER),
    Cron("*/5 * * * *"),
    Daily(NINE),
    Weekly((Weekday.MON, Weekday.SUN), NINE),
    Monthly(MonthDay(LAST), NINE),
    Monthly(NthWeekday(2, Weekday.FRI), time(9, 30, 15)),
    Manual(),
    Webhook(),
    Chat(),
    After("build", ChainOn.DONE, "ok", MINUTE, ChainPass.OUTPUT),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_hints_are_taken_when_the_schedule_is_a_clock(schedule: Schedule) -> None:
    """Hints and clamps apply to every, cron and calendar."""
    assert takes_hints(Timing(schedule=schedule)) is isinstance(schedule, Every | Cron | Daily | Weekly | Monthly)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("backoff", [NoBackoff(), Multiply(), Ladder(), Ladder((MINUTE, HOUR))])
def test_state_survives_json_when_it_is_stored(schedule: Schedule, backoff: Backoff) -> None:
    state = job_state(
        schedule,
        zone="Asia/Tokyo",
        begins_at=NOW,
        until=AT_NOON + TICK,
        max_runs=3,
        quiet=(
            QuietHours(time(22), time(7)),
            QuietDay(Weekday.SAT),
            QuietDates(date(2026, 12, 24), date(2026, 12, 26)),
        ),
        quiet_policy=QuietPolicy.DEFER,
        stagger=2 * MINUTE,
        jitter=2.5,
        min_interval=TICK,
        max_interval=HOUR,
        backoff=backoff,
        is_enabled=False,
        is_running=True,
        fired_until=NOW,
        last_completed_at=NOW,
        failure_count=2,
        started_count=1,
        hints=(interval_hint(MINUTE, author="a", reason="b"), oneshot_hint(NOW), pause_hint(NOW)),
        paused_until=FOREVER,
    )
    state = msgspec.structs.replace(state, planned=decide(NOW, state))
    assert msgspec.json.decode(msgspec.json.encode(state), type=JobState) == state
    assert msgspec.json.decode(msgspec.json.encode(state.timing), type=Timing) == state.timing
    assert isinstance(state.planned, Decision)
