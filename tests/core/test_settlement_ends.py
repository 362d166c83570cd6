"""Ends that no attempt of its own brings about: a retry that gives way, waiting too long, silence, dead evidence."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from rota.core.action import POOL_SIZES
from rota.core.backoff import Multiply, Retry
from rota.core.chain import ChainOn
from rota.core.decision import Source
from rota.core.liveness import Liveness, LivenessState, OnSilence
from rota.core.run import Cause, RunState
from rota.core.settlement import (
    NoticeKind,
    Outcome,
    SettleRules,
    check_settle,
    outcome_of_liveness,
    outcome_of_waiting,
)
from rota.errors import ScheduleError
from tests.core.settle_states import a_run, child, running, settled
from tests.core.states import HALF_PAST, HOUR, MINUTE, NOW, TICK, answer, today

RETRIED = Retry(max=2)


def test_the_failure_counts_when_a_newer_scheduled_run_supersedes_the_retry() -> None:
    """SPEC 6: "a newer scheduled run supersedes a waiting retry"; what follows a failure follows the last attempt."""
    job = running(HALF_PAST, planned=None, failure_count=2)
    settlement = settled(
        RunState.CANCELLED,
        job=job,
        reason="superseded",
        attempt=2,
        retry=RETRIED,
        pause_after=3,
        notify_after=3,
        children=[child("alarm", ChainOn.FAILURE), child("deploy", ChainOn.SUCCESS), child("log", ChainOn.DONE)],
    )
    assert (settlement.state, settlement.failure_count, settlement.retry) == (RunState.CANCELLED, 3, None)
    assert [one.job for one in settlement.children] == ["alarm", "log"]
    assert not settlement.cancels_descendants
    assert settlement.pause_note == "3 failures in a row"
    assert [notice.kind for notice in settlement.notices] == [NoticeKind.FAILURE, NoticeKind.PAUSED]


@pytest.mark.parametrize(
    ("origin", "reason", "count"),
    [(Cause.MANUAL, "superseded", 2), (Cause.SCHEDULE, "by hand", 2), (Cause.CHAIN, "superseded", 3)],
)
def test_the_failure_counts_only_when_it_was_superseded_and_not_asked_for_by_hand(
    origin: Cause, reason: str, count: int
) -> None:
    settlement = settled(RunState.CANCELLED, origin, running(failure_count=2), reason=reason, attempt=2)
    assert settlement.failure_count == count
    assert settlement.cancels_descendants is (reason == "by hand")


def test_backoff_climbs_when_a_retry_was_superseded() -> None:
    job = running(failure_count=0, last_completed_at=today("09:50"), backoff=Multiply())
    settlement = settled(RunState.CANCELLED, job=job, reason="superseded", attempt=2)
    assert settlement.decision is not None
    assert answer(settlement.decision) == (today("10:10"), Source.BASELINE_INTERVAL)


def test_a_retry_is_told_the_last_lines_when_there_was_output() -> None:
    """SPEC 6: "the prompt is extended with what failed (reason, exit code, last lines)"."""
    output = "".join(f"line {number}\n" for number in range(1, 31))
    settlement = settled(RunState.FAILED, retry=RETRIED, exit_code=2, reason="verify", output=output)
    assert settlement.retry is not None
    lines = settlement.retry.failure.splitlines()
    assert lines[:3] == ["failed; verify; exit code 2", "Last lines of its output:", "line 11"]
    assert (len(lines), lines[-1]) == (22, "line 30")


def test_a_retry_is_told_a_bounded_part_when_the_output_is_one_long_line() -> None:
    settlement = settled(RunState.FAILED, retry=RETRIED, output="x" * 100_000)
    assert settlement.retry is not None
    assert settlement.retry.failure == "failed\nLast lines of its output:\n" + "x" * 4_000


def test_a_retry_is_told_only_the_reason_when_there_was_no_output() -> None:
    settlement = settled(RunState.FAILED, retry=RETRIED, exit_code=3)
    assert settlement.retry is not None
    assert settlement.retry.failure == "failed; exit code 3"


EXPIRED = Outcome(state=RunState.CANCELLED, reason="approval_expired", error="nobody answered in 24h")
MISSED = Outcome(state=RunState.MISSED, reason="queue_timeout")


@pytest.mark.parametrize(
    ("state", "requested_at", "start_after", "queue_timeout", "outcome"),
    [
        (RunState.HELD, NOW - 24 * HOUR, None, None, EXPIRED),
        (RunState.HELD, NOW - 24 * HOUR + TICK, None, MINUTE, None),
        (RunState.QUEUED, NOW - 24 * HOUR, None, None, None),
        (RunState.QUEUED, NOW - 5 * MINUTE, None, 5 * MINUTE, MISSED),
        (RunState.QUEUED, NOW - 5 * MINUTE + TICK, None, 5 * MINUTE, None),
        (RunState.QUEUED, NOW - HOUR, NOW - 5 * MINUTE, 5 * MINUTE, MISSED),
        (RunState.QUEUED, NOW - HOUR, NOW, 5 * MINUTE, None),
        (RunState.RUNNING, NOW - 48 * HOUR, None, MINUTE, None),
    ],
)
def test_waiting_ends_when_it_has_lasted_too_long(
    state: RunState,
    requested_at: datetime,
    start_after: datetime | None,
    queue_timeout: timedelta | None,
    outcome: Outcome | None,
) -> None:
    """SPEC 4: "`missed: queue_timeout`", "after 24h `cancelled: approval_expired`"."""
    run = a_run(state=state, requested_at=requested_at, start_after=start_after)
    assert outcome_of_waiting(NOW, run, queue_timeout=queue_timeout) == outcome


@pytest.mark.parametrize(
    ("state", "on_silence", "outcome"),
    [
        (LivenessState.WORKING, OnSilence.FAIL, None),
        (LivenessState.QUIET, OnSilence.FAIL, None),
        (LivenessState.SILENT, OnSilence.FLAG, None),
        (LivenessState.SILENT, OnSilence.FAIL, Outcome(state=RunState.FAILED, reason="silent", error="why")),
        (LivenessState.DEAD, OnSilence.FLAG, Outcome(state=RunState.FAILED, reason="stale", error="why")),
        (LivenessState.DEAD, OnSilence.FAIL, Outcome(state=RunState.FAILED, reason="stale", error="why")),
    ],
)
def test_a_run_ends_when_its_evidence_is_dead_or_its_silence_may_not_last(
    state: LivenessState, on_silence: OnSilence, outcome: Outcome | None
) -> None:
    """SPEC 5: "`on_silence: flag|fail`. Dead evidence … ends the run as `failed: stale`"."""
    assert outcome_of_liveness(Liveness(state, NOW, "output", "why"), on_silence) == outcome


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        (SettleRules(pause_after=0), "pause_after"),
        (SettleRules(notify_after=0), "notify_after"),
        (SettleRules(retry=Retry(max=-1)), "retry.max"),
    ],
)
def test_rules_are_refused_when_they_count_from_zero(rules: SettleRules, field: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_settle(rules)
    assert caught.value.field == field
    check_settle(SettleRules(pause_after=1, notify_after=1))
    check_settle(SettleRules())


def test_pools_have_their_sizes_when_nothing_is_said() -> None:
    """SPEC 5: "pool `local` (child processes; default 1), `remote` (HTTP, chat; 10), `inline` (Python; 10)"."""
    assert POOL_SIZES == {"local": 1, "remote": 10, "inline": 10}
