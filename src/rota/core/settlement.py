"""Settling: everything that follows from one finished run, decided by one pure function.

A settlement is written in one transaction, guarded by the run's token. Whatever ends a run goes through here: its
own end, a person, a shutdown, or the recovery of a worker that vanished.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

import msgspec

from rota.core.backoff import Retry, check_retry, retry_delay
from rota.core.catchup import MissReason
from rota.core.chain import MAX_DEPTH, MAX_FAN_OUT, After, ChainPass, fires
from rota.core.decision import Decision, Moment
from rota.core.governor import decide, is_pause_over
from rota.core.hint import AnyHint, remaining_hints
from rota.core.job import FOREVER, JobState
from rota.core.liveness import Liveness, LivenessState, OnSilence
from rota.core.run import ENDED, FAILURES, TRANSITIONS, Cause, Run, RunState, moves_schedule, transition
from rota.core.schedule import Once
from rota.core.usage import Usage
from rota.errors import RunStateError, ScheduleError

MAX_LOST = 3
APPROVAL_TIME = timedelta(hours=24)
# Enough of the output to show a model or a person what went wrong.
_LAST_LINES = 20
_LAST_CHARACTERS = 4_000


class EndReason(StrEnum):
    """Reasons that change what follows; any other text is kept as it is."""

    AUTHENTICATION = "authentication"
    OVER_BUDGET = "over_budget"
    SHUTDOWN = "shutdown"
    STALE = "stale"
    SILENT = "silent"
    NO_WORK = "no_work"
    SUPERSEDED = "superseded"
    """A retry that gave way to a newer scheduled run: the attempt before it was the last, and it failed."""
    APPROVAL_EXPIRED = "approval_expired"
    PARENT_CANCELLED = "parent_cancelled"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    state: RunState
    reason: str = ""
    error: str = ""
    exit_code: int | None = None
    http_status: int | None = None
    output: str = ""
    usage: Usage = Usage()


class SettleRules(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a job's definition that settling reads."""

    retry: Retry = Retry()
    pause_after: int | None = None
    notify_after: int = 1


class Child(msgspec.Struct, frozen=True):
    """A job that is chained to the one that settles."""

    job: str
    after: After


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A run that the settlement asks for."""

    job: str
    cause: Cause
    origin: Cause
    attempt: int = 1
    depth: int = 0
    due_at: datetime | None = None
    start_after: datetime
    takes_output: bool = False
    failure: str = ""
    """What went wrong before, for a corrective prompt."""


class RefusedChild(msgspec.Struct, frozen=True):
    job: str
    reason: str


class NoticeKind(StrEnum):
    FAILURE = "failure"
    RECOVERY = "recovery"
    PAUSED = "paused"
    OVER_BUDGET = "over_budget"


class Notice(msgspec.Struct, frozen=True):
    kind: NoticeKind
    text: str


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """All that one transaction writes. ``decision`` is none where the plan stays as it is."""

    state: RunState
    failure_count: int
    lost_count: int
    completed_at: datetime | None
    is_running: bool
    hints: tuple[AnyHint, ...]
    decision: Decision | None
    retry: RunRequest | None = None
    children: tuple[RunRequest, ...] = ()
    refused_children: tuple[RefusedChild, ...] = ()
    pause_note: str = ""
    """Not empty: the job is paused, without an end, for this reason."""
    agent_pause_note: str = ""
    removes_job: bool = False
    cancels_descendants: bool = False
    notices: tuple[Notice, ...] = ()
    events: tuple[str, ...] = ()


class _Counts(NamedTuple):
    failures: int
    lost: int


def settle(
    now: datetime,
    run: Run,
    outcome: Outcome,
    *,
    state: JobState,
    rules: SettleRules | None = None,
    children: Sequence[Child] = (),
    share: float = 0.0,
) -> Settlement:
    """Turn a finished run into everything that follows from it."""
    rules = rules or SettleRules()
    ended = _end(run.state, outcome.state)
    retry = None if _takes_workers_down(outcome, state) else _retry(now, run, outcome, rules.retry)
    counts = _counts(run, outcome, state, is_last=retry is None)
    pause_note = _pause_note(outcome, counts, state, rules)
    chained, refused = _chain(now, run, outcome, children) if retry is None else ((), ())
    after = _state_after(now, run, retry, state, counts=counts, pause_note=pause_note)
    settled = Settlement(
        state=ended,
        failure_count=counts.failures,
        lost_count=counts.lost,
        completed_at=after.last_completed_at,
        is_running=after.is_running,
        hints=after.hints,
        decision=_decision(now, run, state, after, share=share),
        retry=retry,
        children=chained,
        refused_children=refused,
        pause_note=pause_note,
        agent_pause_note=_agent_pause_note(outcome),
        removes_job=_removes_job(run, outcome, state),
        cancels_descendants=ended is RunState.CANCELLED and not _is_superseded(outcome),
    )
    notices = _notices(settled, outcome, state, rules)
    return msgspec.structs.replace(settled, notices=notices, events=_events(settled, state))


def outcome_of_abandoned(run: Run) -> Outcome | None:
    """What recovery makes of a run whose worker vanished: lost; or none, back to the queue, when it never started."""
    if run.started_at is None:
        return None
    return Outcome(state=RunState.LOST, error="its worker vanished; whether it finished is not known")


def outcome_of_waiting(now: datetime, run: Run, *, queue_timeout: timedelta | None) -> Outcome | None:
    """What becomes of a run that has waited too long for a slot or for a person's answer; none when it may go on."""
    if run.state is RunState.HELD and now - run.requested_at >= APPROVAL_TIME:
        return Outcome(state=RunState.CANCELLED, reason=EndReason.APPROVAL_EXPIRED, error="nobody answered in 24h")
    since = run.start_after or run.requested_at
    if run.state is RunState.QUEUED and queue_timeout is not None and now - since >= queue_timeout:
        return Outcome(state=RunState.MISSED, reason=MissReason.QUEUE_TIMEOUT)
    return None


