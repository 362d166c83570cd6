"""Liveness: what the evidence says of a run, instead of a flat timeout."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

QUIET_AFTER = timedelta(seconds=60)
SILENCE_AFTER = timedelta(minutes=10)
GATEWAY_DEAD_AFTER = timedelta(seconds=90)


class LivenessState(StrEnum):
    WORKING = "working"
    QUIET = "quiet"
    SILENT = "silent"
    DEAD = "dead"


class OnSilence(StrEnum):
    """What silence does to a run: it is flagged and notified, or it fails."""

    FLAG = "flag"
    FAIL = "fail"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """When each kind of sign was last seen; none when there is no such sign to see."""

    started_at: datetime
    output_at: datetime | None = None
    cpu_at: datetime | None = None
    session_file_at: datetime | None = None
    ping_at: datetime | None = None
    gateway_at: datetime | None = None
    is_gone: bool = False
    """The process or pane is gone, or the gateway does not know the session."""


class Liveness(msgspec.Struct, frozen=True):
    """The verdict, the last sign of life and its kind."""

    state: LivenessState
    last_sign_at: datetime
    sign: str
    because: str = ""


_SIGNS = (
    ("output", "output_at"),
    ("cpu", "cpu_at"),
    ("session file", "session_file_at"),
    ("ping", "ping_at"),
    ("gateway", "gateway_at"),
)


def assess(now: datetime, evidence: Evidence, *, silence_after: timedelta = SILENCE_AFTER) -> Liveness:
    """Dead on dead evidence; else by the age of the latest sign of any kind."""
    last_at, sign = _last_sign(evidence)
    if evidence.is_gone:
        return Liveness(LivenessState.DEAD, last_at, sign, "the process, pane or session is gone")
    if evidence.gateway_at is not None and now - evidence.gateway_at > GATEWAY_DEAD_AFTER:
        return Liveness(LivenessState.DEAD, last_at, sign, "no gateway activity for 90 s")
    age = now - last_at
    if age >= silence_after:
        return Liveness(LivenessState.SILENT, last_at, sign, "no sign of any kind: probably waiting for input")
    return Liveness(LivenessState.QUIET if age >= QUIET_AFTER else LivenessState.WORKING, last_at, sign)


def _last_sign(evidence: Evidence) -> tuple[datetime, str]:
    signs = [(evidence.started_at, "start")]
    for name, field in _SIGNS:
        seen_at = getattr(evidence, field)
        if seen_at is not None:
            signs.append((seen_at, name))
    return max(signs)
