"""The governor: when next, from which source, by which trail. Pure; the same question always has the same answer.

The order of the rules: nothing due is overwritten; candidates; the choice between them; what is overdue; clamps;
not before ``from``; quiet hours; the end of the job's life; and over everything the pause.

``Moment`` settles the anchor. Right after a fire, a skip or a settlement, intervals and clamps count from now. At
any other time they count from the last completion, and what is overdue is due now. So asking again, however often,
never postpones a job.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from rota.core.backoff import Ladder, Multiply, ladder_step, multiplier
from rota.core.calendar import Daily, Monthly, Weekly
from rota.core.decision import Decision, Moment, Rule, Source, Step
from rota.core.hint import AnyHint, IntervalHint, OneShotHint, next_expiry
from rota.core.job import FOREVER, JobState, Timing, pause_end, takes_hints
from rota.core.quiet import QuietPolicy, quiet_end
from rota.core.schedule import (
    Cron,
    Every,
    First,
    Once,
    Wall,
    jitter_delay,
    next_wall,
    once_instant,
    stagger_offset,
)
from rota.core.zone import in_utc

_TICK = timedelta(microseconds=1)
_CONSUMING = (Moment.FIRED, Moment.SKIPPED)
_COUNTS_FROM_NOW = (Moment.FIRED, Moment.SKIPPED, Moment.SETTLED)
_WALL_SOURCES = (Source.BASELINE_CRON, Source.BASELINE_CALENDAR)


class _Candidate(NamedTuple):
    at: datetime | None
    source: Source
    match_at: datetime | None = None


class _Question(NamedTuple):
    """What the rules look at, and the trail they write."""

    now: datetime
    state: JobState
    moment: Moment
    share: float
    trail: list[Step]

    @property
    def timing(self) -> Timing:
        return self.state.timing

    @property
    def counts_from_now(self) -> bool:
        return self.moment in _COUNTS_FROM_NOW

    @property
    def awaits_completion(self) -> bool:
        return self.moment is Moment.FIRED or self.state.is_running

    @property
    def anchor(self) -> datetime | None:
        return self.now if self.counts_from_now else self.state.last_completed_at

    def note(
        self, rule: Rule, candidate: _Candidate, *, limit: datetime | None = None, because: str = ""
    ) -> _Candidate:
        self.trail.append(Step(rule, candidate.at, candidate.source, limit, because))
        return candidate


def decide(now: datetime, state: JobState, *, moment: Moment = Moment.REPLANNED, share: float = 0.0) -> Decision:
    """When a job runs next. ``share`` (0 to 1) is the part of its jitter that this interval takes."""
    if state.planned is not None and moment not in _CONSUMING and _is_due(state.planned, now):
        return state.planned
    now = in_utc(now, field="now")
    question = _Question(now, state, moment, share, [Step(Rule.ASKED, now, because=moment.value)])
    chosen = _choose(question)
    for rule in (_overdue, _clamp, _not_before, _quiet, _end_of_life, _pause):
        chosen = rule(question, chosen)
    return Decision(chosen.at, chosen.source, tuple(question.trail), next_expiry(state.hints, now), chosen.match_at)


def _is_due(planned: Decision, now: datetime) -> bool:
    # The end of a pause is a point of replanning, not a due time.
    return planned.source is not Source.PAUSED and planned.next_run_at is not None and planned.next_run_at <= now


def is_pause_over(planned: Decision | None, now: datetime) -> bool:
    """Whether a pause has ended whose swallowed times are still to be told; until a fire tells them, the plan stays."""
    if planned is None or planned.source is not Source.PAUSED or planned.next_run_at is None:
        return False
    return planned.next_run_at <= now


def _choose(question: _Question) -> _Candidate:
    baseline = _baseline(question)
    if not question.state.is_active:
        return question.note(Rule.CHOSEN, baseline)
    if not takes_hints(question.timing):
        return question.note(Rule.CHOSEN, baseline, because="hints do not apply to this type of schedule")
    interval, oneshot = _hint_candidates(question)
    if interval is not None and question.awaits_completion:
        waiting = _Candidate(None, Source.AFTER_RUN)
        return question.note(Rule.CHOSEN, waiting, because="the interval hint counts from the end of this run")
    if interval is not None and oneshot is not None:
        earlier = oneshot if _before(oneshot, interval) else interval
        return question.note(Rule.CHOSEN, earlier, because="the earlier of both hints wins")
    if interval is not None:
        return question.note(Rule.CHOSEN, interval, because="an interval hint overrides the baseline")
    if oneshot is not None and _before(oneshot, baseline):
        return question.note(Rule.CHOSEN, oneshot, because="the one-shot hint comes before the baseline")
    return question.note(Rule.CHOSEN, baseline)


def _before(one: _Candidate, other: _Candidate) -> bool:
    return other.at is None or (one.at is not None and one.at < other.at)


def _baseline(question: _Question) -> _Candidate:
    if not question.state.is_active:
        because = "the job is not accepted yet" if question.state.is_proposed else "the job is not enabled"
        return question.note(Rule.CANDIDATE, _Candidate(None, Source.NONE), because=because)
    schedule = question.timing.schedule
    match schedule:
        case Every():
            return _baseline_interval(question, schedule)
        case Cron() | Daily() | Weekly() | Monthly():
            return _baseline_wall(question, schedule)
        case Once():
            return _baseline_once(question, schedule)
        case _:
            return question.note(Rule.CANDIDATE, _Candidate(None, Source.NONE), because="it has no due times")


def _baseline_interval(question: _Question, every: Every) -> _Candidate:
    if question.awaits_completion:
        waiting = _Candidate(None, Source.AFTER_RUN)
        return question.note(Rule.CANDIDATE, waiting, because="the interval counts from the end of this run")
    wait, source, because = _stretched(question, every.interval)
    wait += jitter_delay(wait, question.timing.jitter, question.share)
    anchor = question.anchor
    if anchor is None:
        anchor, wait, because = _first_interval(question.state, every, wait)
    return question.note(Rule.CANDIDATE, _Candidate(anchor + wait, source), limit=anchor, because=because)


def _stretched(question: _Question, interval: timedelta) -> tuple[timedelta, Source, str]:
    failures, backoff = question.state.failure_count, question.timing.backoff
    if failures and isinstance(backoff, Multiply):
        factor = multiplier(failures)
        return (
            interval * factor,
            Source.BASELINE_INTERVAL,
            f"{failures} failures multiply the interval by {factor}",
        )
    if failures and isinstance(backoff, Ladder):
        step = ladder_step(backoff, failures)
        return max(interval, step), Source.BACKOFF, f"{failures} failures wait at least {step}"
    return interval, Source.BASELINE_INTERVAL, "the interval counts from the last completion"


def _first_interval(state: JobState, every: Every, wait: timedelta) -> tuple[datetime, timedelta, str]:
    """A new job runs at once, unless it says otherwise; a job whose schedule was edited waits one interval."""
    if every.first is First.NOW and state.scheduled_at == state.created_at:
        return state.created_at, timedelta(), "the first run of a new job starts at once"
    return state.scheduled_at, wait, "the first run waits one interval"


def _baseline_wall(question: _Question, schedule: Wall) -> _Candidate:
    timing, state = question.timing, question.state
    offset = stagger_offset(state.name, timing.stagger) if timing.stagger else timedelta()
    after = _last_passed(question, offset)
    if timing.begins_at is not None:
        after = max(after, timing.begins_at - offset - _TICK)
    source, because = _wall_source(schedule), f"the next match in {timing.zone}"
    if _climbs(question):
        step = ladder_step(timing.backoff, state.failure_count)  # type: ignore[arg-type] # _climbs says so
        after = max(after, (question.anchor or question.now) + step - offset - _TICK)
        source, because = Source.BACKOFF, f"{state.failure_count} failures wait at least {step}"
    match_at = next_wall(schedule, after, timing.zone)
    return question.note(Rule.CANDIDATE, _Candidate(match_at and match_at + offset, source, match_at), because=because)


def _last_passed(question: _Question, offset: timedelta) -> datetime:
    """The last appointment that needs no run any more, on the clock that stagger has not moved."""
    state = question.state
    # The high-water mark keeps a clock that steps back from firing the same time again.
    after = max(question.now - offset, state.fired_until or question.now - offset)
    pending = state.planned.match_at if state.planned and state.planned.source in _WALL_SOURCES else None
    if pending is None or question.moment in _CONSUMING or pending > after:
        return after
    # An edit took stagger away from an appointment that was still to come; it must not be lost.
    return max(pending - _TICK, state.fired_until or pending - _TICK)


def _wall_source(schedule: Wall) -> Source:
    return Source.BASELINE_CRON if isinstance(schedule, Cron) else Source.BASELINE_CALENDAR


def _baseline_once(question: _Question, once: Once) -> _Candidate:
    at = once_instant(once, question.timing.zone)
    fired_until = question.state.fired_until
    if question.moment in _CONSUMING or (fired_until is not None and fired_until >= at):
        return question.note(Rule.CANDIDATE, _Candidate(None, Source.NONE), because="its one time has been fired")
    return question.note(Rule.CANDIDATE, _Candidate(at, Source.BASELINE_ONCE, at))


def _hint_candidates(question: _Question) -> tuple[_Candidate | None, _Candidate | None]:
    interval = oneshot = None
    for hint in question.state.hints:
        if hint.expires_at <= question.now:
            ignored = _Candidate(None, _hint_source(hint))
            question.note(Rule.IGNORED, ignored, limit=hint.expires_at, because="the hint has expired")
        elif isinstance(hint, IntervalHint):
            interval = _interval_hint(question, hint)
        elif isinstance(hint, OneShotHint):
            oneshot = _earlier(oneshot, _oneshot_hint(question, hint))
    return interval, oneshot


def _earlier(one: _Candidate | None, other: _Candidate | None) -> _Candidate | None:
    return one if one is not None and other is not None and _before(one, other) else other


def _hint_source(hint: AnyHint) -> Source:
    match hint:
        case IntervalHint():
            return Source.AI_INTERVAL
        case OneShotHint():
            return Source.AI_ONESHOT
        case _:
            return Source.PAUSED


def _interval_hint(question: _Question, hint: IntervalHint) -> _Candidate:
    anchor = question.anchor or question.state.scheduled_at
    candidate = _Candidate(anchor + hint.interval, Source.AI_INTERVAL)
    return question.note(Rule.CANDIDATE, candidate, limit=hint.expires_at, because=_by(hint))


def _oneshot_hint(question: _Question, hint: OneShotHint) -> _Candidate | None:
    is_interval = isinstance(question.timing.schedule, Every)
    candidate = _Candidate(hint.run_at, Source.AI_ONESHOT, None if is_interval else hint.run_at)
    if question.awaits_completion:
        # Were it planned now, an overlapping run would swallow it; the settlement will offer it again.
        question.note(Rule.IGNORED, candidate, because="it waits for the end of this run")
        return None
    return question.note(Rule.CANDIDATE, candidate, limit=hint.expires_at, because=_by(hint))


def _by(hint: AnyHint) -> str:
    return f"{hint.author or 'a hint'}: {hint.reason}" if hint.reason else hint.author


def _overdue(question: _Question, chosen: _Candidate) -> _Candidate:
    if chosen.at is None or chosen.at >= question.now:
        return chosen
    due = chosen._replace(at=question.now)
    return question.note(Rule.OVERDUE, due, limit=chosen.at, because="what is overdue is due now")


def _clamp(question: _Question, chosen: _Candidate) -> _Candidate:
    if chosen.at is None or not takes_hints(question.timing):
        return chosen
    return _clamp_max(question, _clamp_min(question, chosen))


def _clamp_min(question: _Question, chosen: _Candidate) -> _Candidate:
    least, anchor = question.timing.min_interval, question.anchor
    # A job that has never run has nothing to keep a distance from.
    if least is None or anchor is None or chosen.at is None or chosen.at >= anchor + least:
        return chosen
    clamped = chosen._replace(at=anchor + least, source=Source.CLAMPED_MIN)
    return question.note(Rule.CLAMPED, clamped, limit=chosen.at, because=f"min_interval is {least}")


def _clamp_max(question: _Question, chosen: _Candidate) -> _Candidate:
    most, anchor = question.timing.max_interval, question.anchor or question.state.scheduled_at
    if most is None or chosen.at is None or chosen.at <= max(anchor + most, question.now):
        return chosen
    clamped = chosen._replace(at=max(anchor + most, question.now), source=Source.CLAMPED_MAX)
    return question.note(Rule.CLAMPED, clamped, limit=chosen.at, because=f"max_interval is {most}")


def _not_before(question: _Question, chosen: _Candidate) -> _Candidate:
    begins_at = question.timing.begins_at
    if begins_at is None or chosen.at is None or chosen.at >= begins_at:
        return chosen
    return question.note(Rule.NOT_BEFORE, chosen._replace(at=begins_at), because="the job begins then")


def _quiet(question: _Question, chosen: _Candidate) -> _Candidate:
    timing = question.timing
    # Skipping an interval would only ask again an interval later, so what is counted waits for the end either way.
    is_moved = timing.quiet_policy is QuietPolicy.DEFER or chosen.match_at is None
    if chosen.at is None or not timing.quiet or not is_moved:
        return chosen
    end = quiet_end(chosen.at, timing.quiet, timing.zone)
    if end is None:
        return chosen
    moved = chosen._replace(at=end, source=Source.QUIET)
    return question.note(Rule.QUIET, moved, limit=chosen.at, because="quiet hours end then")


def _end_of_life(question: _Question, chosen: _Candidate) -> _Candidate:
    timing = question.timing
    ended = _Candidate(None, Source.NONE)
    if timing.max_runs is not None and question.state.started_count >= timing.max_runs:
        return question.note(Rule.ENDED, ended, because=f"max_runs is {timing.max_runs}")
    # An appointment in time that was moved past the end stays planned, so that it is recorded as expired.
    last_at = chosen.match_at or chosen.at
    if timing.until is not None and last_at is not None and last_at > timing.until:
        return question.note(Rule.ENDED, ended, limit=timing.until, because="until comes before")
    return chosen


def _pause(question: _Question, chosen: _Candidate) -> _Candidate:
    end = pause_end(question.now, question.state)
    if end is None or not question.state.is_active:
        return chosen
    paused = _Candidate(None if end == FOREVER else end, Source.PAUSED)
    return question.note(Rule.PAUSED, paused, because="a pause wins over everything")


def _climbs(question: _Question) -> bool:
    return (
        isinstance(question.timing.backoff, Ladder)
        and question.state.failure_count > 0
        and question.moment is not Moment.FIRED
    )
