"""Hints by hand: they take effect at once, end by themselves, and can be taken back."""

from __future__ import annotations

import pytest

from rota.errors import ConflictError, IntervalParseError, NotFoundError, ScheduleError
from rota.ledger.site import Site
from rota.operations import auditing, jobs
from rota.operations.hints import HintKind, list_hints, revert_hint, set_hint
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import HOUR, MINUTE, clocks, job, runs_of, save

pytestmark = pytest.mark.anyio


async def test_a_hint_moves_the_next_time_at_once_and_ends_by_itself(site: Site, hand: HandCranked) -> None:
    await save(hand, job("report", "0 * * * *"))
    hint = await set_hint(site, job="report", every="10m", ttl="25m", reason="busy")
    assert (hint.kind, hint.interval, hint.author, hint.source) == (HintKind.INTERVAL, "10m", "ada", "ai-interval")
    await hand.crank(NOW + 2 * HOUR)
    assert clocks(await runs_of(hand, "report")) == ["10:10", "10:20", "11:00", "12:00"]
    assert (await list_hints(site)).items == ()


async def test_a_hint_taken_back_leaves_the_baseline(site: Site, hand: HandCranked) -> None:
    await save(hand, job("report", "0 * * * *"))
    await set_hint(site, job="report", at=NOW + 7 * MINUTE, reason="now rather")
    await set_hint(site, job="report", pause_until=NOW + 90 * MINUTE, reason="quiet please")
    assert {one.kind for one in (await list_hints(site, job="report")).items} == {HintKind.ONESHOT, HintKind.PAUSE}
    gone = await revert_hint(site, job="report", kind=HintKind.PAUSE)
    assert [one.reason for one in gone.items] == ["quiet please"]
    assert (await jobs.show_job(site, job="report")).source == "ai-oneshot"
    await revert_hint(site, job="report")
    assert (await jobs.show_job(site, job="report")).source == "baseline-cron"
    await hand.crank(NOW + HOUR)
    assert clocks(await runs_of(hand, "report")) == ["11:00"]
    operations = [one.operation for one in (await auditing.list_audit(site)).items]
    assert operations == ["hint.revert", "hint.revert", "hint.set", "hint.set"]


async def test_a_hint_that_makes_no_sense_is_refused(site: Site, hand: HandCranked) -> None:
    await save(hand, job("report", "0 * * * *"), job("once", "once 2026-03-03T10:00+00:00"))
    with pytest.raises(ScheduleError, match="one of every, at and pause_until"):
        await set_hint(site, job="report", reason="nothing")
    with pytest.raises(ScheduleError, match="one of every, at and pause_until"):
        await set_hint(site, job="report", every="5m", at=NOW + HOUR, reason="both")
    with pytest.raises(IntervalParseError):
        await set_hint(site, job="report", every="5x", reason="typo")
    with pytest.raises(ScheduleError, match="at most 24h"):
        await set_hint(site, job="report", pause_until=NOW + 30 * HOUR, reason="long")
    with pytest.raises(ConflictError, match="takes no hints"):
        await set_hint(site, job="once", every="5m", reason="no")
    with pytest.raises(NotFoundError, match="no hint to take back"):
        await revert_hint(site, job="report")
