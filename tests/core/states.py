"""Builders of job states, and the one day that the tests of the governor play on: Monday, 2 March 2026."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from rota.core.decision import Decision, Moment, Rule, Source, Step
from rota.core.hint import AnyHint, IntervalHint, OneShotHint, PauseHint
from rota.core.job import JobState, Timing
from rota.core.schedule import Cron, Every, Schedule


def on_march(day: int, clock: str) -> datetime:
    """A time in March 2026, in UTC."""
    return datetime.combine(datetime(2026, 3, day, tzinfo=UTC), time.fromisoformat(clock), tzinfo=UTC)


def today(clock: str) -> datetime:
    """A time on Monday, 2 March 2026, in UTC."""
    return on_march(2, clock)


NOW = today("10:00")
CREATED_AT = on_march(1, "08:00")
TONIGHT = today("23:00")
TICK = timedelta(microseconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
EVERY_5M = Every(5 * MINUTE)
HALF_PAST = Cron("30 * * * *")


def job_state(schedule: Schedule = EVERY_5M, /, **fields: object) -> JobState:
    """A job named report, created on 1 March; fields of its timing and of its state by their names."""
    timing = {name: fields.pop(name) for name in Timing.__struct_fields__ if name in fields}
    standard: dict[str, object] = {"name": "report", "created_at": CREATED_AT, "scheduled_at": CREATED_AT}
    return JobState(timing=Timing(schedule=schedule, **timing), **(standard | fields))


def interval_hint(
    interval: timedelta, expires_at: datetime = TONIGHT, author: str = "", reason: str = ""
) -> IntervalHint:
    return IntervalHint(interval=interval, expires_at=expires_at, author=author, reason=reason)


def oneshot_hint(run_at: datetime, expires_at: datetime = TONIGHT, author: str = "", reason: str = "") -> OneShotHint:
    return OneShotHint(run_at=run_at, expires_at=expires_at, author=author, reason=reason)


def pause_hint(pause_until: datetime, expires_at: datetime = TONIGHT) -> PauseHint:
    return PauseHint(pause_until=pause_until, expires_at=expires_at)


_COUNTED = (Source.BASELINE_INTERVAL, Source.AI_INTERVAL, Source.PAUSED)


def planned(next_run_at: datetime | None, source: Source = Source.BASELINE_INTERVAL) -> Decision:
    """A decision made earlier, recognisable by its trail; appointments stand for themselves."""
    match_at = None if source in _COUNTED else next_run_at
    return Decision(next_run_at, source, (Step(Rule.ASKED, today("09:00"), because="earlier"),), match_at=match_at)


def asked(moment: Moment, now: datetime = NOW) -> Step:
    """The first step of every trail."""
    return Step(Rule.ASKED, now, None, None, moment.value)


def answer(decision: Decision) -> tuple[datetime | None, Source]:
    return decision.next_run_at, decision.source


def rules(decision: Decision) -> list[Rule]:
    return [step.rule for step in decision.trail]


def hints_of(*hints: AnyHint | None) -> tuple[AnyHint, ...]:
    return tuple(hint for hint in hints if hint is not None)
