"""An idle ``rota up``: how soon it starts a run that somebody asks for, and what it costs. Usage: ./test --bench"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median, quantiles

import psutil
from places import SQLITE, places, verdict

from rota.app import make_site, make_store
from rota.core.definition import PythonAction, define
from rota.core.job import Timing
from rota.core.run import RunState
from rota.core.schedule import Manual
from rota.ledger.site import Site
from rota.operations import jobs, runs
from rota.ports.store import Store

ROTA = str(Path(sys.executable).with_name("rota"))
RUNS, IDLE_SECONDS = 100, 20
LATENCY, CPU = 5.0, 0.5
_PATIENCE = 500


def main() -> None:
    is_met = []
    with places() as urls:
        for name, url in urls.items():
            lags, cpu = asyncio.run(_measure(url, Path(urls[SQLITE]).with_suffix(".witness")))
            text = f"{name}: a manual run starts {median(lags):.1f} ms after the commit of its request (p50, "
            text += f"under {LATENCY:.0f}); p95 {quantiles(lags, n=20)[-1]:.1f} ms, {len(lags)} runs"
            is_met.append(verdict(is_met=median(lags) < LATENCY, text=text))
            text = f"{name}: {cpu:.2f}% of a core while idle for {IDLE_SECONDS} s (under {CPU}%)"
            is_met.append(verdict(is_met=cpu < CPU, text=text))
    sys.exit(not all(is_met))


async def _measure(url: str, witness: Path) -> tuple[list[float], float]:
    await make_store(url)[0].migrate()
    environment = {**os.environ, "ROTA_DB": url, "ROTA_WITNESS": str(witness)}
    engine = subprocess.Popen([ROTA, "up", "--no-web"], env=environment, stderr=subprocess.DEVNULL)  # noqa: ASYNC220
    store, _ = make_store(url)
    await store.open()
    try:
        site = make_site(store)
        await jobs.save_job(
            site, define("mark", Timing(schedule=Manual()), PythonAction(target="benchmarks.noop:mark"))
        )
        lags = [await _lag(site, witness) for _ in range(RUNS)]
        # The first ones find imports and caches cold.
        return lags[RUNS // 5 :], _idle(engine.pid)
    finally:
        await _stop(store, engine)


async def _lag(site: Site, witness: Path) -> float:
    """Milliseconds from the commit of a request to the first line of the action."""
    requested = await jobs.run_job(site, job="mark")
    committed = time.time()
    for _ in range(_PATIENCE):
        run = await runs.find_run(site, requested.run_id)
        if run.ended_at is not None:
            assert run.state == RunState.SUCCEEDED, run
            return (float(witness.read_text().splitlines()[-1]) - committed) * 1_000  # noqa: ASYNC240
        await asyncio.sleep(0.02)
    raise TimeoutError(requested.run_id)


def _idle(pid: int) -> float:
    """Percent of a core that a process takes when nothing happens."""
    process = psutil.Process(pid)
    before = process.cpu_times()
    time.sleep(IDLE_SECONDS)
    after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) / IDLE_SECONDS * 100


async def _stop(store: Store, engine: subprocess.Popen[bytes]) -> None:
    await store.close()
    engine.terminate()
    engine.wait(30)


if __name__ == "__main__":
    main()
