"""Overlap: what a new run of a job does while another run of it is live."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from rota.core.run import Cause

_NEVER_SKIPPED = frozenset({Cause.MANUAL, Cause.CATCH_UP, Cause.BACKFILL, Cause.RETRY})


class Overlap(StrEnum):
    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"
    REPLACE = "replace"


class Start(StrEnum):
    """How an admitted run begins."""

    NOW = "now"
    WAIT = "wait"
    REPLACE = "replace"
    """End the live ones, and start once they are confirmed gone; of those that wait, only the newest stays."""


class OverlapRules(msgspec.Struct, frozen=True):
    policy: Overlap = Overlap.SKIP
    max_waiting: int = 1


class LiveRuns(msgspec.Struct, frozen=True):
    """The live runs of one job. A retry that waits counts apart: a newer scheduled run supersedes it."""

    running: int = 0
    waiting: int = 0
    waiting_retries: int = 0


def supersedes_retry(cause: Cause, live: LiveRuns) -> bool:
    """Whether this run takes the place of a retry that still waits."""
    return cause is Cause.SCHEDULE and live.waiting_retries > 0


def start_beside(cause: Cause, live: LiveRuns, rules: OverlapRules) -> Start | None:
    """How a run starts beside those that live; none when it must be skipped."""
    waiting = live.waiting + (0 if supersedes_retry(cause, live) else live.waiting_retries)
    if rules.policy is Overlap.ALLOW or not live.running + waiting:
        return Start.NOW
    if cause in _NEVER_SKIPPED:
        return Start.WAIT
    match rules.policy:
        case Overlap.QUEUE if waiting < rules.max_waiting:
            return Start.WAIT
        case Overlap.REPLACE:
            return Start.REPLACE
        case _:
            return None
