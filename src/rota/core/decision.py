"""Decisions: when a job runs next, from which source, and the trail of rules that led there."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec


class Source(StrEnum):
    """Where a planned time comes from."""

    BASELINE_CRON = "baseline-cron"
    BASELINE_INTERVAL = "baseline-interval"
    BASELINE_CALENDAR = "baseline-calendar"
    BASELINE_ONCE = "baseline-once"
    BACKOFF = "backoff"
    AI_INTERVAL = "ai-interval"
    AI_ONESHOT = "ai-oneshot"
    CLAMPED_MIN = "clamped-min"
    CLAMPED_MAX = "clamped-max"
    QUIET = "quiet"
    PAUSED = "paused"
    AFTER_RUN = "after-run"
    """None yet: the run under way will give it one when it ends."""
    NONE = "none"


class Moment(StrEnum):
    """Why a decision is asked for; it settles what intervals and clamps count from."""

    CREATED = "created"
    FIRED = "fired"
    SKIPPED = "skipped"
    """A due time was recorded as skipped or missed, without a run."""
    SETTLED = "settled"
    REPLANNED = "replanned"
    """An edit, a resume, a start, a new or expired hint."""


class Rule(StrEnum):
    """The steps of a trail."""

    ASKED = "asked"
    CANDIDATE = "candidate"
    IGNORED = "ignored"
    CHOSEN = "chosen"
    OVERDUE = "overdue"
    CLAMPED = "clamped"
    NOT_BEFORE = "not-before"
    QUIET = "quiet"
    ENDED = "ended"
    PAUSED = "paused"


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule as it was applied: the time and source it led to, the limit it used, and why."""

    rule: Rule
    at: datetime | None = None
    source: Source | None = None
    limit: datetime | None = None
    because: str = ""


class Decision(msgspec.Struct, frozen=True, omit_defaults=True):
    """The governor's answer."""

    next_run_at: datetime | None
    source: Source
    trail: tuple[Step, ...] = ()
    redecide_at: datetime | None = None
    """When a hint expires and the question must be asked again."""
    match_at: datetime | None = None
    """The appointment that this time stands for, before stagger, clamps and quiet hours moved it; none for a time that
    is counted from an anchor, as intervals are."""


def replay(trail: Iterable[Step]) -> tuple[datetime | None, Source]:
    """Follow a trail to the time and source it ends in."""
    at: datetime | None = None
    source = Source.NONE
    for step in trail:
        if step.rule not in (Rule.ASKED, Rule.CANDIDATE, Rule.IGNORED):
            at, source = step.at, step.source or source
    return at, source


def describe(trail: Iterable[Step]) -> tuple[str, ...]:
    """A trail in words, a line a step."""
    return tuple(_describe(step) for step in trail)


def _describe(step: Step) -> str:
    words = [f"{step.rule}:"]
    if step.source:
        words.append(step.source)
    if step.at:
        words.append(f"at {step.at.isoformat()}")
    if step.limit:
        words.append(f"(limit {step.limit.isoformat()})")
    if step.because:
        words.append(f"because {step.because}")
    return " ".join(words)
