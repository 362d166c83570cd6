"""What holds for every state a job can be in (SPEC section 3), on states made at random."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rota.core.backoff import Ladder, Multiply, NoBackoff
from rota.core.calendar import LAST, Daily, MonthDay, Monthly, NthWeekday, Weekday, Weekly
from rota.core.chain import After
from rota.core.decision import Decision, Moment, Rule, Source, Step, describe, replay
from rota.core.duration import MAX_DURATION
from rota.core.governor import decide
from rota.core.hint import AnyHint, IntervalHint, OneShotHint, PauseHint
from rota.core.job import FOREVER, JobState, Timing, check_timing
from rota.core.quiet import QuietDates, QuietDay, QuietHours, QuietPolicy
from rota.core.schedule import Chat, Cron, Every, First, Manual, Once, Webhook

often = settings(deadline=None, max_examples=max(200, settings().max_examples))

MINUTE = timedelta(minutes=1)
TICK = timedelta(microseconds=1)
CENTRE = datetime(2026, 3, 29, tzinfo=UTC)

moments = st.sampled_from(Moment)
shares = st.floats(0, 1)
# Times lie around the day on which clocks change in Berlin, close enough to meet each other.
instants = st.one_of(
    st.integers(-2_000, 2_000).map(lambda minutes: CENTRE + minutes * MINUTE),
    st.timedeltas(timedelta(days=-400), timedelta(days=400)).map(lambda distance: CENTRE + distance),
)
spans = st.one_of(
    st.integers(1, 300).map(lambda minutes: minutes * MINUTE),
    st.timedeltas(TICK, MAX_DURATION),
)
clocks = st.builds(time, st.integers(0, 23), st.integers(0, 59))
weekdays = st.sampled_from(Weekday)
wall_schedules = st.one_of(
    st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 29 2 *"]).map(Cron),
    st.builds(Daily, clocks),
    st.builds(Weekly, st.lists(weekdays, min_size=1, unique=True).map(tuple), clocks),
    st.builds(Monthly, st.integers(1, 31).map(MonthDay) | st.just(MonthDay(LAST)), clocks),
    st.builds(Monthly, st.builds(NthWeekday, st.sampled_from([1, 2, 3, 4, 5, LAST]), weekdays), clocks),
)
clocked = st.one_of(st.builds(Every, spans, st.sampled_from(First)), wall_schedules)
schedules = st.one_of(
    clocked,
    st.builds(Once, instants | instants.map(lambda at: at.replace(tzinfo=None))),
    st.sampled_from([Manual(), Webhook(), Chat(), After("build")]),
)
quiets = st.sampled_from(
    [
        (),
        (QuietHours(time(22), time(7)),),
        (QuietHours(time(1), time(3)), QuietDay(Weekday.SUN)),
        (QuietDates(date(2026, 3, 28), date(2026, 3, 30)), QuietDay(Weekday.SAT)),
    ]
)
backoffs = st.one_of(
    st.sampled_from([Multiply(), NoBackoff(), Ladder()]),
    st.lists(spans, min_size=1, max_size=3).map(lambda steps: Ladder(tuple(steps))),
)
maybe_instants = st.none() | instants
sources = st.sampled_from(Source)


@st.composite
def timings(draw: st.DrawFn, *, is_plain: bool = False) -> Timing:
    least, most = sorted(draw(st.tuples(spans, spans)))
    begins_at, until = sorted(draw(st.tuples(instants, instants)))
    timing = Timing(
        schedule=draw(clocked if is_plain else schedules),
        zone=draw(st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia"])),
        begins_at=None if is_plain else draw(st.sampled_from([None, begins_at])),
        until=None if is_plain else draw(st.sampled_from([None, until])),
        max_runs=None if is_plain else draw(st.sampled_from([None, 1, 3])),
        quiet=() if is_plain else draw(quiets),
        quiet_policy=draw(st.sampled_from(QuietPolicy)),
        stagger=draw(st.sampled_from([timedelta(), 2 * MINUTE])),
        jitter=draw(st.floats(0, 10)),
        min_interval=draw(st.sampled_from([None, least])),
        max_interval=draw(st.sampled_from([None, most])),
        backoff=draw(backoffs),
    )
    check_timing(timing)
    return timing


def written_by(author: str) -> dict[str, st.SearchStrategy[object]]:
    return {"expires_at": instants, "author": st.just(author), "reason": st.sampled_from(["", "it is busy"])}


@st.composite
def hint_sets(draw: st.DrawFn) -> tuple[AnyHint, ...]:
    """At most one of each kind, in any order."""
    hints = (
        draw(st.none() | st.builds(IntervalHint, interval=spans, **written_by("planner"))),
        draw(st.none() | st.builds(OneShotHint, run_at=instants, **written_by(""))),
        draw(st.none() | st.builds(PauseHint, pause_until=instants, **written_by("ana"))),
    )
    return tuple(draw(st.permutations([hint for hint in hints if hint is not None])))


@st.composite
def states(draw: st.DrawFn, *, is_plain: bool = False, is_enabled: bool | None = None) -> JobState:
    created_at, scheduled_at = sorted(draw(st.tuples(instants, instants)))
    planned = st.none() if is_plain else st.none() | st.builds(Decision, maybe_instants, sources)
    return JobState(
        name=draw(st.sampled_from(["report", "backup", ""])),
        timing=draw(timings(is_plain=is_plain)),
        created_at=created_at,
        scheduled_at=draw(st.sampled_from([created_at, scheduled_at])),
        is_enabled=draw(st.booleans()) if is_enabled is None else is_enabled,
        is_running=draw(st.booleans()),
        planned=draw(planned),
        fired_until=draw(maybe_instants),
        last_completed_at=draw(maybe_instants),
        failure_count=draw(st.integers(0, 40)),
        started_count=draw(st.integers(0, 4)),
        hints=() if is_plain else draw(hint_sets()),
        paused_until=None if is_plain else draw(maybe_instants | st.just(FOREVER)),
    )


def is_kept(decision: Decision, state: JobState) -> bool:
    return decision is state.planned


@often
@given(instants, states(), moments, shares)
def test_decision_is_the_same_when_asked_twice(now: datetime, state: JobState, moment: Moment, share: float) -> None:
    """The governor (pure: no clock, no I/O, no randomness). Also: no state that may be saved raises anything."""
    copy = msgspec.json.decode(msgspec.json.encode(state), type=JobState)
    first = decide(now, state, moment=moment, share=share)
    assert decide(now, copy, moment=moment, share=share) == first
    assert decide(now, state, moment=moment, share=share) == first
    assert len(describe(first.trail)) == len(first.trail)


@often
@given(instants, states(), moments, shares)
def test_time_is_not_before_now_when_it_is_decided(
    now: datetime, state: JobState, moment: Moment, share: float
) -> None:
    """No transaction commits a next_run_at before its own now; nothing due is overwritten."""
    decision = decide(now, state, moment=moment, share=share)
    if not is_kept(decision, state):
        assert decision.next_run_at is None or decision.next_run_at >= now
        return
    assert moment not in {Moment.FIRED, Moment.SKIPPED}
    assert decision.source is not Source.PAUSED
    assert decision.next_run_at is not None
    assert decision.next_run_at <= now


@often
@given(instants, states(), moments, shares)
def test_due_time_is_kept_when_it_was_not_dealt_with(
    now: datetime, state: JobState, moment: Moment, share: float
) -> None:
    """No decision replaces a next_run_at that has passed and has not been fired or recorded."""
    plan = state.planned
    due = plan is not None and plan.next_run_at is not None and plan.next_run_at <= now
    keeps = due and plan is not None and plan.source != "paused" and moment in {"created", "settled", "replanned"}
    assert is_kept(decide(now, state, moment=moment, share=share), state) is keeps or plan is None


@often
@given(instants, states(), moments, shares)
def test_trail_leads_to_the_decision_when_replayed(
    now: datetime, state: JobState, moment: Moment, share: float
) -> None:
    """The trail lists every candidate, rule and clamp with its times, as data."""
    decision = decide(now, state, moment=moment, share=share)
    assume(not is_kept(decision, state))
    assert replay(decision.trail) == (decision.next_run_at, decision.source)
    assert decision.trail[0] == Step(Rule.ASKED, now, because=moment)
    active = [hint.expires_at for hint in state.hints if hint.expires_at > now]
    assert decision.redecide_at == min(active, default=None)


def chosen_from(trail: tuple[Step, ...], *, is_under_way: bool) -> tuple[datetime | None, Source | None]:
    """The choice rule of SPEC, written once more, on the candidates that a trail lists."""
    candidates = {step.source: step.at for step in trail if step.rule is Rule.CANDIDATE}
    interval, oneshot = candidates.pop(Source.AI_INTERVAL, None), candidates.pop(Source.AI_ONESHOT, None)
    ((baseline_source, baseline),) = candidates.items()
    if interval is not None and is_under_way:
        return None, Source.AFTER_RUN
    if interval is not None:
        if oneshot is not None and oneshot < interval:
            return oneshot, Source.AI_ONESHOT
        return interval, Source.AI_INTERVAL
    if oneshot is not None and (baseline is None or oneshot < baseline):
        return oneshot, Source.AI_ONESHOT
    return baseline, baseline_source


def clamped(
    at: datetime | None, source: Source | None, now: datetime, state: JobState, moment: Moment
) -> tuple[datetime | None, Source | None]:
    """What is overdue, the clamps and ``from``, written once more."""
    if at is None:
        return at, source
    timing, from_now = state.timing, moment in {"fired", "skipped", "settled"}
    at = max(at, now)
    if isinstance(timing.schedule, Every | Cron | Daily | Weekly | Monthly):
        anchor = now if from_now else state.last_completed_at
        if timing.min_interval and anchor and at - anchor < timing.min_interval:
            at, source = anchor + timing.min_interval, Source.CLAMPED_MIN
        latest = max(now, (anchor or state.scheduled_at) + timing.max_interval) if timing.max_interval else at
        if at > latest:
            at, source = latest, Source.CLAMPED_MAX
    return max(at, timing.begins_at or at), source


@often
@given(instants, states(), moments, shares)
def test_candidates_of_the_trail_explain_the_winner_when_the_rules_are_applied_again(
    now: datetime, state: JobState, moment: Moment, share: float
) -> None:
    decision = decide(now, state, moment=moment, share=share)
    assume(not is_kept(decision, state))
    winner = chosen_from(decision.trail, is_under_way=moment == "fired" or state.is_running)
    (step,) = (step for step in decision.trail if step.rule is Rule.CHOSEN)
    assert (step.at, step.source) == winner
    before_life = [step for step in decision.trail if step.rule not in {"quiet", "ended", "paused"}]
    assert (before_life[-1].at, before_life[-1].source) == clamped(*winner, now, state, moment)


@often
@given(instants, states(is_enabled=True), moments)
def test_every_hint_is_in_the_trail_when_hints_apply(now: datetime, state: JobState, moment: Moment) -> None:
    decision = decide(now, state, moment=moment)
    assume(not is_kept(decision, state))
    assume(not isinstance(state.timing.schedule, Once | Manual | Webhook | Chat | After))
    seen = [(step.source, step.rule) for step in decision.trail[2:] if step.rule in {"candidate", "ignored"}]
    under_way = moment == "fired" or state.is_running
    expected = []
    for hint in state.hints:
        source = {IntervalHint: "ai-interval", OneShotHint: "ai-oneshot", PauseHint: "paused"}[type(hint)]
        if hint.expires_at <= now or (source == "ai-oneshot" and under_way):
            expected.append((source, "ignored"))
        elif source != "paused":
            expected.append((source, "candidate"))
    assert seen == expected


@often
@given(states(is_plain=True, is_enabled=True), spans, st.lists(instants, min_size=2, max_size=8))
def test_job_is_never_postponed_when_a_hint_is_renewed_for_ever(
    state: JobState, interval: timedelta, times: list[datetime]
) -> None:
    """So proposing a hint again and again never postpones a job."""
    plans = []
    for now in sorted(times):
        hint = IntervalHint(interval=interval, expires_at=now + MINUTE, author=now.isoformat())
        planned = plans[-1] if plans else None
        plans.append(decide(now, msgspec.structs.replace(state, hints=(hint,), planned=planned)))
        forgetful = decide(now, msgspec.structs.replace(state, hints=(hint,)))
        assert forgetful.next_run_at == (plans[0].next_run_at and max(now, plans[0].next_run_at))
    for earlier, later in pairwise(plans):
        assert later.next_run_at == earlier.next_run_at


@often
@given(instants, states(is_enabled=True), moments)
def test_pause_always_wins_when_its_end_is_ahead(now: datetime, state: JobState, moment: Moment) -> None:
    """Pause: paused_until > now returns it, source paused, over everything."""
    decision = decide(now, state, moment=moment)
    assume(not is_kept(decision, state))
    is_clocked = isinstance(state.timing.schedule, Every | Cron | Daily | Weekly | Monthly)
    hints = [hint for hint in state.hints if is_clocked and isinstance(hint, PauseHint) and hint.expires_at > now]
    ends = [hint.pause_until for hint in hints]
    end = max([now, *ends, state.paused_until or now])
    assert (decision.source is Source.PAUSED) is (end > now)
    if end > now:
        assert decision.next_run_at == (None if end == datetime.max.replace(tzinfo=UTC) else end)


@often
@given(instants, states(is_plain=True, is_enabled=True), hint_sets(), st.sampled_from(["fired", "skipped", "settled"]))
def test_clamps_always_hold_when_they_count_from_now(
    now: datetime, state: JobState, hints: tuple[AnyHint, ...], moment: str
) -> None:
    """Clamps: min_interval, then max_interval. Over hints too."""
    state = msgspec.structs.replace(state, hints=tuple(hint for hint in hints if not isinstance(hint, PauseHint)))
    at = decide(now, state, moment=Moment(moment)).next_run_at
    least, most = state.timing.min_interval, state.timing.max_interval
    if at is not None:
        assert least is None or at >= now + least
        assert most is None or at <= now + most


@often
@given(instants, states(is_enabled=False), moments, shares)
def test_disabled_job_has_no_new_time_when_asked(now: datetime, state: JobState, moment: Moment, share: float) -> None:
    decision = decide(now, state, moment=moment, share=share)
    assert is_kept(decision, state) or (decision.next_run_at, decision.source) == (None, Source.NONE)
