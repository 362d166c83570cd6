"""Events: told with what they tell of, in order, each once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rota.errors import ScheduleError
from rota.ledger.events import Event, tell
from rota.ledger.site import Site
from rota.operations import jobs
from rota.operations.events import EventReader, list_events
from rota.ports.records import micros
from rota.ports.store import Transaction
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, HOUR, MINUTE, OK, job, save

pytestmark = pytest.mark.anyio


async def test_the_life_of_a_run_is_told(site: Site, hand: HandCranked) -> None:
    await save(hand, job("tick", "*/10 * * * *"))
    await hand.crank(NOW + 10 * MINUTE)
    found = [(one.event, one.job) for one in (await list_events(site)).items]
    assert found == [("run.started", "tick"), ("run.succeeded", "tick")]


async def test_a_failure_a_skip_and_a_request_are_told_with_reason_and_name(site: Site, hand: HandCranked) -> None:
    hand.action._decide = lambda _: (15 * MINUTE, FAILED)
    await save(hand, job("slow", "*/10 * * * *"))
    await hand.crank(NOW + 20 * MINUTE)
    await jobs.run_job(site, job="slow")
    await hand.crank(NOW + 25 * MINUTE)
    found = (await list_events(site)).items
    told = {(one.event, one.reason, one.by) for one in found}
    assert ("run.skipped", "already_running", None) in told
    assert ("run.failed", "exit", None) in told
    assert ("run.queued", None, "ada") in told
    assert any(one.event == "notice.failure" for one in found)


async def test_pages_of_events_meet_without_gap_or_repeat(site: Site) -> None:
    async def body(tx: Transaction) -> None:
        for number in range(5):
            await tell(tx, NOW, site, [Event("test.told", f"{number}-{index}") for index in range(3)])

    await site.store.write(body)
    first = (await list_events(site, limit=15)).items
    assert [one.job for one in first] == [f"{number}-{index}" for number in range(5) for index in range(3)]
    seen, after = [first[0]], first[0].id
    while items := (await list_events(site, after=after, limit=2)).items:
        seen += items
        after = items[-1].id
    assert seen == list(first)
    assert [one.job for one in (await list_events(site, limit=4)).items] == ["3-2", "4-0", "4-1", "4-2"]


@pytest.mark.parametrize("after", ["", "evt_", "run_00064c0e4c2a00000000a1b2c3d4", "evt_00zz", "evt_00064c0e4c2a;--"])
async def test_what_is_no_event_is_refused(site: Site, after: str) -> None:
    with pytest.raises(ScheduleError):
        await list_events(site, after=after)


async def test_a_reader_gives_each_event_once_also_one_that_was_committed_late(site: Site, hand: HandCranked) -> None:
    reader = EventReader(site)
    await _tell(site, NOW - timedelta(seconds=1), "before")
    assert await reader.read() == []
    await _tell(site, NOW + timedelta(seconds=2), "second")
    assert [one.job for one in await reader.read()] == ["second"]
    # Made earlier, committed later.
    await _tell(site, NOW + timedelta(seconds=1), "first")
    hand.clock.set(NOW + timedelta(seconds=3))
    assert [one.job for one in await reader.read()] == ["first"]
    assert await reader.read() == []


async def test_a_reader_that_resumes_misses_nothing(site: Site, hand: HandCranked) -> None:
    for number in range(2_500):
        await _tell(site, NOW + timedelta(milliseconds=number), str(number))
    hand.clock.set(NOW + HOUR)
    (first,) = (await list_events(site, after=None, limit=2_500)).items[:1]
    resumed = await EventReader(site, after=first.id).read()
    assert [one.job for one in resumed] == [str(number) for number in range(1, 2_500)]


async def test_events_go_when_they_are_old(site: Site, hand: HandCranked) -> None:
    hand.action._decide = lambda _: (MINUTE, OK)
    await _tell(site, NOW, "old")
    hand.clock.set(NOW + timedelta(days=8))
    await hand.engine.prune.step()
    assert (await list_events(site)).items == ()
    assert micros(NOW)


async def _tell(site: Site, at: object, job_name: str) -> None:
    async def body(tx: Transaction) -> None:
        await tell(tx, at, site, [Event("test.told", job_name)])  # type: ignore[arg-type]

    await site.store.write(body)