def outcome_of_liveness(liveness: Liveness, on_silence: OnSilence) -> Outcome | None:
    """Dead evidence ends a run; silence only where the job says so, otherwise it is flagged."""
    if liveness.state is LivenessState.DEAD:
        return Outcome(state=RunState.FAILED, reason=EndReason.STALE, error=liveness.because)
    if liveness.state is LivenessState.SILENT and on_silence is OnSilence.FAIL:
        return Outcome(state=RunState.FAILED, reason=EndReason.SILENT, error=liveness.because)
    return None


def check_settle(rules: SettleRules) -> None:
    """Refuse counts below one and retries that cannot be."""
    check_retry(rules.retry)
    for field, count in (("pause_after", rules.pause_after), ("notify_after", rules.notify_after)):
        if count is not None and count < 1:
            raise ScheduleError(field=field, value=str(count), expected="a number from 1", example="5")


def _end(current: RunState, target: RunState) -> RunState:
    if target not in ENDED:
        allowed = TRANSITIONS.get(current, frozenset()) & ENDED
        raise RunStateError(current, target, allowed=tuple(sorted(allowed)))
    return transition(current, target)


def _retry(now: datetime, run: Run, outcome: Outcome, retry: Retry) -> RunRequest | None:
    if run.attempt > _retries_allowed(outcome, retry):
        return None
    wait = retry_delay(retry, run.attempt)
    return RunRequest(
        job=run.job,
        cause=Cause.RETRY,
        origin=run.origin,
        attempt=run.attempt + 1,
        depth=run.depth,
        due_at=run.due_at,
        # What a shutdown interrupted has not failed: it goes on as soon as there is an engine again.
        start_after=now if outcome.state is RunState.CANCELLED else now + wait,
        failure=_failure_with_output(outcome),
    )


def _retries_allowed(outcome: Outcome, retry: Retry) -> int:
    if outcome.reason in (EndReason.AUTHENTICATION, EndReason.OVER_BUDGET):
        return 0
    match outcome.state:
        case RunState.FAILED | RunState.TIMED_OUT:
            return retry.max
        case RunState.LOST:
            return retry.on_lost
        case RunState.CANCELLED if outcome.reason == EndReason.SHUTDOWN:
            return retry.on_interrupted
        case _:
            return 0


def _failure_text(outcome: Outcome) -> str:
    code = f"exit code {outcome.exit_code}" if outcome.exit_code is not None else ""
    status = f"HTTP status {outcome.http_status}" if outcome.http_status is not None else ""
    return "; ".join(part for part in (outcome.state, outcome.reason, code, status, outcome.error) if part)


def _failure_with_output(outcome: Outcome) -> str:
    lines = outcome.output[-_LAST_CHARACTERS:].splitlines()[-_LAST_LINES:]
    return "\n".join((_failure_text(outcome), "Last lines of its output:", *lines)) if lines else _failure_text(outcome)


def _is_superseded(outcome: Outcome) -> bool:
    return outcome.state is RunState.CANCELLED and outcome.reason == EndReason.SUPERSEDED


def _counted_state(outcome: Outcome) -> RunState:
    """What counts and chains see: the failure of the attempt that a superseded retry was to repeat."""
    return RunState.FAILED if _is_superseded(outcome) else outcome.state


def _counts(run: Run, outcome: Outcome, state: JobState, *, is_last: bool) -> _Counts:
    """Failures in a row follow the last attempt; what a person asked for never adds one."""
    if outcome.state is RunState.SUCCEEDED:
        return _Counts(0, 0)
    lost = state.lost_count + (outcome.state is RunState.LOST)
    adds = is_last and _counted_state(outcome) in FAILURES and run.origin is not Cause.MANUAL
    return _Counts(state.failure_count + adds, lost)


