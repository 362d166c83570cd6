"""The latest runs of many jobs at once. On every database."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from rota.errors import ConflictError, NotFoundError, ScheduleError
from rota.ledger.site import Site
from rota.operations import jobs, outcomes
from rota.operations.outcomes import list_outcomes
from rota.ports.caller import Door
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, MINUTE, OK, job, record_of, save

pytestmark = pytest.mark.anyio


def other_door(site: Site) -> Site:
    """A program asks."""
    return msgspec.structs.replace(site, caller=msgspec.structs.replace(site.caller, door=Door.API))


async def test_each_job_has_its_latest_runs_the_newest_first(hand: HandCranked, site: Site) -> None:
    await save(hand, job("a", "*/10 * * * *"), job("b", "*/20 * * * *"), job("c", "manual"))
    hand.action._decide = lambda run: (timedelta(), FAILED if run.job == "b" else OK)
    await hand.crank(NOW + 60 * MINUTE)
    found = (await list_outcomes(site, limit=4)).items
    assert [(one.job, len(one.runs)) for one in found] == [("a", 4), ("b", 3), ("c", 0)]
    a, b, _ = found
    assert [run.due_at for run in a.runs] == [NOW + minute * MINUTE for minute in (60, 50, 40, 30)]
    assert {(run.job, run.state, run.cause, run.attempt, run.count) for run in b.runs} == {
        ("b", "failed", "schedule", 1, 1)
    }
    assert {run.reason for run in b.runs} == {"exit"}


async def test_only_those_that_are_named_are_given(hand: HandCranked, site: Site) -> None:
    await save(hand, job("nightly", "*/10 * * * *"), job("nice", "*/10 * * * *"), job("other", "*/10 * * * *"))
    await hand.crank(NOW + 10 * MINUTE)
    program = other_door(site)
    record = await record_of(hand, "other")
    page = await list_outcomes(program, job=("nightly", record.id, "nobody", "ni"))
    assert ([one.job for one in page.items], page.next) == (["nightly", "other"], None)
    assert (await list_outcomes(program, job=("nobody",))).items == ()
    assert [one.job for one in (await list_outcomes(site, job=("nig", "other"))).items] == ["nightly", "other"]
    with pytest.raises(NotFoundError):
        await list_outcomes(site, job=("nobody",))
    with pytest.raises(ConflictError):
        await list_outcomes(site, job=("ni",))
    with pytest.raises(ScheduleError, match="at most 200"):
        await list_outcomes(program, job=tuple(f"j{number}" for number in range(201)))


async def test_all_jobs_come_in_pages(hand: HandCranked, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "MOST", 2)
    await save(hand, *(job(name, "manual") for name in "abcd"))
    await jobs.run_job(site, job="c")
    first = await list_outcomes(site)
    assert ([one.job for one in first.items], first.next) == (["a", "b"], "b")
    second = await list_outcomes(site, after=first.next)
    assert ([(one.job, len(one.runs)) for one in second.items], second.next) == ([("c", 1), ("d", 0)], None)
    assert (await list_outcomes(site, after="d")).items == ()
