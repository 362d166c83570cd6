"""A firing pass: 1,000 due jobs among 1,000 and among 100,000. Usage: ./test --bench"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from statistics import median

from places import POSTGRES, SQLITE, places, verdict

from rota.app import make_site, make_store
from rota.core.definition import Definition, PythonAction, define
from rota.core.job import Timing
from rota.core.schedule import Cron
from rota.ledger.fire import fire_due
from rota.ledger.jobs import Placed, add_jobs
from rota.ports.store import Store, Transaction

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
DUE_AT = NOW + timedelta(minutes=1)
DUE, MANY, PASSES = 1_000, 100_000, 15
TOGETHER, SCATTERED = 1.5, 3.0


class TakenBackError(Exception):
    """A pass that leaves no trace, so that the next one does the same work."""


def main() -> None:
    is_met = []
    for name in (SQLITE, POSTGRES):
        few = asyncio.run(_measure(name, DUE, every=1))
        together = asyncio.run(_measure(name, MANY, every=1))
        scattered = asyncio.run(_measure(name, MANY, every=MANY // DUE))
        print(f"{name}: {DUE:,} due jobs fired in {few:.1f} ms when no others are stored", flush=True)
        for times, mark, where in (
            (together / few, TOGETHER, "side by side"),
            (scattered / few, SCATTERED, "scattered"),
        ):
            text = f"{name}: {times:.2f} times as long among {MANY:,} jobs, the due ones {where} (at most {mark})"
            is_met.append(verdict(is_met=times <= mark, text=text))
    sys.exit(not all(is_met))


async def _measure(name: str, stored: int, *, every: int) -> float:
    """Milliseconds for one pass over the due jobs, which are every so many of the first."""
    with places() as urls:
        await make_store(urls[name])[0].migrate()
        store, _ = make_store(urls[name], is_rehearsed=True)
        await store.open()
        try:
            await _fill(store, stored, every)
            return median([await _pass(store) for _ in range(PASSES)])
        finally:
            await store.close()


async def _fill(store: Store, stored: int, every: int) -> None:
    site = make_site(store)
    is_due = [number % every == 0 and number < DUE * every for number in range(stored)]
    definitions = [Placed(_job(number, is_due=is_due[number])) for number in range(stored)]
    for first in range(0, stored, DUE):
        await store.write(lambda tx, first=first: add_jobs(tx, NOW, site, definitions[first : first + DUE]))
    await store.write(lambda tx: tx.size_slot(scope="pool", name="inline", size=10 * DUE))
    await store.vacuum()


def _job(number: int, *, is_due: bool) -> Definition:
    timing = Timing(schedule=Cron("* * * * *" if is_due else "0 0 1 1 *"))
    return define(f"job{number}", timing, PythonAction(target="benchmarks.noop:noop"))


async def _pass(store: Store) -> float:
    site = make_site(store)

    async def body(tx: Transaction) -> None:
        fired = await fire_due(tx, DUE_AT, site)
        assert len(fired.started) == DUE
        raise TakenBackError

    begin = time.perf_counter()
    with suppress(TakenBackError):
        await store.write(body)
    length = time.perf_counter() - begin
    if store.is_shared:
        # What was taken back stays behind as dead rows, which no real pass leaves.
        await store.vacuum()
    return length * 1_000


if __name__ == "__main__":
    main()
