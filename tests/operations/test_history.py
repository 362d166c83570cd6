"""The history of a job: runs, lengths, and two years of days. On every database."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from rota.core.run import RunState
from rota.core.settlement import Outcome
from rota.engine import upkeep
from rota.errors import NotFoundError
from rota.ledger.site import Site
from rota.operations import jobs
from rota.operations.history import Alike, DayTally, lengths_of, show_history, tallied
from rota.operations.runs import cancel_run
from rota.ports.glances import MarkRecord
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, HOUR, MINUTE, OK, job, runs_of, save

pytestmark = pytest.mark.anyio
DAY = timedelta(days=1)
MARK = MarkRecord("run_1", "a", "job_1", "succeeded", "schedule", 1, None, 0, 0, 0, None, None)


def lasting(*seconds: float, state: str = "succeeded") -> list[MarkRecord]:
    return [msgspec.structs.replace(MARK, state=state, ended_at=int(one * 1e6)) for one in seconds]


def test_the_usual_length_is_that_of_successes() -> None:
    assert lengths_of([]) == (None, None)
    assert lengths_of([*lasting(9, state="failed"), msgspec.structs.replace(MARK, started_at=None)]) == (None, None)
    assert lengths_of(lasting(3)) == (3, 3)
    assert lengths_of([*lasting(1, 4, 2, 3), *lasting(99, state="timed_out")]) == (2.5, 4)
    assert lengths_of(lasting(*range(1, 101))) == (50.5, 95)
    assert lengths_of(lasting(-5)) == (0, 0)


def test_days_add_up_failures_of_every_kind_and_what_is_no_longer_kept() -> None:
    alike = [
        Alike("2026-03-02", "succeeded", 2, 10.0),
        Alike("2026-03-02", "failed", 1, 1.0),
        Alike("2026-03-02", "timed_out", 1, 1.5),
        Alike("2026-03-01", "skipped", 40, 0.0),
        Alike("2026-03-02", "succeeded", 3, 0.5),
    ]
    assert tallied(alike) == (
        DayTally(day="2026-03-01", skipped=40),
        DayTally(day="2026-03-02", succeeded=5, failed=2, seconds=13.0),
    )
    assert {state for state in RunState if hasattr(DayTally(day=""), state)} >= {"skipped", "missed", "cancelled"}


async def test_a_new_job_has_only_days_to_come(hand: HandCranked, site: Site) -> None:
    await save(hand, job("daily", "0 9 * * *", timing={"zone": "Europe/Berlin"}))
    found = await show_history(site, job="daily")
    assert (found.job, found.runs, found.typical, found.slow, found.days) == ("daily", (), None, None, ())
    assert (len(found.planned), found.planned_until) == (365, NOW + 365 * DAY)
    assert (found.planned[0].day, found.planned[0].count) == ("2026-03-03", 1)
    with pytest.raises(NotFoundError):
        await show_history(site, job="nobody")


async def test_runs_are_counted_by_the_day_of_the_jobs_zone(hand: HandCranked, site: Site) -> None:
    """At 10:30 in London it is already the next day in Kiritimati."""
    outcomes = iter([OK, FAILED, Outcome(state=RunState.TIMED_OUT), OK])
    hand.action._decide = lambda _: (2 * MINUTE, next(outcomes, OK))
    await save(hand, job("far", "30 * * * *", timing={"zone": "Pacific/Kiritimati"}))
    await hand.crank(NOW + 4 * HOUR)
    found = await show_history(site, job="far")
    assert found.days == (DayTally(day="2026-03-03", succeeded=2, failed=2, seconds=480.0),)
    assert (found.typical, found.slow) == (120.0, 120.0)
    assert [run.state for run in found.runs] == ["succeeded", "timed_out", "failed", "succeeded"]
    assert found.planned[0].day == "2026-03-03"


async def test_what_came_to_nothing_counts_for_as_many_due_times_as_it_stands_for(
    hand: HandCranked, site: Site
) -> None:
    await save(hand, job("hourly", "0 * * * *"), job("hand", "manual"))
    hand.clock.set(NOW + 3 * HOUR + 30 * MINUTE)
    await hand.step()
    await jobs.run_job(site, job="hand")
    requested = (await runs_of(hand, "hand"))[0]
    await cancel_run(site, run=requested.id)
    assert (await show_history(site, job="hourly")).days == (DayTally(day="2026-03-02", missed=3),)
    assert (await show_history(site, job="hand")).days == (DayTally(day="2026-03-02", cancelled=1),)


async def test_runs_that_are_no_longer_kept_stay_counted(
    hand: HandCranked, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "KEPT_PER_JOB", 2)
    outcomes = iter([OK, FAILED])
    hand.action._decide = lambda _: (MINUTE, next(outcomes, OK))
    await save(hand, job("often", "0 */6 * * *", timing={"zone": "America/New_York"}))
    await hand.crank(NOW + 3 * DAY)
    hand.clock.set(NOW + 120 * DAY)
    before = await show_history(site, job="often")
    assert await upkeep.prune(site) > 0
    after = await show_history(site, job="often")
    assert (len(before.runs), len(after.runs)) == (12, 2)
    assert after.days == before.days
    assert sum(day.succeeded + day.failed for day in after.days) == 12
    hand.clock.set(NOW + 367 * DAY)
    assert (await show_history(site, job="often")).days[0].day == "2026-03-05"
