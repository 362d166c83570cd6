"""Firing: what one pass makes of a job whose time has come (SPEC section 4), and the shortcut of its usual case."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core import catchup
from rota.core.admission import Reason
from rota.core.budget import BudgetLine, BudgetVerdict
from rota.core.catchup import Accounting, CatchUp, DueTime, LateRules, MissReason, account
from rota.core.decision import Decision, Moment, Rule, Source, Step
from rota.core.firing import Firing, NewRun, Passed, fire, was_held_up
from rota.core.governor import decide
from rota.core.hint import AnyHint
from rota.core.job import JobState
from rota.core.overlap import LiveRuns, Overlap, OverlapRules, Start
from rota.core.quiet import QuietHours, QuietPolicy
from rota.core.run import Cause, RunState
from rota.core.schedule import Cron, Wall, stagger_offset
from tests.core.brute import cron_times
from tests.core.states import HALF_PAST, HOUR, MINUTE, NOW, answer, asked, job_state, oneshot_hint, planned, today
from tests.core.test_governor_properties import instants, moments, states, timings, wall_schedules

TICK = timedelta(microseconds=1)
CRON = Source.BASELINE_CRON
BUSY = LiveRuns(running=1)
SPENT = BudgetVerdict(over=(BudgetLine("agent coder", "day", Decimal("20.50"), Decimal(20)),))
EARLIER = (Step(Rule.ASKED, today("09:00"), because="earlier"),)
ALL = LateRules(catch_up=CatchUp.ALL)
PATIENT = LateRules(start_within=5 * HOUR)


def due_since(clock: str, schedule: Wall = HALF_PAST, **fields: object) -> JobState:
    """A cron job whose next run was planned for a time of this day, and then nothing ran."""
    return job_state(schedule, planned=planned(today(clock), CRON), **fields)


def fired(state: JobState, now: datetime = NOW, **arguments: object) -> Firing:
    """One pass by the default rules, beside no live run."""
    standard: dict[str, object] = {"late": LateRules(), "overlap": OverlapRules(), "live": LiveRuns()}
    return fire(now, state, **(standard | arguments))


def at(clock: str) -> DueTime:
    return DueTime(today(clock), CRON, EARLIER, today(clock))


def begun(firing: Firing) -> list[tuple[str, str, str]]:
    return [(f"{run.due.due_at:%H:%M}", run.cause.value, run.start.value) for run in firing.runs]


def rows(firing: Firing) -> list[tuple[str, str, int, str, str]]:
    return [
        (f"{row.first_at:%H:%M}", f"{row.last_at:%H:%M}", row.count, row.state.value, str(row.reason))
        for row in firing.passed
    ]


@pytest.mark.parametrize("late_by", [timedelta(), 5 * MINUTE])
def test_one_run_begins_when_its_time_has_come(late_by: timedelta) -> None:
    """SPEC 4: "an occurrence up to `start_within` (default 5m) late still fires"; "cron … move at the fire"."""
    now, state = today("09:30") + late_by, due_since("09:30", started_count=4)
    firing = fired(state, now)
    assert firing.runs == (NewRun(Cause.SCHEDULE, at("09:30"), Start.NOW, supersedes_retry=False),)
    assert (firing.passed, answer(firing.decision)) == ((), (today("10:30"), CRON))
    assert firing.decision.trail[0] == asked(Moment.FIRED, now)
    assert firing.state == msgspec.structs.replace(
        state, planned=firing.decision, fired_until=today("09:30"), started_count=5, is_running=True
    )


def test_an_interval_has_no_next_time_when_its_run_begins() -> None:
    """SPEC 3: "a running interval job has no `next_run_at`"; SPEC 4: "Intervals are never late"."""
    firing = fired(job_state(planned=planned(today("05:00"))))
    assert firing.runs == (
        NewRun(Cause.SCHEDULE, DueTime(today("05:00"), Source.BASELINE_INTERVAL, EARLIER), Start.NOW),
    )
    assert answer(firing.decision) == (None, Source.AFTER_RUN)
    assert (firing.state.is_running, firing.state.fired_until) == (True, today("05:00"))


@pytest.mark.parametrize("is_running", [False, True])
@pytest.mark.parametrize(
    ("reason", "fields", "arguments", "next_run"),
    [
        (Reason.PAUSED, {"paused_until": today("12:00")}, {}, (today("12:00"), Source.PAUSED)),
        (Reason.QUIET, {"quiet": (QuietHours(time(9), time(10)),)}, {}, (today("10:30"), CRON)),
        (Reason.EXPIRED, {"until": today("09:29")}, {}, (None, Source.NONE)),
        (Reason.EXPIRED, {"max_runs": 2, "started_count": 2}, {}, (None, Source.NONE)),
        (Reason.ALREADY_RUNNING, {}, {"live": BUSY}, (today("10:30"), CRON)),
        (Reason.OVER_BUDGET, {}, {"budget": SPENT}, (today("10:30"), CRON)),
    ],
)
def test_a_due_time_is_recorded_with_the_reason_when_no_run_may_begin(
    reason: Reason,
    fields: dict[str, object],
    arguments: dict[str, object],
    next_run: tuple[datetime | None, Source],
    is_running: bool,
) -> None:
    """SPEC 4: "Every due time of an enabled job ends in a run, or as `skipped` with a reason, or as `missed`"."""
    state = due_since("09:30", is_running=is_running, **fields)
    firing = fired(state, today("09:30"), **arguments)
    assert firing.runs == ()
    assert firing.passed == (Passed(today("09:30"), today("09:30"), 1, RunState.SKIPPED, reason, CRON, EARLIER),)
    assert answer(firing.decision) == next_run
    assert firing.decision.trail[0] == asked(Moment.SKIPPED, today("09:30"))
    assert firing.state == msgspec.structs.replace(state, planned=firing.decision, fired_until=today("09:30"))


def test_equal_skips_are_one_row_when_they_follow_each_other() -> None:
    """SPEC 4: "equal consecutive skips or misses fold into one row with first, last and count"."""
    firing = fired(due_since("05:30"), late=PATIENT, live=BUSY)
    # The row keeps the source and trail of its first due time.
    assert firing.passed == (
        Passed(today("05:30"), today("09:30"), 5, RunState.SKIPPED, Reason.ALREADY_RUNNING, CRON, EARLIER),
    )


def test_each_fate_has_a_row_of_its_own_when_neighbours_differ() -> None:
    # 90 minutes reach back to 08:30; a miss has no trail of its own.
    firing = fired(due_since("05:30"), late=LateRules(start_within=90 * MINUTE), live=BUSY)
    assert rows(firing) == [
        ("05:30", "07:30", 3, "missed", "late"),
        ("08:30", "09:30", 2, "skipped", "already_running"),
    ]
    assert firing.passed[0] == Passed(today("05:30"), today("07:30"), 3, RunState.MISSED, MissReason.LATE, None, ())
    assert firing.passed[1].trail[0] == asked(Moment.FIRED, today("07:30"))
    assert firing.decision.trail[0] == asked(Moment.SKIPPED)


def test_rows_stand_in_the_order_of_time_when_a_pause_followed_a_skip() -> None:
    # The job rests until 07:00, so that 05:30 and 06:30 are no due times.
    fields = {"quiet": (QuietHours(time(4), time(5)),), "paused_until": today("07:00")}
    firing = fired(due_since("04:30", **fields), late=ALL)
    assert begun(firing) == [("07:30", "catch_up", "now"), ("08:30", "catch_up", "wait"), ("09:30", "catch_up", "wait")]
    assert rows(firing) == [("04:30", "04:30", 1, "skipped", "quiet"), ("05:30", "06:30", 2, "skipped", "paused")]


@pytest.mark.parametrize(
    ("rules", "starts", "is_skipped"),
    [
        (OverlapRules(Overlap.SKIP), ["now", "wait", "wait"], True),
        (OverlapRules(Overlap.QUEUE, 2), ["now", "wait", "wait"], True),
        (OverlapRules(Overlap.QUEUE, 3), ["now", "wait", "wait", "wait"], False),
        (OverlapRules(Overlap.ALLOW), ["now", "now", "now", "now"], False),
        (OverlapRules(Overlap.REPLACE), ["now", "wait", "wait", "replace"], False),
    ],
)
def test_runs_are_caught_up_oldest_first_and_then_on_time_when_an_outage_ends(
    rules: OverlapRules, starts: list[str], is_skipped: bool
) -> None:
    """SPEC 4: "oldest first"; "catch-up and backfill runs are never skipped by it; they wait"."""
    firing = fired(due_since("07:30"), today("10:31"), late=ALL, overlap=rules)
    clocks = [("07:30", "catch_up"), ("08:30", "catch_up"), ("09:30", "catch_up"), ("10:30", "schedule")]
    assert begun(firing) == [(*one, start) for one, start in zip(clocks, starts, strict=False)]
    assert rows(firing) == ([("10:30", "10:30", 1, "skipped", "already_running")] if is_skipped else [])
    assert firing.state.started_count == len(starts)
    assert firing.state.fired_until == today("10:30")


@pytest.mark.parametrize(
    ("policy", "live", "starts", "skipped"),
    [
        (Overlap.SKIP, LiveRuns(), ["now"], 3),
        (Overlap.QUEUE, BUSY, ["wait", "wait"], 2),
        (Overlap.QUEUE, LiveRuns(1, 1), ["wait"], 3),
        (Overlap.REPLACE, BUSY, ["replace"] * 4, 0),
    ],
)
def test_runs_of_the_same_pass_count_as_live_when_several_times_are_due(
    policy: Overlap, live: LiveRuns, starts: list[str], skipped: int
) -> None:
    """SPEC 4: "Held, queued and running runs of the job all count"."""
    firing = fired(due_since("06:30"), late=PATIENT, overlap=OverlapRules(policy, 2), live=live)
    assert [start for _, _, start in begun(firing)] == starts
    assert sum(row.count for row in firing.passed) == skipped


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (PATIENT, [("09:30", "schedule", "now", True), ("10:30", "schedule", "wait", False)]),
        (ALL, [("09:30", "catch_up", "wait", False), ("10:30", "schedule", "wait", True)]),
    ],
)
def test_a_waiting_retry_is_superseded_once_when_scheduled_runs_begin(late: LateRules, expected: list[object]) -> None:
    """SPEC 6: "a newer scheduled run supersedes a waiting retry"; one that is caught up waits behind it."""
    queue, live = OverlapRules(Overlap.QUEUE, 2), LiveRuns(waiting_retries=1)
    firing = fired(due_since("09:30"), today("10:30"), late=late, overlap=queue, live=live)
    assert [(*one, run.supersedes_retry) for one, run in zip(begun(firing), firing.runs, strict=True)] == expected


def test_the_rest_is_expired_when_max_runs_is_reached_in_the_middle() -> None:
    """SPEC 2: "`max_runs` (started scheduled occurrences)"."""
    firing = fired(due_since("05:30", max_runs=3, started_count=1), late=ALL)
    assert begun(firing) == [("05:30", "catch_up", "now"), ("06:30", "catch_up", "wait")]
    assert rows(firing) == [("07:30", "09:30", 3, "skipped", "expired")]
    assert (firing.state.started_count, *answer(firing.decision)) == (3, None, Source.NONE)


def test_the_plan_waits_for_the_next_pass_when_one_pass_cannot_take_all() -> None:
    # Every minute of two days and the last one: 2881 due times, of which a pass takes 1000 outside the window of a day.
    state, later = due_since("00:00", Cron("* * * * *")), today("00:00") + 48 * HOUR
    first = fired(state, later)
    assert first.runs == ()
    assert first.passed == (Passed(today("00:00"), today("16:39"), 1_000, RunState.MISSED, MissReason.LATE),)
    left = first.decision
    assert (*answer(left), left.match_at) == (today("16:40"), CRON, today("16:40"))
    assert left.trail[0] == asked(Moment.FIRED, today("16:39"))
    assert first.state == msgspec.structs.replace(state, planned=left, fired_until=today("16:39"))
    second = fired(first.state, later)
    assert begun(second) == [("23:55", "schedule", "now")]
    assert rows(second) == [
        ("16:40", "23:54", 1_875, "missed", "late"),
        ("23:56", "00:00", 5, "skipped", "already_running"),
    ]
    assert (second.state.fired_until, second.decision.next_run_at) == (later, later + MINUTE)


CONSUMED = oneshot_hint(today("09:30"))
EXPIRED = oneshot_hint(today("22:00"), expires_at=today("09:30"))
LATER = oneshot_hint(today("22:00"))


@pytest.mark.parametrize(
    ("live", "source", "left"),
    [
        (LiveRuns(), Source.AI_ONESHOT, (LATER,)),
        (BUSY, Source.AI_ONESHOT, (LATER,)),
        (LiveRuns(), CRON, (LATER,)),
        (BUSY, CRON, (CONSUMED, EXPIRED, LATER)),
    ],
)
def test_hints_are_consumed_when_a_run_began_or_their_own_time_was_skipped(
    live: LiveRuns, source: Source, left: tuple[AnyHint, ...]
) -> None:
    """SPEC 8: "A one-shot hint is consumed by the first fire or settlement at or after its time"."""
    hints, plan = (CONSUMED, EXPIRED, LATER), planned(today("09:30"), source)
    state = job_state(HALF_PAST, planned=plan, hints=hints, is_running=bool(live.running))
    firing = fired(state, today("09:30"), live=live)
    assert (len(firing.runs), firing.state.hints) == (1 - live.running, left)
    assert answer(firing.decision) == (today("10:30"), CRON)
    assert firing.decision.redecide_at == today("23:00")


SHARE = stagger_offset("report", HOUR)
DEFERRED = {"quiet": (QuietHours(time(8), time(10)),), "quiet_policy": QuietPolicy.DEFER}


@pytest.mark.parametrize(
    ("source", "fields", "due_at", "next_at"),
    [
        (CRON, {"stagger": HOUR}, today("09:30") + SHARE, today("10:30") + SHARE),
        (Source.QUIET, DEFERRED, NOW, today("10:30")),
    ],
)
def test_the_mark_is_the_appointment_when_stagger_or_quiet_hours_moved_the_due_time(
    source: Source, fields: dict[str, object], due_at: datetime, next_at: datetime
) -> None:
    """SPEC 2: stagger "moves a job by a fixed share"; SPEC 4: "A per-job high-water mark is the truth"."""
    assert due_at > today("09:30")
    plan = Decision(due_at, source, EARLIER, match_at=today("09:30"))
    firing = fired(job_state(HALF_PAST, planned=plan, **fields), due_at)
    assert firing.runs[0].due == DueTime(due_at, source, EARLIER, today("09:30"))
    assert (firing.state.fired_until, answer(firing.decision)) == (today("09:30"), (next_at, CRON))


def test_the_mark_never_falls_when_the_clock_went_back() -> None:
    firing = fired(due_since("09:30", fired_until=today("11:30")), today("09:30"))
    assert (firing.state.fired_until, firing.decision.next_run_at) == (today("11:30"), today("12:30"))


@pytest.mark.parametrize(
    "plan", [None, planned(NOW + TICK, CRON), planned(None, Source.NONE), planned(NOW, Source.PAUSED)]
)
@pytest.mark.parametrize("is_running", [False, True])
def test_the_job_is_only_replanned_when_nothing_was_due(plan: Decision | None, is_running: bool) -> None:
    """SPEC 3: "A pause that ends is a point of replanning, not a due time"."""
    hints = (oneshot_hint(today("22:00"), expires_at=today("09:45")),)
    state = job_state(HALF_PAST, planned=plan, fired_until=today("09:30"), hints=hints, is_running=is_running)
    firing = fired(state, live=BUSY, budget=SPENT)
    assert (firing.runs, firing.passed, answer(firing.decision)) == ((), (), (today("10:30"), CRON))
    assert firing.decision.trail[0] == asked(Moment.REPLANNED)
    assert firing.state == msgspec.structs.replace(state, planned=firing.decision)


def test_what_a_pause_swallowed_is_one_row_when_it_ends() -> None:
    """SPEC 3: "The times passed become one `skipped: paused` row with a count"."""
    state = job_state(HALF_PAST, planned=planned(NOW, Source.PAUSED), paused_until=NOW, fired_until=today("07:30"))
    firing = fired(state)
    assert (begun(firing), rows(firing)) == ([], [("08:30", "09:30", 2, "skipped", "paused")])
    assert (answer(firing.decision), firing.state.fired_until) == ((today("10:30"), CRON), today("09:30"))
    assert firing.decision.trail[0] == asked(Moment.SKIPPED)


@pytest.mark.parametrize(("share", "seconds"), [(0.0, 300), (0.5, 315), (1.0, 330)])
def test_jitter_takes_its_share_when_the_next_interval_is_decided(share: float, seconds: int) -> None:
    """SPEC 2: "`jitter: 5` adds a uniform 0-5% of the interval …; the share is an argument"."""
    wait = timedelta(seconds=seconds)
    skipped = fired(job_state(planned=planned(NOW), jitter=10.0), live=BUSY, share=share)
    assert skipped.decision.next_run_at == NOW + wait
    replanned = fired(job_state(last_completed_at=today("09:58"), jitter=10.0), share=share)
    assert replanned.decision.next_run_at == today("09:58") + wait


@pytest.mark.parametrize(
    ("cause", "late_by", "expected"),
    [
        (Cause.SCHEDULE, timedelta(), False),
        (Cause.SCHEDULE, timedelta(seconds=30), False),
        (Cause.SCHEDULE, timedelta(seconds=30) + TICK, True),
        (Cause.CATCH_UP, timedelta(seconds=1), True),
    ],
)
def test_a_run_was_held_up_when_it_is_caught_up_or_half_a_minute_late(
    cause: Cause, late_by: timedelta, expected: bool
) -> None:
    """SPEC 4: "After an outage a batch above `jitter_threshold` (3) is spread"."""
    assert was_held_up(today("09:30") + late_by, NewRun(cause, at("09:30"), Start.NOW)) is expected


minutes = st.integers(0, 600).map(lambda count: count * MINUTE)
late_rules = st.builds(LateRules, minutes, st.sampled_from(CatchUp), minutes, st.integers(0, 8))
overlaps = st.builds(OverlapRules, st.sampled_from(Overlap), st.integers(1, 4))
lives = st.builds(LiveRuns, st.integers(0, 2), st.integers(0, 2), st.integers(0, 1))
# The evening before the clocks of Berlin jump from two to three.
BEGIN = datetime(2026, 3, 28, 18, 7, tzinfo=UTC)
crons = st.sampled_from(["* * * * *", "*/7 * * * *", "5,50 * * * *", "30 */2 * * *", "30 2 * * *"])
zones = st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns"])
staggers = st.sampled_from([timedelta(), 2 * MINUTE, 90 * MINUTE])
lives_of_jobs = st.fixed_dictionaries({"zone": zones, "stagger": staggers, "max_runs": st.sampled_from([None, 1, 3])})


@settings(max_examples=max(150, settings().max_examples))
@given(crons, lives_of_jobs, st.integers(0, 2_000), late_rules, overlaps, lives)
def test_every_due_time_ends_exactly_once_when_any_rules_hold(
    text: str, timing: dict[str, object], length: int, late: LateRules, overlap: OverlapRules, live: LiveRuns
) -> None:
    """SPEC 4: "Every due time of an enabled job ends in a run, or as `skipped` …, or as `missed` with a reason"."""
    state = job_state(Cron(text), created_at=BEGIN, scheduled_at=BEGIN, **timing)
    now, offset = BEGIN + length * MINUTE, stagger_offset("report", state.timing.stagger)
    # Due in this time, found by looking at every minute; stagger also brings some from before.
    matches = cron_times(text, state.timing.zone, BEGIN - offset, now - offset)
    plan = decide(BEGIN, state, moment=Moment.CREATED)
    state = msgspec.structs.replace(state, planned=plan)
    ends: Counter[datetime] = Counter()
    while plan.next_run_at is not None and plan.next_run_at <= now:
        firing = fire(now, state, late=late, overlap=overlap, live=live)
        order = [(run.cause is Cause.SCHEDULE, run.due.due_at) for run in firing.runs]
        assert order == sorted(order)
        ends.update(run.due.due_at - offset for run in firing.runs)
        for row in firing.passed:
            inside = [match for match in matches if row.first_at <= match + offset <= row.last_at]
            assert (inside[0] + offset, inside[-1] + offset, len(inside)) == (row.first_at, row.last_at, row.count)
            ends.update(inside)
        assert firing.state.started_count == state.started_count + len(firing.runs)
        plan, state = firing.decision, firing.state
    assert ends == Counter(matches)
    assert state.fired_until == (matches[-1] if matches else None)
    assert state.is_running is (state.started_count > 0)


@st.composite
def planned_jobs(draw: st.DrawFn) -> tuple[datetime, JobState]:
    """A job that was planned, and perhaps edited since, and a time up to four hours after its planned one."""
    asked_at, state = draw(instants), msgspec.structs.replace(draw(states()), planned=None)
    # Half of them are the usual case at first: a wall schedule, no hint, no pause.
    timing = msgspec.structs.replace(draw(timings(is_plain=True)), schedule=draw(wall_schedules), max_interval=None)
    usual = msgspec.structs.replace(state, timing=timing, is_enabled=True, hints=(), paused_until=None)
    before = draw(st.sampled_from([usual, state]))
    plan = decide(asked_at, before, moment=draw(moments))
    edited = msgspec.structs.replace(state, timing=draw(timings()), hints=())
    after = draw(st.sampled_from([before, before, msgspec.structs.replace(state, timing=timing), edited]))
    now = (plan.next_run_at or asked_at) + draw(st.integers(-1, 240)) * MINUTE
    return now, msgspec.structs.replace(after, planned=plan)


@settings(max_examples=max(400, settings().max_examples))
@given(planned_jobs(), late_rules, st.sampled_from([1, 5, 1_000]))
def test_the_shortcut_tells_the_same_when_it_is_not_taken(
    job: tuple[datetime, JobState], late: LateRules, per_pass: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catchup, "_only_due_time", lambda *_: None)
        expected = account(*job, late, per_pass=per_pass)
    assert account(*job, late, per_pass=per_pass) == expected


@pytest.mark.parametrize("fields", [{}, {"stagger": HOUR}, {"paused_until": today("12:00")}, {"min_interval": MINUTE}])
def test_no_decision_is_needed_when_one_match_has_come(
    fields: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(catchup, "decide")
    expected = Accounting(on_time=(at("09:30"),), accounted_until=today("09:30"))
    assert account(today("09:35"), due_since("09:30", **fields), LateRules()) == expected


def test_the_shortcut_is_not_taken_when_a_clamp_brings_more_due_times() -> None:
    # The next match is at 10:30, but no run may be more than ten minutes after the one before.
    due = account(NOW, due_since("09:30", max_interval=10 * MINUTE), PATIENT).on_time
    assert [one.due_at for one in due] == [today(clock) for clock in ("09:30", "09:40", "09:50", "10:00")]
