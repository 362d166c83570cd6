"""Overlap: every policy, cause and number of live runs, as one table each."""

from __future__ import annotations

import pytest

from rota.core.overlap import LiveRuns, Overlap, OverlapRules, Start, start_beside, supersedes_retry
from rota.core.run import Cause

NONE = LiveRuns()
RUNNING = LiveRuns(running=1)
WAITING = LiveRuns(waiting=1)
BOTH = LiveRuns(running=1, waiting=1)
RETRY = LiveRuns(waiting_retries=1)
RUNNING_RETRY = LiveRuns(running=1, waiting_retries=1)

NEVER_SKIPPED = (Cause.MANUAL, Cause.CATCH_UP, Cause.BACKFILL, Cause.RETRY)
SKIPPABLE = (Cause.CHAIN, Cause.WEBHOOK, Cause.CHAT, Cause.WAKE)
LIVE = (NONE, RUNNING, WAITING, BOTH, RETRY, RUNNING_RETRY)

# One column for each of LIVE: nothing, running, waiting, both, a waiting retry, running and a waiting retry.
SCHEDULED = {
    Overlap.SKIP: (Start.NOW, None, None, None, Start.NOW, None),
    Overlap.QUEUE: (Start.NOW, Start.WAIT, None, None, Start.NOW, Start.WAIT),
    Overlap.ALLOW: (Start.NOW,) * 6,
    Overlap.REPLACE: (Start.NOW, Start.REPLACE, Start.REPLACE, Start.REPLACE, Start.NOW, Start.REPLACE),
}
FROM_OUTSIDE = {
    Overlap.SKIP: (Start.NOW, None, None, None, None, None),
    Overlap.QUEUE: (Start.NOW, Start.WAIT, None, None, None, None),
    Overlap.ALLOW: (Start.NOW,) * 6,
    Overlap.REPLACE: (Start.NOW, Start.REPLACE, Start.REPLACE, Start.REPLACE, Start.REPLACE, Start.REPLACE),
}
WAITS = (Start.NOW, Start.WAIT, Start.WAIT, Start.WAIT, Start.WAIT, Start.WAIT)


@pytest.mark.parametrize("column", range(6))
@pytest.mark.parametrize("policy", list(Overlap))
def test_a_scheduled_run_follows_the_policy_when_others_live(policy: Overlap, column: int) -> None:
    """SPEC 4, the policies of overlap; 6: "a newer scheduled run supersedes a waiting retry"."""
    assert start_beside(Cause.SCHEDULE, LIVE[column], OverlapRules(policy)) is SCHEDULED[policy][column]


@pytest.mark.parametrize("column", range(6))
@pytest.mark.parametrize("policy", list(Overlap))
@pytest.mark.parametrize("cause", SKIPPABLE)
def test_a_run_from_outside_follows_the_policy_when_others_live(cause: Cause, policy: Overlap, column: int) -> None:
    """SPEC 4: "Held, queued and running runs of the job all count", a retry that waits too."""
    assert start_beside(cause, LIVE[column], OverlapRules(policy)) is FROM_OUTSIDE[policy][column]


@pytest.mark.parametrize("column", range(6))
@pytest.mark.parametrize("policy", [Overlap.SKIP, Overlap.QUEUE, Overlap.REPLACE])
@pytest.mark.parametrize("cause", NEVER_SKIPPED)
def test_some_causes_wait_when_others_live(cause: Cause, policy: Overlap, column: int) -> None:
    """SPEC 4: "Manual, catch-up and backfill runs are never skipped by it; they wait"; a retry is already owed."""
    assert start_beside(cause, LIVE[column], OverlapRules(policy)) is WAITS[column]


@pytest.mark.parametrize("cause", NEVER_SKIPPED)
@pytest.mark.parametrize("live", LIVE)
def test_every_run_starts_now_when_overlap_is_allowed(cause: Cause, live: LiveRuns) -> None:
    assert start_beside(cause, live, OverlapRules(Overlap.ALLOW)) is Start.NOW


@pytest.mark.parametrize(
    ("max_waiting", "waiting", "expected"),
    [
        (0, 0, None),
        (1, 0, Start.WAIT),
        (1, 1, None),
        (3, 2, Start.WAIT),
        (3, 3, None),
        (3, 4, None),
    ],
)
def test_the_rest_is_skipped_when_max_waiting_wait(max_waiting: int, waiting: int, expected: Start | None) -> None:
    """SPEC 4: "`queue` (at most `max_waiting`, default 1, the rest skipped)"."""
    live = LiveRuns(running=1, waiting=waiting)
    assert start_beside(Cause.SCHEDULE, live, OverlapRules(Overlap.QUEUE, max_waiting)) is expected


@pytest.mark.parametrize(("retries", "expected"), [(0, Start.WAIT), (1, Start.WAIT), (2, None)])
def test_a_waiting_retry_takes_a_place_when_the_new_run_does_not_supersede_it(
    retries: int, expected: Start | None
) -> None:
    live = LiveRuns(running=1, waiting=1, waiting_retries=retries)
    assert start_beside(Cause.WEBHOOK, live, OverlapRules(Overlap.QUEUE, 3)) is expected


def test_the_defaults_are_skip_and_one_when_nothing_is_said() -> None:
    """SPEC 4: "`skip` (default)", "`max_waiting`, default 1"."""
    assert OverlapRules() == OverlapRules(Overlap.SKIP, 1)
    assert LiveRuns() == LiveRuns(0, 0, 0)


@pytest.mark.parametrize("cause", list(Cause))
@pytest.mark.parametrize(("retries", "is_waiting"), [(0, False), (1, True), (2, True)])
def test_only_a_scheduled_run_supersedes_when_a_retry_waits(cause: Cause, retries: int, is_waiting: bool) -> None:
    """SPEC 6: "a newer scheduled run supersedes a waiting retry"."""
    expected = is_waiting and cause is Cause.SCHEDULE
    assert supersedes_retry(cause, LiveRuns(running=1, waiting=1, waiting_retries=retries)) is expected
