"""How machines fare, and what runs under way show of themselves. On every database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rota.ledger.site import Site
from rota.operations import jobs
from rota.operations.workers import list_heartbeats, list_snapshots
from rota.ports.machine import Vitals
from rota.testing import FakeAction, FakeClock, HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import HOUR, MINUTE, OK, job, save

pytestmark = pytest.mark.anyio


async def second(site: Site, clock: FakeClock) -> HandCranked:
    other = HandCranked(site.store, clock, worker="wrk_2", seed=2, action=FakeAction(clock))
    other.machine.pid = 2
    other.machine.alive = {1}
    await other.open()
    return other


async def test_snapshots_are_given_by_worker_and_time_the_latest_first(
    hand: HandCranked, site: Site, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await list_snapshots(site)).items == ()
    other = await second(site, clock)
    monkeypatch.setattr(hand.machine, "vitals", lambda: Vitals(12.5, 345.0, 0.75, 2))
    for minute in range(3):
        clock.set(NOW + minute * MINUTE)
        await hand.engine.watch.step()
        await other.engine.watch.step()
    found = (await list_snapshots(site, worker="wrk_1")).items
    assert [one.taken_at for one in found] == [NOW + 2 * MINUTE, NOW + MINUTE, NOW]
    assert {one.worker for one in found} == {"wrk_1"}
    first = found[0]
    assert (first.cpu_percent, first.memory_mb, first.load, first.tmux_sessions) == (12.5, 345.0, 0.75, 2)
    assert (first.active_workers, first.active_agents, first.running) == (2, 0, 0)
    everything = (await list_snapshots(site)).items
    assert (len(everything), {one.worker for one in everything}) == (6, {"wrk_1", "wrk_2"})
    assert [one.taken_at for one in everything] == sorted((one.taken_at for one in everything), reverse=True)
    assert len((await list_snapshots(site, limit=4)).items) == 4
    late = await list_snapshots(site, since=NOW + 2 * MINUTE)
    assert {one.taken_at for one in late.items} == {NOW + 2 * MINUTE}
    assert (await list_snapshots(site, worker="wrk_2", since=NOW + 3 * MINUTE)).items == ()
    assert (await list_snapshots(site, worker="nobody")).items == ()


async def test_heartbeats_are_those_of_runs_under_way(hand: HandCranked, site: Site) -> None:
    hand.action._decide = lambda run: (HOUR if run.job == "long" else 2 * MINUTE, OK)
    await save(hand, job("long", "manual", agent="coder", timeout=None), job("short", "manual"))
    long = await jobs.run_job(site, job="long")
    await jobs.run_job(site, job="short")
    await hand.step()
    assert (await list_heartbeats(site)).items == ()
    await hand.crank(NOW + MINUTE)
    await hand.engine.watch.step()
    assert [one.job for one in (await list_heartbeats(site)).items] == ["long", "short"]
    await hand.crank(NOW + 11 * MINUTE)
    await hand.engine.watch.step()
    (found,) = (await list_heartbeats(site)).items
    assert (found.run_id, found.job, found.agent, found.worker) == (long.run_id, "long", "coder", "wrk_1")
    assert (found.status, found.started_at, found.last_seen_at) == ("silent", NOW, NOW + 11 * MINUTE)
    await hand.crank(NOW + HOUR + timedelta(minutes=1))
    assert (await list_heartbeats(site)).items == ()


async def test_a_run_that_another_worker_took_over_has_no_heartbeat_of_the_first(
    hand: HandCranked, site: Site, clock: FakeClock
) -> None:
    hand.action._decide = lambda _: (HOUR, OK)
    await save(hand, job("long", "manual"))
    await jobs.run_job(site, job="long")
    await hand.step()
    await hand.engine.watch.step()
    assert len((await list_heartbeats(site)).items) == 1
    await second(site, clock)
    clock.set(NOW + 2 * MINUTE)
    other = HandCranked(site.store, clock, worker="wrk_3", seed=3)
    await other.open()
    assert (await list_heartbeats(site)).items == ()
