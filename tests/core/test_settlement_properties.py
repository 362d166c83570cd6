"""Settling, for any run, outcome and job: what must hold whatever happened."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.backoff import Ladder, Multiply, NoBackoff, Retry
from rota.core.chain import ChainOn
from rota.core.decision import Source
from rota.core.job import JobState, pause_end
from rota.core.run import TRANSITIONS, Cause, Run, RunState
from rota.core.schedule import Cron, Every, Manual, Once
from rota.core.settlement import EndReason, Outcome, SettleRules, settle
from rota.errors import RunStateError
from tests.core.settle_states import AFTER_RUN, ENDS, FAILED, a_run, child
from tests.core.states import HOUR, MINUTE, NOW, interval_hint, job_state, oneshot_hint, pause_hint, planned, today

SEVERAL = settings(deadline=None, max_examples=150)
MINUTES = st.integers(1, 600).map(lambda minutes: minutes * MINUTE)
MOMENTS = st.integers(-600, 600).map(lambda minutes: NOW + minutes * MINUTE)
HINTS = st.lists(
    st.builds(interval_hint, MINUTES, MOMENTS)
    | st.builds(oneshot_hint, MOMENTS, MOMENTS)
    | st.builds(pause_hint, MOMENTS, MOMENTS),
    max_size=3,
).map(tuple)
RUNS = st.builds(
    a_run,
    st.sampled_from([cause for cause in Cause if cause is not Cause.RETRY]),
    state=st.sampled_from([RunState.HELD, RunState.QUEUED, RunState.RUNNING]),
    attempt=st.integers(1, 4),
    depth=st.integers(0, 11),
)
RUNNING = st.builds(
    a_run,
    st.sampled_from([cause for cause in Cause if cause is not Cause.RETRY]),
    attempt=st.integers(1, 4),
    depth=st.integers(0, 11),
)
OUTCOMES = st.builds(
    Outcome,
    state=st.sampled_from(ENDS),
    reason=st.sampled_from(["", "by hand", *EndReason]),
    error=st.text(max_size=5),
    exit_code=st.none() | st.integers(0, 255),
    http_status=st.none() | st.integers(100, 599),
    output=st.text(max_size=10),
)
RULES = st.builds(
    SettleRules,
    retry=st.builds(
        Retry,
        max=st.integers(0, 3),
        first=MINUTES,
        factor=st.floats(1, 10),
        cap=MINUTES,
        on_lost=st.integers(0, 2),
        on_interrupted=st.integers(0, 2),
    ),
    pause_after=st.none() | st.integers(1, 6),
    notify_after=st.integers(1, 6),
)
CHILDREN = st.lists(st.builds(child, st.text("abc", min_size=1), st.sampled_from(ChainOn)), max_size=30)
INTERVALS = MINUTES.map(Every)
SCHEDULES = INTERVALS | st.sampled_from(
    [Cron("30 * * * *"), Once(NOW), Once(today("12:00"), keep=False), Manual(), Every(HOUR)]
)


@st.composite
def jobs(draw: st.DrawFn, schedules: st.SearchStrategy[object] = SCHEDULES) -> JobState:
    is_running = draw(st.booleans())
    future = planned(NOW + draw(MINUTES))
    return job_state(
        draw(schedules),
        is_running=is_running,
        planned=AFTER_RUN if is_running else draw(st.sampled_from([future, planned(NOW - MINUTE)])),
        last_completed_at=draw(st.none() | st.just(today("09:00"))),
        failure_count=draw(st.integers(0, 40)),
        lost_count=draw(st.integers(0, 4)),
        hints=draw(HINTS),
        paused_until=draw(st.none() | MOMENTS),
        backoff=draw(st.sampled_from([NoBackoff(), Multiply(), Ladder()])),
        jitter=draw(st.floats(0, 10)),
        min_interval=draw(st.none() | st.just(10 * MINUTE)),
        max_interval=draw(st.none() | st.just(5 * HOUR)),
    )


@SEVERAL
@given(RUNNING, OUTCOMES, jobs(INTERVALS), RULES, st.floats(0, 1))
def test_an_interval_job_is_never_left_without_a_next_run_when_a_run_ends(
    run: Run, outcome: Outcome, job: JobState, rules: SettleRules, share: float
) -> None:
    """SPEC 3: it "gets one from *every* way a run can end"."""
    settlement = settle(NOW, run, outcome, state=job, rules=rules, share=share)
    if settlement.pause_note or pause_end(NOW, job) is not None:
        return
    decision = settlement.decision
    if run.origin not in (Cause.SCHEDULE, Cause.CATCH_UP):
        assert decision is None
        assert settlement.is_running is job.is_running
    elif settlement.retry is not None and job.is_running:
        assert decision is not None
        assert (decision.next_run_at, decision.source) == (None, Source.AFTER_RUN)
        assert settlement.is_running
    else:
        assert decision is not None
        assert decision.next_run_at is not None
        assert decision.next_run_at >= NOW or decision == job.planned


@SEVERAL
@given(RUNS, OUTCOMES, jobs(), RULES, CHILDREN)
def test_a_run_moves_only_along_the_table_when_it_settles(
    run: Run, outcome: Outcome, job: JobState, rules: SettleRules, children: list[object]
) -> None:
    """SPEC 5: "The table is in the core; anything else is refused", and no other error is raised."""
    try:
        settlement = settle(NOW, run, outcome, state=job, rules=rules, children=children)
    except RunStateError:
        assert outcome.state not in TRANSITIONS[run.state]
        return
    assert outcome.state in TRANSITIONS[run.state]
    assert settlement.state is outcome.state
    assert settlement == settle(NOW, run, outcome, state=job, rules=rules, children=children)


@SEVERAL
@given(RUNNING, OUTCOMES, jobs(), RULES)
def test_the_failure_count_changes_only_as_specified_when_a_run_ends(
    run: Run, outcome: Outcome, job: JobState, rules: SettleRules
) -> None:
    """SPEC 5 and 6: reset by a success, one more by the last failed attempt that no person asked for, else kept."""
    settlement = settle(NOW, run, outcome, state=job, rules=rules)
    is_superseded = outcome.state is RunState.CANCELLED and outcome.reason == EndReason.SUPERSEDED
    is_failure = outcome.state in FAILED or is_superseded
    is_counted = is_failure and settlement.retry is None and run.origin is not Cause.MANUAL
    if outcome.state is RunState.SUCCEEDED:
        assert (settlement.failure_count, settlement.lost_count) == (0, 0)
    else:
        assert settlement.failure_count == job.failure_count + (1 if is_counted else 0)
        assert settlement.lost_count >= job.lost_count or outcome.state is not RunState.LOST


@SEVERAL
@given(RUNNING, OUTCOMES, jobs(), RULES, CHILDREN)
def test_a_settlement_agrees_with_itself_when_a_run_ends(
    run: Run, outcome: Outcome, job: JobState, rules: SettleRules, children: list[object]
) -> None:
    settlement = settle(NOW, run, outcome, state=job, rules=rules, children=children)
    retry = settlement.retry
    assert len(settlement.children) <= 25
    assert retry is None or not (settlement.children or settlement.refused_children or settlement.pause_note)
    assert all(request.depth == run.depth + 1 <= 10 for request in settlement.children)
    assert all(hint in job.hints and hint.expires_at > NOW for hint in settlement.hints)
    assert settlement.events[0] == f"run.{outcome.state}"
    assert len(set(settlement.events)) == len(settlement.events)
    assert not settlement.removes_job or outcome.state is RunState.SUCCEEDED
    if retry is not None:
        longest = max(rules.retry.max, rules.retry.on_lost, rules.retry.on_interrupted)
        assert (retry.cause, retry.origin, retry.due_at) == (Cause.RETRY, run.origin, run.due_at)
        assert 2 <= retry.attempt == run.attempt + 1 <= longest + 1
        assert timedelta() <= retry.start_after - NOW <= rules.retry.cap
