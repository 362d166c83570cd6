"""Runs: the table of states, priorities, the order of the queue, and what runs use (SPEC section 5)."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from rota.core.run import (
    ENDED,
    FAILURES,
    LIVE,
    TRANSITIONS,
    Cause,
    Priority,
    Run,
    RunState,
    may_become,
    moves_schedule,
    priority,
    queue_order,
    transition,
)
from rota.core.usage import Usage
from rota.errors import RunStateError
from tests.core.states import NOW, today

ALLOWED = {
    None: "held queued running skipped missed",
    "held": "queued cancelled",
    "queued": "running cancelled missed skipped permanent_failure",
    "running": "queued succeeded failed permanent_failure timed_out cancelled lost skipped",
}
STATES = [
    "held",
    "queued",
    "running",
    "succeeded",
    "failed",
    "permanent_failure",
    "timed_out",
    "cancelled",
    "lost",
    "skipped",
    "missed",
]


def test_states_are_the_documented_ones_when_listed() -> None:
    assert [state.value for state in RunState] == STATES


@pytest.mark.parametrize("current", [None, *STATES])
@pytest.mark.parametrize("target", STATES)
def test_run_moves_exactly_as_the_table_says_when_asked(current: str | None, target: str) -> None:
    """The table is in the core; anything else is refused."""
    before = None if current is None else RunState(current)
    allowed = ALLOWED.get(current, "").split()
    assert may_become(before, RunState(target)) is (target in allowed)
    if target in allowed:
        assert transition(before, RunState(target)) is RunState(target)
        return
    with pytest.raises(RunStateError) as caught:
        transition(before, RunState(target))
    error = caught.value
    assert (error.current, error.target, error.allowed) == (current, target, tuple(sorted(allowed)))
    possible = ", ".join(sorted(allowed)) or "nothing, it has ended"
    assert str(error) == (
        f"A run cannot go from {current or 'nothing'} to {target}; from there it may become: {possible}"
    )


def test_refusal_is_a_whole_sentence_when_read() -> None:
    with pytest.raises(RunStateError) as caught:
        transition(RunState.HELD, RunState.RUNNING)
    assert str(caught.value) == "A run cannot go from held to running; from there it may become: cancelled, queued"


def test_states_are_live_or_ended_when_sorted() -> None:
    assert {"held", "queued", "running"} == LIVE
    assert set(STATES[3:]) == ENDED
    assert {state for state in RunState if not TRANSITIONS.get(state)} == ENDED


def test_lost_and_timed_out_are_failures_when_counted() -> None:
    """Count lost and timed_out as failures; skipped, missed and cancelled leave failure counts alone."""
    assert {"failed", "permanent_failure", "timed_out", "lost"} == FAILURES


PRIORITIES = [
    ("manual", 0),
    ("chat", 0),
    ("schedule", 1),
    ("webhook", 1),
    ("chain", 1),
    ("wake", 1),
    ("catch_up", 1),
    ("retry", 2),
    ("backfill", 2),
]


@pytest.mark.parametrize(("cause", "number"), PRIORITIES)
def test_priority_follows_from_the_cause_when_queued(cause: str, number: int) -> None:
    """Priority 0 manual and chat, 1 scheduled, webhook, chained, woken, catch-up, 2 corrective, retry, backfill."""
    assert priority(Cause(cause)) is Priority(number)
    assert len(PRIORITIES) == len(Cause)


def test_priorities_sort_by_number_when_compared() -> None:
    assert Priority.MANUAL < Priority.SCHEDULED < Priority.CORRECTIVE


@pytest.mark.parametrize("cause", list(Cause))
def test_schedule_counts_from_scheduled_runs_only_when_they_end(cause: Cause) -> None:
    """A manual run never moves the schedule."""
    assert moves_schedule(cause) is (cause in {"schedule", "catch_up"})


def queued(
    run_id: str, cause: Cause = Cause.SCHEDULE, due_at: datetime | None = None, requested_at: datetime = NOW
) -> Run:
    return Run(
        id=run_id,
        job="report",
        cause=cause,
        origin=cause,
        state=RunState.QUEUED,
        due_at=due_at,
        requested_at=requested_at,
    )


def test_queue_order_is_priority_then_time_then_id_when_sorted() -> None:
    """Within each by due time (else request time), then id."""
    runs = [
        queued("z", Cause.MANUAL, None, today("11:00")),
        queued("c", Cause.CHAT, today("11:30"), today("09:00")),
        queued("y", Cause.SCHEDULE, today("08:00"), today("12:00")),
        queued("a", Cause.WEBHOOK, None, today("08:30")),
        queued("b", Cause.CHAIN, None, today("08:30")),
        queued("x", Cause.SCHEDULE, today("09:00"), today("07:00")),
        queued("0", Cause.RETRY, today("01:00"), today("01:00")),
        queued("1", Cause.BACKFILL, today("02:00"), today("01:00")),
    ]
    backwards = [runs[7 - place] for place in range(8)]
    assert [run.id for run in sorted(backwards, key=queue_order)] == ["z", "c", "y", "a", "b", "x", "0", "1"]
    assert queue_order(runs[1]) == (Priority.MANUAL, today("11:30"), "c")
    assert queue_order(runs[0]) == (Priority.MANUAL, today("11:00"), "z")


def test_run_is_a_first_attempt_without_parents_when_nothing_is_said() -> None:
    run = queued("a")
    assert (run.attempt, run.depth, run.usage) == (1, 0, Usage())
    assert (run.due_at, run.start_after, run.started_at) == (None, None, None)


def test_run_survives_json_when_it_is_stored() -> None:
    usage = Usage(1, 2, 3, Decimal("0.25"))
    run = msgspec.structs.replace(queued("a", due_at=NOW), attempt=2, depth=3, started_at=NOW, usage=usage)
    assert msgspec.json.decode(msgspec.json.encode(run), type=Run) == run


def test_usage_is_nothing_when_nothing_was_used() -> None:
    assert Usage() == Usage(0, 0, 0, Decimal(0))
    assert Usage().tokens == 0


def test_usage_adds_up_when_runs_are_summed() -> None:
    total = Usage(1, 20, 300, Decimal("0.10")) + Usage(4000, 50000, 600000, Decimal("0.20"))
    assert total == Usage(4001, 50020, 600300, Decimal("0.30"))
    assert total.tokens == 654321
    assert sum([Usage(1, 2, 4, Decimal("0.1"))] * 3, Usage()) == Usage(3, 6, 12, Decimal("0.3"))
