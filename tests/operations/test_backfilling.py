"""Backfill: what did not run in the past is run after all, once."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rota.errors import ConflictError, ScheduleError
from rota.ledger.site import Site
from rota.operations import auditing, jobs, runs
from rota.operations.backfilling import preview_backfill, start_backfill
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import HOUR, MINUTE, clocks, job, runs_of, save

pytestmark = pytest.mark.anyio


async def test_a_preview_counts_and_changes_nothing(site: Site, hand: HandCranked) -> None:
    await save(hand, job("report", "*/10 * * * *"))
    found = await preview_backfill(site, job="report", begin=NOW - HOUR, end=NOW)
    assert (found.due, found.already_ran, found.to_run, found.takes) == (6, 0, 6, "5s")
    assert (found.first, found.last) == (NOW - HOUR, NOW - 10 * MINUTE)
    assert (await runs.list_runs(site)).items == ()


async def test_what_ran_already_is_left_out_and_asking_again_adds_nothing(site: Site, hand: HandCranked) -> None:
    await save(hand, job("report", "*/10 * * * *"))
    await hand.crank(NOW + 31 * MINUTE)
    begin, end = NOW - 20 * MINUTE, NOW + 31 * MINUTE
    started = await start_backfill(site, job="report", begin=begin, end=end)
    assert (started.due, started.already_ran, started.to_run, len(started.run_ids)) == (6, 3, 3, 3)
    assert (await start_backfill(site, job="report", begin=begin, end=end)).run_ids == ()
    await hand.crank(NOW + 40 * MINUTE)
    backfilled = [run for run in await runs_of(hand, "report") if run.cause == "backfill"]
    assert clocks(backfilled) == ["09:40", "09:50", "10:00"]
    assert {run.state for run in backfilled} == {"succeeded"}
    assert [one.operation for one in (await auditing.list_audit(site)).items] == ["backfill.start"] * 2


async def test_a_backfill_is_throttled(site: Site, hand: HandCranked) -> None:
    await save(hand, job("report", "*/10 * * * *"))
    await start_backfill(site, job="report", begin=NOW - HOUR, end=NOW, per_minute=2)
    starts = [run.start_after for run in await runs_of(hand, "report")]
    gaps = {later - earlier for earlier, later in pairwise(starts) if earlier and later}
    assert gaps == {30_000_000}
    await hand.crank(NOW + MINUTE)
    assert sum(run.state == "succeeded" for run in await runs_of(hand, "report")) == 3


async def test_missed_and_cancelled_times_are_open_to_a_backfill(site: Site, hand: HandCranked) -> None:
    await save(hand, job("report", "*/10 * * * *"))
    hand.clock.set(NOW + HOUR)
    await hand.step()
    missed = [run for run in await runs_of(hand, "report") if run.state == "missed"]
    assert missed
    found = await preview_backfill(site, job="report", begin=NOW, end=NOW + 50 * MINUTE)
    assert found.to_run == 5


async def test_quiet_hours_are_no_due_times(site: Site, hand: HandCranked) -> None:
    words = {"cron": "*/10 * * * *", "command": ["true"], "quiet": ["09:00-09:35"]}
    await jobs.add_job(site, name="report", definition=words)
    assert (await preview_backfill(site, job="report", begin=NOW - HOUR, end=NOW)).due == 2
    assert hand.clock.now() == NOW


async def test_a_backfill_that_makes_no_sense_is_refused(site: Site, hand: HandCranked) -> None:
    await save(hand, job("often", "* * * * *"), job("tick", "every 5m"), job("hand", "manual"))
    with pytest.raises(ScheduleError, match="a time after the begin") as refused:
        await preview_backfill(site, job="often", begin=NOW, end=NOW)
    assert refused.value.field == "end"
    with pytest.raises(ScheduleError, match="has passed"):
        await preview_backfill(site, job="often", begin=NOW, end=NOW + HOUR)
    with pytest.raises(ConflictError, match="More than 10000 due times"):
        await preview_backfill(site, job="often", begin=NOW - 200 * HOUR, end=NOW)
    with pytest.raises(ConflictError, match="is an interval"):
        await preview_backfill(site, job="tick", begin=NOW - HOUR, end=NOW)
    with pytest.raises(ConflictError, match="no due times of its own"):
        await preview_backfill(site, job="hand", begin=NOW - HOUR, end=NOW)


async def test_a_proposed_job_has_no_backfill_before_somebody_accepts_it(site: Site, hand: HandCranked) -> None:
    await jobs.propose_job(site, name="idea", definition={"cron": "*/10 * * * *", "command": ["true"]})
    with pytest.raises(ConflictError, match="rota job accept idea"):
        await start_backfill(site, job="idea", begin=NOW - HOUR, end=NOW)
    assert await runs_of(hand, "idea") == []
    await jobs.accept_job(site, job="idea")
    assert len((await start_backfill(site, job="idea", begin=NOW - HOUR, end=NOW)).run_ids) == 6
