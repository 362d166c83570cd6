"""Catch-up: every due time that has passed ends as a run, or as missed or skipped with a reason and a count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby

import msgspec

from rota.core.decision import Decision, Moment, Source, Step
from rota.core.duration import MAX_DURATION
from rota.core.governor import decide
from rota.core.job import JobState
from rota.core.run import RunState
from rota.core.schedule import Once, Schedule, Wall, next_wall
from rota.errors import ScheduleError

# Due times outside the window that one pass accounts for; a longer outage takes several passes, none of them long.
MAX_PER_PASS = 1_000
MAX_JITTER = timedelta(seconds=30)
JITTER_THRESHOLD = 3


class CatchUp(StrEnum):
    SKIP = "skip"
    LATEST = "latest"
    ALL = "all"


class MissReason(StrEnum):
    LATE = "late"
    """Later than ``start_within``, and not to be caught up."""
    QUEUE_TIMEOUT = "queue_timeout"
    """Fired, but not started within its ``queue_timeout``."""
    OUTSIDE_WINDOW = "outside_window"
    OVER_LIMIT = "over_limit"
    SUPERSEDED = "superseded"
    """A newer due time is run instead."""
    PAUSED = "paused"


class LateRules(msgspec.Struct, frozen=True):
    start_within: timedelta = timedelta(minutes=5)
    catch_up: CatchUp = CatchUp.SKIP
    window: timedelta = timedelta(days=1)
    limit: int = 10


class DueTime(msgspec.Struct, frozen=True):
    """A due time with the source and trail that the run it causes keeps."""

    due_at: datetime
    source: Source
    trail: tuple[Step, ...] = ()
    match_at: datetime | None = None

    @property
    def mark(self) -> datetime:
        """What the high-water mark rises to once this time is accounted for; never past the time itself."""
        return min(self.match_at or self.due_at, self.due_at)


class Fold(msgspec.Struct, frozen=True):
    """Consecutive due times with the same fate, as one row."""

    first_at: datetime
    last_at: datetime
    count: int
    reason: MissReason

    @property
    def state(self) -> RunState:
        """A pause skips; everything else is a miss."""
        return RunState.SKIPPED if self.reason is MissReason.PAUSED else RunState.MISSED


class Accounting(msgspec.Struct, frozen=True):
    """What becomes of the due times that have passed."""

    on_time: tuple[DueTime, ...] = ()
    """Still fire, with cause ``schedule``."""
    caught_up: tuple[DueTime, ...] = ()
    """Fire late, with cause ``catch_up``, oldest first."""
    passed: tuple[Fold, ...] = ()
    """Become no run, and a row that says why."""
    accounted_until: datetime | None = None
    """The new high-water mark."""
    resume: DueTime | None = None
    """The first due time that this pass had to leave for the next one."""


def check_late(rules: LateRules) -> None:
    """Refuse limits below zero and times that are not positive."""
    if rules.limit < 0:
        raise ScheduleError(field="catch_up_limit", value=str(rules.limit), expected="zero or more", example="10")
    for field, wait in (("start_within", rules.start_within), ("catch_up_window", rules.window)):
        if not timedelta() <= wait <= MAX_DURATION:
            raise ScheduleError(field=field, value=str(wait), expected="a duration from zero to 36525d", example="5m")


def default_catch_up(schedule: Schedule) -> CatchUp:
    """A single appointment is worth keeping late; a recurring one comes again."""
    return CatchUp.LATEST if isinstance(schedule, Once) else CatchUp.SKIP


def account(now: datetime, state: JobState, rules: LateRules, *, per_pass: int = MAX_PER_PASS) -> Accounting:
    """Settle the fate of every due time of a job up to now."""
    if (only := _only_due_time(now, state)) is not None and not _is_late(now, only, rules):
        return Accounting(on_time=(only,), accounted_until=only.mark)
    passed, resume = _take(passed_due_times(now, state), _oldest_kept(now, rules), per_pass)
    if not passed:
        return Accounting()
    on_time = [due for due in passed if not _is_late(now, due, rules)]
    late = [due for due in passed if _is_late(now, due, rules)]
    fates = _fates(now, late, rules, has_newer=bool(on_time) or resume is not None)
    caught_up = tuple(due for due, fate in zip(late, fates, strict=True) if fate is None)
    return Accounting(tuple(on_time), caught_up, _fold(late, fates), passed[-1].mark, resume)


def passed_due_times(now: datetime, state: JobState) -> Iterator[DueTime]:
    """The due times from the planned one up to now, each with its own trail.

    Times that an interval hint overrides are not due times, and an interval has only one: the next counts from the
    completion of a run that has not been. The end of a pause is no due time either, but those it swallowed are told.
    """
    planned, mark = state.planned, max(state.fired_until or state.scheduled_at, state.scheduled_at)
    while planned is not None and (due_at := planned.next_run_at) is not None and due_at <= now:
        if planned.source is Source.PAUSED:
            yield from _swallowed(state, since=mark, until=due_at)
            mark = due_at
            planned = decide(due_at, _fired(state, mark), moment=Moment.REPLANNED)
        else:
            due = DueTime(due_at, planned.source, planned.trail, planned.match_at)
            yield due
            mark = due.mark
            planned = _following(due_at, _fired(state, mark))


def spread(
    now: datetime,
    shares: Sequence[float],
    *,
    threshold: int = JITTER_THRESHOLD,
    max_jitter: timedelta = MAX_JITTER,
) -> tuple[datetime | None, ...]:
    """The ``start_after`` of each run of a batch after an outage: none for a small batch. A share is 0 to 1."""
    if len(shares) <= threshold:
        return (None,) * len(shares)
    return tuple(now + max_jitter * share for share in shares)


def _swallowed(state: JobState, *, since: datetime, until: datetime) -> Iterator[DueTime]:
    awake = msgspec.structs.replace(state, paused_until=None, hints=())
    planned = _following(since, _fired(awake, since))
    while planned.next_run_at is not None and planned.next_run_at <= until:
        due = DueTime(planned.next_run_at, Source.PAUSED, match_at=planned.match_at)
        yield due
        planned = _following(due.due_at, _fired(awake, due.mark))


def _following(at: datetime, fired: JobState) -> Decision:
    following = decide(at, fired, moment=Moment.FIRED)
    # An interval hint rules until it expires; from then on the baseline has due times again.
    while following.next_run_at is None and following.redecide_at is not None:
        following = decide(following.redecide_at, fired, moment=Moment.FIRED)
    return following


def _only_due_time(now: datetime, state: JobState) -> DueTime | None:
    """The usual case, told without a decision: the planned match has come, and the one after it has not."""
    planned, timing = state.planned, state.timing
    if planned is None or planned.match_at is None or planned.next_run_at is None or planned.next_run_at > now:
        return None
    if not isinstance(timing.schedule, Wall) or state.hints or timing.max_interval is not None:
        return None
    following = next_wall(timing.schedule, planned.match_at, timing.zone)
    if following is not None and following <= now:
        return None
    return DueTime(planned.next_run_at, planned.source, planned.trail, planned.match_at)


def _fired(state: JobState, mark: datetime) -> JobState:
    return msgspec.structs.replace(state, planned=None, fired_until=mark)


def _is_late(now: datetime, due: DueTime, rules: LateRules) -> bool:
    """Intervals are never late, whether the job or a hint asks for them; what a pause swallowed always is."""
    if due.source is Source.PAUSED:
        return True
    return due.match_at is not None and now - due.due_at > rules.start_within


def _take(passed: Iterator[DueTime], oldest_kept: datetime, per_pass: int) -> tuple[list[DueTime], DueTime | None]:
    taken: list[DueTime] = []
    for due in passed:
        if len(taken) >= per_pass and due.due_at < oldest_kept:
            return taken, due
        taken.append(due)
    return taken, None


def _oldest_kept(now: datetime, rules: LateRules) -> datetime:
    return now - max(rules.window, rules.start_within)


def _fates(now: datetime, late: Sequence[DueTime], rules: LateRules, *, has_newer: bool) -> list[MissReason | None]:
    """For each late due time the reason why it is missed, or none when it is caught up."""
    fates: list[MissReason | None] = []
    most = {CatchUp.SKIP: 0, CatchUp.LATEST: 0 if has_newer else 1, CatchUp.ALL: rules.limit}[rules.catch_up]
    refusal = {
        CatchUp.SKIP: MissReason.LATE,
        CatchUp.LATEST: MissReason.SUPERSEDED,
        CatchUp.ALL: MissReason.OVER_LIMIT,
    }[rules.catch_up]
    # Newest first: where the limit cuts, the older ones are given up.
    for due in reversed(late):
        if due.source is Source.PAUSED:
            fates.append(MissReason.PAUSED)
        elif rules.catch_up is not CatchUp.SKIP and now - due.due_at > rules.window:
            fates.append(MissReason.OUTSIDE_WINDOW)
        elif most > 0:
            most -= 1
            fates.append(None)
        else:
            fates.append(refusal)
    return fates[::-1]


def _fold(late: Sequence[DueTime], fates: Sequence[MissReason | None]) -> tuple[Fold, ...]:
    folds = []
    for reason, group in groupby(zip(late, fates, strict=True), key=lambda pair: pair[1]):
        times = [due.due_at for due, _ in group]
        if reason is not None:
            folds.append(Fold(times[0], times[-1], len(times), reason))
    return tuple(folds)
