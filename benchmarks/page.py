"""The page: how long its HTML takes and what it weighs among 2,000 jobs and 200,000 runs, and whether it stays
responsive while 500 events a second happen. Usage: ./test --bench"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from places import verdict
from tests.browser.chromium import chromium
from tests.browser.past import add_past
from tests.browser.rota_up import RotaUp, rota_up
from tests.rota_process import rota, rota_json

from rota.app import make_site, make_store
from rota.ledger.events import Event, tell

JOBS, AGENTS, RUNS_EACH = 2_000, 40, 100
ANSWERS, MOST_SECONDS = 15, 0.150
MOST_BYTES, MOST_REQUESTS = 150_000, 8
EVENTS, PER_TRANSACTION, SECONDS = 500, 25, 10
# A frame that takes longer than this is felt.
MOST_PAUSE = 0.2
FRAMES = """async (seconds) => {
  let last = performance.now(), longest = 0;
  const end = last + seconds * 1000;
  while (last < end) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  return longest / 1000;
}"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rota.yaml").write_text(_fleet())
        rota("apply", str(Path(folder) / "rota.yaml"), "--yes", db=f"{folder}/rota.db")
        now = datetime.now(UTC)
        total = add_past(f"{folder}/rota.db", now=now, runs_each=RUNS_EACH, every=timedelta(minutes=30))
        with rota_up(Path(folder)) as up:
            print(f"{JOBS:,} jobs, {total:,} runs, {up.url}", flush=True)
            run_id = rota_json("runs", "-n", "1", db=up.db)[0]["id"]
            pages = {
                "overview": "/",
                "jobs": "/jobs",
                "jobs filtered": "/jobs?contains=99",
                "job": "/jobs/agent007%2Fjob07",
                "runs": "/runs",
                "runs filtered": "/runs?state=failed&job=agent007%2Fjob07",
                "run": f"/runs/{run_id}",
                "agents": "/agents",
                "agent": "/agents/agent007",
                "workers": "/workers",
                "audit": "/audit",
                "settings": "/settings",
            }
            token = Path(f"{up.db}.token").read_text().strip()
            is_met = [_answers(up, name, path, token) for name, path in pages.items()]
            is_met += asyncio.run(_seen(up, pages))
    sys.exit(not all(is_met))


def _fleet() -> str:
    """Nothing of it is due while it is measured."""
    lines = ["fleet: {name: large, timezone: Europe/Berlin}", "defaults: {catch_up: skip}", "agents:"]
    for agent in range(AGENTS):
        lines += [f"  agent{agent:03}:", "    command: ['true']", "    schedules:"]
        for number in range(JOBS // AGENTS):
            lines += [f"      job{number:02}: {{every: 30h, first: after, description: 'Does its part of {agent}'}}"]
    return "\n".join(lines) + "\n"


def _answers(up: RotaUp, name: str, path: str, token: str) -> bool:
    took = median(_ask(up.url + path, token) for _ in range(ANSWERS))
    text = f"{name}: HTML in {took * 1000:.0f} ms (within {MOST_SECONDS * 1000:.0f})"
    return verdict(is_met=took <= MOST_SECONDS, text=text)


def _ask(url: str, token: str) -> float:
    begun = time.perf_counter()
    request = urllib.request.Request(url, headers={"Cookie": f"rota_token={token}"})
    with urllib.request.urlopen(request) as answer:
        answer.read()
    return time.perf_counter() - begun


async def _seen(up: RotaUp, pages: dict[str, str]) -> list[bool]:
    async with chromium() as browser:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(up.new_link())
        await page.wait_for_url(f"{up.url}/")
        state = await context.storage_state()
        is_met = []
        for name, path in pages.items():
            fresh = await browser.new_context(storage_state=state)
            is_met.append(await _weighed(fresh, up.url + path, name))
            await fresh.close()
        is_met.append(await _responsive(page, up))
        return is_met


async def _weighed(context, address: str, name: str) -> bool:
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Network.enable")
    sizes: list[int] = []
    asked: list[str] = []
    session.on("Network.dataReceived", lambda event: sizes.append(event["encodedDataLength"] or event["dataLength"]))
    session.on(
        "Network.requestWillBeSent",
        lambda event: None if event["request"]["url"].startswith("data:") else asked.append(event["request"]["url"]),
    )
    await page.goto(address)
    await page.wait_for_timeout(1_500)
    is_met = sum(sizes) < MOST_BYTES and len(asked) <= MOST_REQUESTS
    return verdict(is_met=is_met, text=f"{name}: {sum(sizes) / 1000:.0f} kB in {len(asked)} requests")


async def _responsive(page, up: RotaUp) -> bool:
    """The longest frame while events pour in, beside the longest while nothing happens."""
    await page.goto(f"{up.url}/")
    await page.wait_for_timeout(1_000)
    quiet = await page.evaluate(FRAMES, 3)
    pouring = asyncio.create_task(_pour(up.db))
    longest = await page.evaluate(FRAMES, SECONDS)
    rate = await pouring
    text = (
        f"at {rate:.0f} events a second the longest frame of the overview is {longest * 1000:.0f} ms "
        f"(within {MOST_PAUSE * 1000:.0f}); {quiet * 1000:.0f} ms when nothing happens"
    )
    return verdict(is_met=longest <= MOST_PAUSE, text=text)


async def _pour(db: str) -> float:
    """Put events on record as an engine does; how many a second there were."""
    store, _ = make_store(db)
    site = make_site(store)
    await store.open()
    begun, written = time.perf_counter(), 0
    events = [
        Event("run.succeeded", "agent007/job07", f"run_{number}", "succeeded") for number in range(PER_TRANSACTION)
    ]
    while time.perf_counter() - begun < SECONDS:
        now = site.clock.now()
        await store.write(lambda tx, now=now: tell(tx, now, site, events))
        written += PER_TRANSACTION
        await asyncio.sleep(max(0.0, written / EVENTS - (time.perf_counter() - begun)))
    await store.close()
    return written / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
