"""A burst: 10,000 recurring jobs due at one instant, beside APScheduler 3 in the same run. Usage: ./test --bench"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from places import POSTGRES, SQLITE, places, verdict

from rota.app import make_site, make_store, running_engine, system_now
from rota.core.decision import replay
from rota.core.definition import PythonAction, define
from rota.core.job import Timing
from rota.core.run import RunState
from rota.core.schedule import Cron
from rota.ledger.jobs import Placed, add_jobs
from rota.ports.records import instant, trail_of
from rota.ports.store import Store

JOBS = 10_000
MARK = 20.0
_done = threading.Event()
_count = 0


def main() -> None:
    print(f"{JOBS:,} recurring jobs due at one instant, recorded, started and settled", flush=True)
    is_met = []
    with places() as urls:
        peers = {SQLITE: f"sqlite:///{urls[SQLITE]}.peer", POSTGRES: urls[POSTGRES].replace("://", "+psycopg2://")}
        for name, url in urls.items():
            asyncio.run(make_store(url)[0].migrate())
            own = asyncio.run(rota_burst(url))
            peer = apscheduler_burst(peers[name])
            text = f"{name}: Rota {own:.2f} s, APScheduler {peer:.2f} s, "
            text += f"{peer / own:.1f} times faster (at least {MARK:.0f})"
            is_met.append(verdict(is_met=peer / own >= MARK, text=text))
    sys.exit(not all(is_met))


async def rota_burst(url: str) -> float:
    """From the due time, which an engine awaits, to the last settlement."""
    store, _ = make_store(url)
    await store.open()
    due_at = await _add_jobs(store)
    async with running_engine(url) as engine:
        running = asyncio.create_task(engine.run())
        while engine.recorded_count < JOBS:  # noqa: ASYNC110 - a stopwatch
            await asyncio.sleep(0.002)
        length = (system_now() - due_at).total_seconds()
        engine.stop()
        await running
    await _check(store, due_at)
    await store.close()
    return length


async def _add_jobs(store: Store) -> datetime:
    """Save the jobs; when they are due."""
    while system_now().second > 50:  # noqa: ASYNC110
        await asyncio.sleep(1)
    now, site = system_now(), make_site(store)
    timing = Timing(schedule=Cron("* * * * *"))
    jobs = [define(f"job{number}", timing, PythonAction(target="benchmarks.noop:noop")) for number in range(JOBS)]
    for first in range(0, JOBS, 1_000):
        await store.write(
            lambda tx, first=first: add_jobs(tx, now, site, [Placed(one) for one in jobs[first : first + 1_000]])
        )
    await store.write(lambda tx: tx.size_slot(scope="pool", name="inline", size=JOBS))
    return now.replace(second=0, microsecond=0) + timedelta(minutes=1)


async def _check(store: Store, due_at: datetime) -> None:
    """Every run has its token, its trail, and its place in the history."""
    runs = await store.read(lambda tx: tx.runs(before="run_z", most=2 * JOBS))
    assert len(runs) == len({run.job_id for run in runs}) == JOBS
    for run in runs:
        assert run.state == RunState.SUCCEEDED, run
        assert all((run.token, run.worker, run.trace_id, run.started_at, run.ended_at)), run
        assert replay(trail_of(run.trail))[0] == due_at == instant(run.due_at), run
        assert run.requested_at <= run.started_at <= run.ended_at, run


def _count_one() -> None:
    global _count  # noqa: PLW0603 - APScheduler must be able to name the function
    _count += 1
    if _count >= JOBS:
        _done.set()


def apscheduler_burst(url: str) -> float:
    """The same with APScheduler: from its start to the last job run and rescheduled."""
    global _count  # noqa: PLW0603
    _count = 0
    _done.clear()
    with _filled(url) as scheduler:
        begin = time.perf_counter()
        scheduler.resume()
        _done.wait(300)
        length = time.perf_counter() - begin
    assert _count >= JOBS
    return length


@contextmanager
def _filled(url: str) -> Iterator[BackgroundScheduler]:
    scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url=url)},
        executors={"default": ThreadPoolExecutor(10)},
        job_defaults={"misfire_grace_time": 600, "max_instances": 1},
        timezone="UTC",
    )
    scheduler.start(paused=True)
    due_at = datetime.now(UTC)
    for number in range(JOBS):
        scheduler.add_job(_count_one, "interval", minutes=10, id=f"job{number}", next_run_time=due_at)
    try:
        yield scheduler
    finally:
        scheduler.shutdown(wait=True)


if __name__ == "__main__":
    main()
