"""Jobs that follow one another, and the runs that belong together, on every database."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from rota.core.backoff import Retry
from rota.core.settlement import SettleRules
from rota.errors import NotFoundError
from rota.ledger.site import Site
from rota.operations import chains, families, jobs, runs
from rota.operations.chains import ChainJob, ChainLink
from rota.ports.caller import Caller, Door, Role
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, HOUR, MINUTE, OK, job, runs_of, save

pytestmark = pytest.mark.anyio


async def line(hand: HandCranked) -> None:
    """fetch → build → test and deploy; deploy → tell."""
    await save(
        hand,
        job("fetch", "0 * * * *"),
        job("build", "after fetch on success"),
        job("deploy", "after build on success delay 5m when built"),
        job("test", "after build on done"),
        job("tell", "after deploy on failure"),
        job("other"),
    )


async def test_a_chain_has_all_that_leads_to_a_job_and_all_that_follows(site: Site, hand: HandCranked) -> None:
    await line(hand)
    await jobs.pause_job(site, job="tell")
    chain = await chains.show_chain(site, job="build")
    assert chain.jobs == (
        ChainJob(name="fetch", status="idle", is_self=False, depth=-1),
        ChainJob(name="build", status="idle", is_self=True, depth=0),
        ChainJob(name="deploy", status="idle", is_self=False, depth=1),
        ChainJob(name="test", status="idle", is_self=False, depth=1),
        ChainJob(name="tell", status="paused", is_self=False, depth=2),
    )
    assert chain.links == (
        ChainLink(parent="fetch", child="build", on="success", when=None, delay=None),
        ChainLink(parent="build", child="deploy", on="success", when="built", delay="5m"),
        ChainLink(parent="build", child="test", on="done", when=None, delay=None),
        ChainLink(parent="deploy", child="tell", on="failure", when=None, delay=None),
    )


async def test_siblings_do_not_belong_to_a_chain(site: Site, hand: HandCranked) -> None:
    await line(hand)
    chain = await chains.show_chain(site, job="tell")
    assert [(one.name, one.depth) for one in chain.jobs] == [("fetch", -3), ("build", -2), ("deploy", -1), ("tell", 0)]
    assert [one.name for one in (await chains.show_chain(site, job="other")).jobs] == ["other"]


async def test_a_job_that_is_not_there_is_missing_and_not_left_out(site: Site, hand: HandCranked) -> None:
    await line(hand)
    await jobs.remove_job(site, job="fetch")
    chain = await chains.show_chain(site, job="deploy")
    assert chain.jobs[0] == ChainJob(name="fetch", status="missing", is_self=False, depth=-2)
    assert chain.links[0].parent == "fetch"
    with pytest.raises(NotFoundError):
        await chains.show_chain(site, job="fetch")


async def test_a_run_sees_of_a_chain_what_belongs_to_its_agent(site: Site, hand: HandCranked) -> None:
    await save(hand, job("a", agent="coder"), job("b", "after a on done", agent="coder"), job("c", "after b on done"))
    own = (await jobs.find_job(site, "a")).id
    caller = Caller(name="run_1", door=Door.API, role=Role.READ, run_id="run_1", job_id=own, agent="coder")
    chain = await chains.show_chain(msgspec.structs.replace(site, caller=caller), job="a")
    assert [one.name for one in chain.jobs] == ["a", "b"]
    assert [link.child for link in chain.links] == ["b"]


async def test_a_family_has_all_attempts_parents_and_children(site: Site, hand: HandCranked) -> None:
    failures = iter([FAILED, FAILED])
    hand.action._decide = lambda work: (timedelta(), next(failures, OK) if work.job == "build" else OK)
    again = SettleRules(retry=Retry(max=3, first=MINUTE))
    await save(
        hand,
        job("fetch", "0 * * * *"),
        job("build", "after fetch on success", settle=again),
        job("test", "after build on success"),
        job("deploy", "after test on success"),
    )
    await hand.crank(NOW + 2 * HOUR)
    (fetch, _), builds, (test, _), (deploy, _) = [
        await runs_of(hand, name) for name in ("fetch", "build", "test", "deploy")
    ]
    assert [run.attempt for run in builds] == [1, 2, 3, 1]
    for attempt in builds[:3]:
        family = await families.show_family(site, run=attempt.id)
        assert [one.id for one in family.attempts] == [one.id for one in builds[:3]]
        assert [one.id for one in family.parents] == [fetch.id]
        assert [one.id for one in family.children] == [test.id]
    last = await families.show_family(site, run=deploy.id)
    assert [one.id for one in last.parents] == [test.id, builds[2].id, fetch.id]
    assert ([one.id for one in last.attempts], last.children) == ([deploy.id], ())


async def test_other_runs_of_a_job_are_no_attempts_at_the_same_work(site: Site, hand: HandCranked) -> None:
    await save(hand, job("a", "*/5 * * * *"))
    await hand.crank(NOW + HOUR)
    one, *_ = (await runs.list_runs(site, job="a")).items
    family = await families.show_family(site, run=one.id)
    assert (family.attempts, family.parents, family.children) == ((one,), (), ())
    again = await runs.retry_run(site, run=one.id)
    assert [run.id for run in (await families.show_family(site, run=again.run_id)).attempts] == [again.run_id]


async def test_a_run_sees_only_its_own_family(site: Site, hand: HandCranked) -> None:
    await save(hand, job("a", "0 * * * *"), job("b", "after a on done", agent="coder"))
    await hand.crank(NOW + HOUR)
    ((child,), (parent,)) = (await runs_of(hand, "b"), await runs_of(hand, "a"))
    caller = Caller(name=child.id, door=Door.API, role=Role.READ, run_id=child.id, job_id=child.job_id, agent="coder")
    inside = msgspec.structs.replace(site, caller=caller)
    assert (await families.show_family(inside, run=child.id)).parents == ()
    with pytest.raises(NotFoundError):
        await families.show_family(inside, run=parent.id)