def _takes_workers_down(outcome: Outcome, state: JobState) -> bool:
    return outcome.state is RunState.LOST and state.lost_count + 1 >= MAX_LOST


def _pause_note(outcome: Outcome, counts: _Counts, state: JobState, rules: SettleRules) -> str:
    if _takes_workers_down(outcome, state):
        return f"it took its worker down {counts.lost} times"
    grew = counts.failures > state.failure_count
    if rules.pause_after is not None and grew and counts.failures >= rules.pause_after:
        return f"{counts.failures} failures in a row"
    return ""


def _chain(
    now: datetime, run: Run, outcome: Outcome, children: Sequence[Child]
) -> tuple[tuple[RunRequest, ...], tuple[RefusedChild, ...]]:
    fired = [child for child in children if fires(child.after, _counted_state(outcome), outcome.output)]
    if run.depth >= MAX_DEPTH:
        return (), tuple(RefusedChild(child.job, f"chain_depth: at most {MAX_DEPTH}") for child in fired)
    refused = tuple(RefusedChild(child.job, f"fan_out: at most {MAX_FAN_OUT}") for child in fired[MAX_FAN_OUT:])
    return tuple(_child_request(now, run, child) for child in fired[:MAX_FAN_OUT]), refused


def _child_request(now: datetime, run: Run, child: Child) -> RunRequest:
    return RunRequest(
        job=child.job,
        cause=Cause.CHAIN,
        origin=Cause.CHAIN,
        depth=run.depth + 1,
        start_after=now + child.after.delay,
        takes_output=child.after.hands_over is ChainPass.OUTPUT,
    )


def _state_after(
    now: datetime, run: Run, retry: RunRequest | None, state: JobState, *, counts: _Counts, pause_note: str
) -> JobState:
    """The job's state as the next decision must see it."""
    completes = moves_schedule(run.origin) and retry is None
    return msgspec.structs.replace(
        state,
        failure_count=counts.failures,
        lost_count=counts.lost,
        last_completed_at=now if completes else state.last_completed_at,
        is_running=state.is_running and not completes,
        hints=remaining_hints(state.hints, now),
        paused_until=FOREVER if pause_note else state.paused_until,
    )


def _decision(now: datetime, run: Run, before: JobState, after: JobState, *, share: float) -> Decision | None:
    if is_pause_over(before.planned, now):
        return None
    if moves_schedule(run.origin):
        return decide(now, after, moment=Moment.SETTLED, share=share)
    # A run from outside the schedule never moves it, unless it brought about a pause.
    if after.paused_until != before.paused_until:
        return decide(now, after, moment=Moment.REPLANNED, share=share)
    return None


def _agent_pause_note(outcome: Outcome) -> str:
    if outcome.reason != EndReason.AUTHENTICATION:
        return ""
    return f"authentication failed: {outcome.error or 'log the agent in again, then resume it'}"


def _removes_job(run: Run, outcome: Outcome, state: JobState) -> bool:
    schedule = state.timing.schedule
    is_done = outcome.state is RunState.SUCCEEDED and moves_schedule(run.origin)
    # While a file speaks of it, it stays: applied again, the file would add it again, and it would run again.
    return is_done and not state.is_from_file and isinstance(schedule, Once) and not schedule.keep


def _notices(settled: Settlement, outcome: Outcome, state: JobState, rules: SettleRules) -> tuple[Notice, ...]:
    notices = []
    if settled.failure_count == rules.notify_after and settled.failure_count > state.failure_count:
        notices.append(Notice(NoticeKind.FAILURE, _failure_text(outcome)))
    if outcome.state is RunState.SUCCEEDED and state.failure_count >= rules.notify_after:
        notices.append(Notice(NoticeKind.RECOVERY, f"succeeded after {state.failure_count} failures in a row"))
    if settled.pause_note:
        notices.append(Notice(NoticeKind.PAUSED, settled.pause_note))
    if outcome.reason == EndReason.OVER_BUDGET:
        notices.append(Notice(NoticeKind.OVER_BUDGET, _failure_text(outcome)))
    return tuple(notices)


def _events(settled: Settlement, state: JobState) -> tuple[str, ...]:
    happened = {
        f"run.{settled.state}": True,
        "retry.planned": settled.retry is not None,
        "chain.fired": bool(settled.children),
        "chain.refused": bool(settled.refused_children),
        "hint.ended": settled.hints != state.hints,
        "job.paused": bool(settled.pause_note),
        "job.removed": settled.removes_job,
        "agent.paused": bool(settled.agent_pause_note),
    }
    return tuple(event for event, did_happen in happened.items() if did_happen)
