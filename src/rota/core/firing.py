"""Firing: what one pass makes of a job whose time has come. Every due time ends in a run or in a row that says why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from rota.core.admission import UNRECORDED, Admit, Skip, admit
from rota.core.budget import BudgetVerdict
from rota.core.catchup import Accounting, DueTime, LateRules, account
from rota.core.decision import Decision, Moment, Source, Step
from rota.core.governor import decide
from rota.core.hint import remaining_hints
from rota.core.job import JobState
from rota.core.overlap import LiveRuns, OverlapRules, Start
from rota.core.run import Cause, RunState

# Fired later than this, a due time was held up by an outage.
OUTAGE_AFTER = timedelta(seconds=30)


class NewRun(msgspec.Struct, frozen=True):
    """A run that begins."""

    cause: Cause
    due: DueTime
    start: Start
    supersedes_retry: bool = False


class Passed(msgspec.Struct, frozen=True):
    """Due times that became no run: consecutive ones with the same fate, as one row."""

    first_at: datetime
    last_at: datetime
    count: int
    state: RunState
    reason: str
    source: Source | None = None
    trail: tuple[Step, ...] = ()


class Firing(msgspec.Struct, frozen=True):
    """What one transaction writes for one job."""

    runs: tuple[NewRun, ...]
    passed: tuple[Passed, ...]
    decision: Decision
    state: JobState
    """The job as the decision left it."""


def fire(
    now: datetime,
    state: JobState,
    *,
    late: LateRules,
    overlap: OverlapRules,
    live: LiveRuns,
    budget: BudgetVerdict | None = None,
    share: float = 0.0,
) -> Firing:
    """Settle every due time up to now, and decide when the job is asked again."""
    accounting = account(now, state, late)
    dues = [(Cause.CATCH_UP, due) for due in accounting.caught_up]
    dues += [(Cause.SCHEDULE, due) for due in accounting.on_time]
    runs: list[NewRun] = []
    passed = [Passed(fold.first_at, fold.last_at, fold.count, fold.state, fold.reason) for fold in accounting.passed]
    for cause, due in dues:
        answer = admit(now, state, cause=cause, due_at=due.due_at, live=live, overlap=overlap, budget=budget)
        if isinstance(answer, Skip):
            passed += [_skipped(due, answer)] if answer.reason not in UNRECORDED else []
        else:
            runs.append(_begun(cause, due, answer))
            live = _live_after(live, answer)
            state = msgspec.structs.replace(state, started_count=state.started_count + 1)
    decision, state = _decide(now, state, accounting, has_runs=bool(runs), share=share)
    return Firing(tuple(runs), _folded(passed, runs), decision, state)


def was_held_up(now: datetime, run: NewRun) -> bool:
    """Whether an outage, and not the crowd of due jobs, kept this run from being on time."""
    return run.cause is Cause.CATCH_UP or now - run.due.due_at > OUTAGE_AFTER


def _decide(
    now: datetime, state: JobState, accounting: Accounting, *, has_runs: bool, share: float
) -> tuple[Decision, JobState]:
    fired_until = accounting.accounted_until
    if fired_until is None:
        decision = decide(now, state, moment=Moment.REPLANNED, share=share)
        return decision, msgspec.structs.replace(state, planned=decision)
    # A one-shot hint whose own time was skipped or missed is used up as well; it would be due again at once.
    is_used = has_runs or (state.planned is not None and state.planned.source is Source.AI_ONESHOT)
    state = msgspec.structs.replace(
        state,
        fired_until=max(fired_until, state.fired_until or fired_until),
        hints=remaining_hints(state.hints, now) if is_used else state.hints,
    )
    if accounting.resume is not None:
        left = accounting.resume
        decision = Decision(left.due_at, left.source, left.trail, match_at=left.match_at)
    else:
        decision = decide(now, state, moment=Moment.FIRED if has_runs else Moment.SKIPPED, share=share)
    return decision, msgspec.structs.replace(state, planned=decision, is_running=has_runs or state.is_running)


def _begun(cause: Cause, due: DueTime, answer: Admit) -> NewRun:
    return NewRun(cause, due, answer.start, answer.supersedes_retry)


def _live_after(live: LiveRuns, answer: Admit) -> LiveRuns:
    retries = 0 if answer.supersedes_retry else live.waiting_retries
    if answer.start is Start.NOW:
        return LiveRuns(live.running + 1, live.waiting, retries)
    return LiveRuns(live.running, live.waiting + 1, retries)


def _skipped(due: DueTime, skip: Skip) -> Passed:
    return Passed(due.due_at, due.due_at, 1, RunState.SKIPPED, skip.reason, due.source, due.trail)


def _folded(passed: Sequence[Passed], runs: Sequence[NewRun]) -> tuple[Passed, ...]:
    folded: list[Passed] = []
    for row in sorted(passed, key=lambda row: row.first_at):
        before = folded[-1] if folded else None
        if before is not None and _is_continued(before, row, runs):
            folded[-1] = msgspec.structs.replace(before, last_at=row.last_at, count=before.count + row.count)
        else:
            folded.append(row)
    return tuple(folded)


def _is_continued(before: Passed, row: Passed, runs: Sequence[NewRun]) -> bool:
    """Whether two rows have the same fate and no run stands between them."""
    if (before.state, before.reason) != (row.state, row.reason):
        return False
    return not any(before.last_at < run.due.due_at < row.first_at for run in runs)
