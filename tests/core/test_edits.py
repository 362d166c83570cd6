"""SPEC 2: "Saving, editing, pausing or listing a job never loses or repeats an occurrence"."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.admission import Admit, Reason, Skip, admit
from rota.core.decision import Decision, Moment, Source
from rota.core.governor import decide
from rota.core.job import JobState, Timing, job_status
from rota.core.quiet import QuietPolicy, parse_quiet
from rota.core.run import Cause
from rota.core.schedule import Cron, Every, calculate_next_trigger, next_times, stagger_offset
from rota.core.zone import in_utc, resolve_zone
from rota.errors import ScheduleError
from tests.core.brute import utc
from tests.core.states import HALF_PAST, HOUR, MINUTE, NOW, TICK, interval_hint, job_state, oneshot_hint, today

# For "report", two minutes of stagger are 66 seconds.
STAGGERED = {"stagger": 2 * MINUTE}
OFFSET = timedelta(seconds=66)
AT = today("10:30")


def edited(state: JobState, **timing: object) -> JobState:
    return msgspec.structs.replace(state, timing=msgspec.structs.replace(state.timing, **timing))


def planned_at(now: datetime, state: JobState, moment: Moment = Moment.REPLANNED) -> JobState:
    return msgspec.structs.replace(state, planned=decide(now, state, moment=moment))


def test_an_occurrence_is_not_repeated_when_stagger_is_added_after_it_fired() -> None:
    state = planned_at(AT, job_state(HALF_PAST, fired_until=AT), Moment.FIRED)
    assert decide(AT + MINUTE / 6, edited(state, **STAGGERED)).next_run_at == AT + HOUR + OFFSET


def test_an_occurrence_is_not_lost_when_stagger_is_taken_away_before_it_fired() -> None:
    state = planned_at(NOW, job_state(HALF_PAST, **STAGGERED))
    assert state.planned == Decision(AT + OFFSET, Source.BASELINE_CRON, state.planned.trail, None, AT)
    plain = edited(state, stagger=timedelta())
    assert decide(NOW, plain).next_run_at == AT
    now = AT + MINUTE / 6
    due = decide(now, plain)
    assert (due.next_run_at, due.match_at) == (now, AT)
    fired = msgspec.structs.replace(plain, planned=due, fired_until=due.match_at)
    assert decide(now, fired, moment=Moment.FIRED).next_run_at == AT + HOUR


def test_a_lost_appointment_is_not_made_up_when_the_new_schedule_does_not_have_it() -> None:
    state = planned_at(NOW, job_state(HALF_PAST, **STAGGERED))
    assert decide(AT + MINUTE / 6, edited(state, stagger=timedelta(), schedule=Cron("0 12 * * *"))).next_run_at == (
        today("12:00")
    )


@settings(deadline=None, max_examples=200)
@given(
    st.integers(6, 59),
    st.lists(st.tuples(st.integers(0, 600), st.integers(0, 300)), min_size=1, max_size=12),
    st.sampled_from(["report", "alpha", "b", "nightly"]),
)
def test_every_appointment_is_fired_once_when_stagger_is_edited_again_and_again(
    step: int, edits: list[tuple[int, int]], name: str
) -> None:
    """Between two edits the engine fires whatever is due; then all matches up to the end were fired, each once."""
    state = planned_at(NOW, job_state(Cron(f"*/{step} * * * *"), name=name))
    now, fired = NOW, []
    for wait, stagger in edits:
        now += timedelta(seconds=wait)
        while (due := state.planned).next_run_at is not None and due.next_run_at <= now:
            fired.append(due.match_at)
            mark = msgspec.structs.replace(state, fired_until=due.match_at)
            state = planned_at(due.next_run_at, mark, Moment.FIRED)
        state = planned_at(now, edited(state, stagger=timedelta(seconds=stagger)))
    offset = stagger_offset(name, state.timing.stagger)
    minutes = (NOW + minute * MINUTE for minute in range(1, 200))
    matches = [at for at in minutes if at.minute % step == 0 and at + offset <= now]
    still_due = state.planned.match_at
    assert all(earlier < later for earlier, later in pairwise(fired))
    assert set(matches) <= {*fired, still_due}


def test_a_proposed_job_is_neither_planned_nor_run_when_nobody_has_accepted_it() -> None:
    """SPEC 11: new ones start as `proposed` until a person accepts."""
    state = job_state(HALF_PAST, is_proposed=True, hints=(interval_hint(MINUTE),), paused_until=today("12:00"))
    assert (decide(NOW, state).next_run_at, decide(NOW, state).source) == (None, Source.NONE)
    assert decide(NOW, state).trail[1].because == "the job is not accepted yet"
    for cause in (Cause.SCHEDULE, Cause.MANUAL, Cause.CHAIN):
        answer = admit(NOW, state, cause=cause, due_at=NOW)
        assert answer == Skip(Reason.DISABLED, "proposed: accept the job first")
    assert isinstance(admit(NOW, job_state(HALF_PAST), due_at=NOW), Admit)
    assert job_status(NOW, state) == "proposed"


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (datetime(2027, 3, 28, 1, 30, tzinfo=BERLIN), ["2027-03-28T01:30", "2027-03-28T02:30"]),
        (datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN), ["2026-10-25T01:30", "2026-10-25T02:30"]),
    ],
)
def test_intervals_follow_elapsed_time_when_the_clock_given_is_a_wall_clock(
    after: datetime, expected: list[str]
) -> None:
    """SPEC 2: "Intervals follow elapsed time"."""
    times = [utc(text) for text in expected]
    assert list(next_times("every 1h", after=after, count=2)) == times
    state = job_state(Every(HOUR), created_at=after, scheduled_at=after)
    assert decide(after, state, moment=Moment.SETTLED).next_run_at == times[0]
    assert calculate_next_trigger(after, "1h", now=after) == times[0]
    resumed = job_state(Every(HOUR), last_completed_at=after)
    assert resumed.last_completed_at.tzinfo is UTC
    assert decide(after, resumed).next_run_at == times[0]


@pytest.mark.parametrize("field", ["created_at", "scheduled_at", "fired_until", "last_completed_at", "paused_until"])
def test_an_instant_without_an_offset_is_refused_when_a_state_is_made(field: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        job_state(HALF_PAST, **{field: datetime(2026, 3, 2, 9, tzinfo=None)})
    error = caught.value
    assert (error.field, error.value, error.expected) == (field, "2026-03-02T09:00:00", "a time with an offset")
    assert error.example == "2026-12-01T09:00+00:00"
    with pytest.raises(ScheduleError, match="Invalid now"):
        decide(datetime(2026, 3, 2, 9, tzinfo=None), job_state(HALF_PAST))


def test_an_instant_is_the_same_when_brought_to_utc() -> None:
    assert in_utc(NOW, field="now") is NOW
    there = NOW.astimezone(BERLIN)
    assert (in_utc(there, field="now"), in_utc(there, field="now").tzinfo) == (NOW, UTC)


@pytest.mark.parametrize(
    ("own", "agent", "fleet", "expected"),
    [
        ("Asia/Tokyo", "Europe/Berlin", "Europe/Paris", "Asia/Tokyo"),
        (None, "Europe/Berlin", "Europe/Paris", "Europe/Berlin"),
        (None, None, "Europe/Paris", "Europe/Paris"),
        (None, None, None, "UTC"),
    ],
)
def test_the_zone_is_the_nearest_one_given_when_a_job_has_none(
    own: str | None, agent: str | None, fleet: str | None, expected: str
) -> None:
    """SPEC 2: "every job has an IANA zone (own, else agent's, else fleet's, else the machine's)"."""
    assert resolve_zone(own, agent, fleet, machine="UTC") == expected


def test_several_times_become_one_when_quiet_hours_defer_them() -> None:
    """SPEC 2: "moved to the end, several becoming one"."""
    quiet = {"quiet": (parse_quiet("10:00-13:00"),), "quiet_policy": QuietPolicy.DEFER}
    state = planned_at(NOW, job_state(HALF_PAST, **quiet))
    assert (state.planned.next_run_at, state.planned.source) == (today("13:00"), Source.QUIET)
    fired = msgspec.structs.replace(state, fired_until=state.planned.match_at)
    assert decide(today("13:00"), fired, moment=Moment.FIRED).next_run_at == today("13:30")


def test_a_due_time_is_recorded_as_expired_when_quiet_hours_move_it_past_the_end() -> None:
    """SPEC 4: "Every due time of an enabled job ends in a run, or as `skipped` with a reason"."""
    quiet = {"quiet": (parse_quiet("10:00-13:00"),), "quiet_policy": QuietPolicy.DEFER}
    state = planned_at(NOW, job_state(HALF_PAST, until=today("11:00"), **quiet))
    assert state.planned.next_run_at == today("13:00")
    answer = admit(today("13:00"), state, due_at=today("13:00"))
    assert answer == Skip(Reason.EXPIRED, "until 2026-03-02T11:00:00+00:00")


@pytest.mark.parametrize("order", [1, -1])
def test_the_earlier_one_shot_hint_counts_when_there_are_two(order: int) -> None:
    hints = (oneshot_hint(today("10:10")), oneshot_hint(today("10:20")))[::order]
    assert decide(NOW, job_state(HALF_PAST, hints=hints)).next_run_at == today("10:10")


def test_a_one_shot_hint_is_an_appointment_when_the_job_has_a_wall_schedule() -> None:
    hints = (oneshot_hint(today("10:10")),)
    assert decide(NOW, job_state(HALF_PAST, hints=hints)).match_at == today("10:10")
    assert decide(NOW, job_state(Every(HOUR), last_completed_at=NOW, hints=hints)).match_at is None


def test_a_pending_appointment_counts_only_once_when_the_mark_has_passed_it() -> None:
    plan = Decision(AT + OFFSET, Source.BASELINE_CRON, match_at=AT)
    state = job_state(HALF_PAST, planned=plan, fired_until=AT)
    assert decide(AT + TICK, state).next_run_at == AT + HOUR


def test_timing_stays_small_when_it_is_kept_as_json() -> None:
    assert msgspec.json.encode(Timing(schedule=Cron("0 9 * * *"))) == (
        b'{"schedule":{"type":"cron","expression":"0 9 * * *"}}'
    )
