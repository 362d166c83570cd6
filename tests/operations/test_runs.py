"""Lists and counts of runs, on every database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from rota.core.run import Cause, RunState
from rota.errors import NotFoundError
from rota.ledger.site import Site
from rota.operations import counting, jobs, runs
from rota.operations.counting import Facet
from rota.ports.caller import Caller, Door, Role
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, HOUR, MINUTE, OK, job, save

pytestmark = pytest.mark.anyio


@pytest.fixture
async def history(site: Site, hand: HandCranked) -> Site:
    """Two jobs that ran every five minutes for a quarter of an hour; one of them fails. And one was run by hand."""
    hand.action._decide = lambda work: (timedelta(), FAILED if work.job == "bad" else OK)
    await save(hand, job("good", "*/5 * * * *", agent="coder"), job("bad", "*/5 * * * *"))
    await hand.crank(NOW + 15 * MINUTE)
    await jobs.run_job(site, job="good", input="by hand")
    await hand.step()
    return site


async def test_runs_are_found_by_the_priority_that_their_cause_has(history: Site) -> None:
    by_hand = await runs.list_runs(history, priority=0)
    assert [run.cause for run in by_hand.items] == ["manual"]
    assert len((await runs.list_runs(history, priority=1)).items) == 6
    assert (await runs.list_runs(history, priority=2)).items == ()
    assert len((await runs.list_runs(history, priority=0, cause=Cause.MANUAL)).items) == 1
    assert (await runs.list_runs(history, priority=1, cause=Cause.MANUAL)).items == ()


async def test_every_filter_goes_with_every_other_and_with_pages(history: Site) -> None:
    wanted = {"job": "bad", "state": (RunState.FAILED,), "cause": Cause.SCHEDULE, "priority": 1}
    first = await runs.list_runs(history, **wanted, since=NOW, limit=2)
    assert (len(first.items), first.next is not None) == (2, True)
    rest = await runs.list_runs(history, **wanted, since=NOW, after=first.next, limit=2)
    assert (len(rest.items), rest.next) == (1, None)
    assert {run.id for run in first.items} & {run.id for run in rest.items} == set()
    assert (await runs.list_runs(history, **wanted, agent="coder")).items == ()
    assert len((await runs.list_runs(history, job="bad", until=NOW + 10 * MINUTE)).items) == 1


async def test_live_runs_are_found_among_many_that_have_ended(history: Site, hand: HandCranked) -> None:
    hand.action._decide = lambda _: (HOUR, OK)
    asked = [(await jobs.run_job(history, job=name)).run_id for name in ("good", "bad", "good")]
    await hand.step()

    async def found(*states: RunState, **wanted: Any) -> list[str]:  # noqa: ANN401
        return [run.id for run in (await runs.list_runs(history, state=states, **wanted)).items]

    waiting = await found(RunState.QUEUED)
    assert [*waiting, *await found(RunState.RUNNING)] == [asked[2], asked[1], asked[0]]
    assert await found(RunState.RUNNING, RunState.QUEUED) == asked[::-1]
    assert await found(RunState.RUNNING, RunState.QUEUED, job="bad") == [asked[1]]
    assert await found(RunState.RUNNING, agent="coder") == [asked[0]]
    assert await found(RunState.RUNNING, RunState.QUEUED, priority=1) == await found(RunState.HELD) == []
    page = await runs.list_runs(history, state=(RunState.RUNNING, RunState.QUEUED), limit=2)
    rest = await runs.list_runs(history, state=(RunState.RUNNING, RunState.QUEUED), limit=2, after=page.next)
    assert [run.id for run in (*page.items, *rest.items)] == asked[::-1]
    await hand.crank(NOW + 4 * HOUR)
    assert await found(RunState.RUNNING, RunState.QUEUED, until=NOW + HOUR) == []


async def test_a_list_does_not_read_what_may_be_long_and_a_run_by_itself_has_it(history: Site) -> None:
    for query in (
        lambda tx: tx.runs(before="run_z", most=9),
        lambda tx: tx.runs_of_name(job="good", before="run_z", most=9),
    ):
        rows = await history.store.read(query)
        assert rows
        assert {(row.trail, row.result, row.response, row.input, row.note) for row in rows} == {(None,) * 5}
    (run,) = (await runs.list_runs(history, priority=0)).items
    assert (await runs.show_run(history, run=run.id)).input == "by hand"


async def test_runs_are_counted_by_what_they_have_in_common(history: Site) -> None:
    counts = await counting.count_runs(history)
    assert (counts.total, counts.is_cut) == (7, False)
    assert counts.states == (Facet("succeeded", 4), Facet("failed", 3))
    assert counts.causes == (Facet("schedule", 6), Facet("manual", 1))
    assert counts.agents == (Facet("coder", 4),)
    assert counts.jobs == (Facet("good", 4), Facet("bad", 3))


async def test_a_facet_shows_what_its_own_filter_leaves_out(history: Site) -> None:
    counts = await counting.count_runs(history, state=(RunState.FAILED,), priority=1)
    assert counts.total == 3
    assert counts.states == (Facet("failed", 3), Facet("succeeded", 3))
    assert counts.causes == (Facet("schedule", 3),)
    assert counts.agents == ()
    assert counts.jobs == (Facet("bad", 3),)
    of_agent = await counting.count_runs(history, agent="coder", since=NOW + 10 * MINUTE)
    assert (of_agent.total, of_agent.jobs) == (3, (Facet("good", 3),))


async def test_nothing_is_counted_when_nothing_is_meant(history: Site) -> None:
    nothing = await counting.count_runs(history, job="bad", priority=0)
    assert (nothing.total, nothing.jobs) == (0, ())
    assert (await counting.count_runs(history, until=NOW)).total == 0
    with pytest.raises(NotFoundError):
        await counting.count_runs(history, job="nobody")


async def test_a_count_is_that_of_the_list(history: Site) -> None:
    for wanted in ({}, {"job": "good"}, {"agent": "coder"}, {"state": (RunState.FAILED,)}, {"priority": 0}):
        listed = await runs.list_runs(history, **wanted, limit=100)  # type: ignore[arg-type]
        assert (await counting.count_runs(history, **wanted)).total == len(listed.items)  # type: ignore[arg-type]


async def test_only_so_many_are_looked_at(history: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "LOOKED_AT", 3)
    counts = await counting.count_runs(history)
    assert (counts.total, counts.is_cut) == (3, True)
    of_job = await counting.count_runs(history, job="bad")
    assert (of_job.total, of_job.jobs) == (3, (Facet("bad", 3),))


async def test_a_run_counts_only_what_it_may_see(history: Site) -> None:
    own = (await jobs.find_job(history, "bad")).id
    inside = Caller(name="run_1", door=Door.API, role=Role.READ, run_id="run_1", job_id=own, agent=None)
    counts = await counting.count_runs(msgspec.structs.replace(history, caller=inside))
    assert counts.jobs == (Facet("bad", 3),)
