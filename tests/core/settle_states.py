"""Builders of runs and outcomes for the tests of settling."""

from __future__ import annotations

from rota.core.chain import After, ChainOn
from rota.core.decision import Source
from rota.core.job import JobState
from rota.core.run import Cause, Run, RunState
from rota.core.schedule import Schedule
from rota.core.settlement import Child, Outcome, Settlement, SettleRules, settle
from tests.core.states import EVERY_5M, NOW, job_state, planned, today

DUE_AT = today("09:55")
AFTER_RUN = planned(None, Source.AFTER_RUN)
SCHEDULED = (Cause.SCHEDULE, Cause.CATCH_UP)
OUTSIDE = tuple(cause for cause in Cause if cause not in (*SCHEDULED, Cause.RETRY))
FAILED = (RunState.FAILED, RunState.PERMANENT_FAILURE, RunState.TIMED_OUT, RunState.LOST)
NEUTRAL = (RunState.CANCELLED, RunState.SKIPPED)
ENDS = (RunState.SUCCEEDED, *FAILED, *NEUTRAL)


def a_run(origin: Cause = Cause.SCHEDULE, **fields: object) -> Run:
    """A running run of the job report; a second attempt is a retry of its origin."""
    standard: dict[str, object] = {
        "id": "run-1",
        "job": "report",
        "cause": origin if fields.get("attempt", 1) == 1 else Cause.RETRY,
        "origin": origin,
        "state": RunState.RUNNING,
        "due_at": DUE_AT,
        "requested_at": DUE_AT,
        "started_at": DUE_AT,
    }
    return Run(**(standard | fields))


def running(schedule: Schedule = EVERY_5M, /, **fields: object) -> JobState:
    """A job whose scheduled run is under way."""
    standard: dict[str, object] = {"is_running": True, "planned": AFTER_RUN, "last_completed_at": today("09:50")}
    return job_state(schedule, **(standard | fields))


def ended(state: RunState, **fields: object) -> Outcome:
    return Outcome(state=state, **fields)


def settled(
    state: RunState, origin: Cause = Cause.SCHEDULE, job: JobState | None = None, **fields: object
) -> Settlement:
    """The settlement at 10:00; fields of the outcome, of the run (attempt, depth) and of the rules by their names."""
    run = a_run(origin, **{name: fields.pop(name) for name in ("attempt", "depth") if name in fields})
    rules = {name: fields.pop(name) for name in SettleRules.__struct_fields__ if name in fields}
    children = fields.pop("children", ())
    return settle(
        NOW, run, ended(state, **fields), state=job or running(), rules=SettleRules(**rules), children=children
    )


def child(job: str = "deploy", on: ChainOn = ChainOn.SUCCESS, **fields: object) -> Child:
    return Child(job, After("report", on, **fields))
