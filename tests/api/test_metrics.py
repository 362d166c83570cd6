"""Metrics and health: what a monitor sees."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import rota
from rota.api.metrics import Meter
from rota.core.action import ActionKind
from rota.core.run import ENDED, Cause
from rota.core.settlement import Outcome
from rota.engine.engine import Engine
from rota.errors import StoreUnavailableError
from rota.ledger.claimed import ClaimedRun
from rota.ledger.record import Ended
from rota.operations import jobs
from rota.ports.store import Store
from rota.testing import FakeAction, FakeClock, HandCranked, NoOutput, SilentBell
from tests.api.house import House, open_house
from tests.engine.jobs import FAILED, MINUTE, OK, job, save
from tests.stores import Servers, opened

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def scrape(house: House) -> Samples:
    answer = await house.ask("GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return read(answer.text)


def cranked(store: Store, meter: Meter) -> HandCranked:
    """An engine by hand, counted."""
    clock = FakeClock(NOW)
    hand = HandCranked(store, clock, action=FakeAction(clock))
    actions = dict.fromkeys(ActionKind, hand.action)
    hand.engine = Engine(hand.site, hand.machine, SilentBell(), actions, lambda _: NoOutput(), meter=meter)
    return hand


async def test_real_runs_are_counted(tmp_path: Path, servers: Servers) -> None:
    meter = Meter()
    async with opened("sqlite", tmp_path, servers) as store, open_house(store, meter=meter) as house:
        hand = cranked(store, meter)
        await hand.open()
        hand.action._decide = lambda work: (timedelta(), FAILED if work.job == "bad" else OK)
        await save(hand, job("good", "*/5 * * * *"), job("bad", "*/10 * * * *"), job("by-hand", "manual"), slots=3)
        before = await scrape(house)
        await hand.crank(NOW + 21 * MINUTE)
        await jobs.run_job(hand.site, job="by-hand")
        await hand.step()
        after = await scrape(house)
        assert before["rota_fires_total", ()] == 0
        assert after["rota_fires_total", ()] == after["rota_fire_lateness_seconds_count", ()] == 6
        assert after["rota_runs_total", (("state", "succeeded"),)] == 5
        assert after["rota_runs_total", (("state", "failed"),)] == 2
        assert after["rota_runs_total", (("state", "lost"),)] == 0
        assert after["rota_slots_size", (("name", "local"), ("scope", "pool"))] == 3
        assert after["rota_slots_used", (("name", "local"), ("scope", "pool"))] == 0
        assert after["rota_workers", (("status", "alive"),)] + after["rota_workers", (("status", "idle"),)] == 1
        assert 0 <= after["rota_database_latency_seconds", ()] < 5
        assert after["rota_build_info", (("version", rota.__version__),)] == 1


async def test_what_waits_and_what_is_taken_is_shown(tmp_path: Path, servers: Servers) -> None:
    meter = Meter()
    async with opened("sqlite", tmp_path, servers) as store, open_house(store, meter=meter) as house:
        hand = cranked(store, meter)
        await hand.open()
        hand.action._decide = lambda _: (timedelta(hours=1), OK)
        await save(hand, *(job(f"job-{number}", "manual", pool=f"pool-{number % 3}") for number in range(9)), slots=1)
        for number in range(9):
            await jobs.run_job(hand.site, job=f"job-{number}")
        await hand.step()
        found = await scrape(house)
        assert found["rota_queue_depth", (("priority", "manual"),)] == 6
        assert found["rota_queue_depth", (("priority", "scheduled"),)] == 0
        assert found["rota_slots_used", (("name", "other"), ("scope", "pool"))] == 3
        assert found["rota_slots_size", (("name", "other"), ("scope", "pool"))] == 3


async def test_labels_have_few_values_however_many_jobs_there_are(tmp_path: Path, servers: Servers) -> None:
    meter = Meter()
    async with opened("sqlite", tmp_path, servers) as store, open_house(store, meter=meter) as house:
        hand = cranked(store, meter)
        await hand.open()
        few = set(await scrape(house))
        names = [f"crowd-{number}" for number in range(150)]
        await save(hand, *(job(name, "*/5 * * * *", pool=name, agent=name) for name in names))
        await hand.crank(NOW + 6 * MINUTE)
        many = set(await scrape(house))
        assert {name for name, labels in many - few} <= {"rota_slots_used", "rota_slots_size"}
        assert len(many - few) <= 4
        assert not [labels for _, labels in many if "crowd" in str(labels)]
        labels = {label for _, labels in many for label, _ in labels}
        assert labels == {"le", "state", "priority", "scope", "name", "status", "version"}


def claimed(cause: Cause, attempt: int, due_at: datetime | None) -> ClaimedRun:
    return ClaimedRun("run_1", "job_1", "one", job("one"), 1, cause, attempt, due_at, "", is_started=True)


def test_only_due_times_are_late() -> None:
    meter = Meter()
    late = claimed(Cause.SCHEDULE, 1, NOW - timedelta(seconds=3))
    others = (claimed(Cause.BACKFILL, 1, NOW), claimed(Cause.SCHEDULE, 2, NOW), claimed(Cause.MANUAL, 1, None))
    meter.on_started([late, *others], NOW)
    value = meter.registry.get_sample_value
    assert value("rota_fires_total") == 1
    assert value("rota_fire_lateness_seconds_sum") == 3
    meter.on_ended([Ended(late, Outcome(state=state)) for state in ENDED])
    assert [value("rota_runs_total", {"state": state}) for state in ENDED] == [1] * len(ENDED)


async def test_a_process_that_lives_is_healthy(shared_house: House) -> None:
    assert (await shared_house.ask("GET", "/healthz", token=None)).json == {"status": "ok"}
    assert (await shared_house.ask("GET", "/readyz", token=None)).json == {"status": "ready"}


async def test_a_process_is_ready_when_its_store_answers_and_its_engine_works(
    tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise StoreUnavailableError("secret-host")

    is_ready = False
    async with opened("sqlite", tmp_path, servers) as store, open_house(store, is_ready=lambda: is_ready) as house:
        answer = await house.ask("GET", "/readyz", token=None)
        assert (answer.status, answer.json) == (503, {"status": "unready", "reason": "engine"})
        is_ready = True
        assert (await house.ask("GET", "/readyz", token=None)).status == 200
        monkeypatch.setattr(type(store), "read", away)
        answer = await house.ask("GET", "/readyz", token=None)
        assert (answer.status, answer.json) == (503, {"status": "unready", "reason": "database"})
        assert (await house.ask("GET", "/healthz", token=None)).status == 200


async def test_a_store_that_takes_its_time_is_not_waited_for(
    tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    async def stuck(*_: object) -> None:
        asked.set()
        await asyncio.get_running_loop().create_future()

    clock = FakeClock(NOW)
    async with opened("sqlite", tmp_path, servers) as store, open_house(store, clock=clock) as house:
        monkeypatch.setattr(type(store), "read", stuck)
        asking = asyncio.create_task(house.ask("GET", "/readyz", token=None))
        await asked.wait()
        while clock.next_at is None:
            clock.changed.clear()
            await clock.changed.wait()
        clock.set(NOW + timedelta(seconds=2))
        assert (await asking).json["reason"] == "database"
        monkeypatch.undo()
