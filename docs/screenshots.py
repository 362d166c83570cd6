"""Takes pictures of every page, dark, light and on a phone, from a Rota that really runs.

Usage: .venv/bin/python docs/screenshots.py [FOLDER]   (default: build/screenshots; --readme renews docs/images)
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.async_api import Browser, Page
from tests.browser.chromium import chromium
from tests.browser.past import add_past
from tests.browser.rota_up import RotaUp, rota_up
from tests.rota_process import eventually, rota, rota_json

IMAGES = Path(__file__).parent / "images"
README = {"overview": "light", "run": "dark"}
LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2},
}
FLEET = """\
fleet: {name: home, timezone: Europe/Berlin, description: Everything that works at night.}
pools: {local: 4}
agents:
  coder:
    description: Writes code and reviews it.
    max_concurrent: 2
    command: [/bin/sh, -c, "echo working on $ROTA_JOB; sleep 2; echo done"]
    schedules:
      nightly: {cron: "0 2 * * 1-5", description: Fixes what broke during the day.}
      review: {every: 20m, first: after, description: Reviews open changes.}
      issues: {every: 5m, first: after, quiet: ["22:00-07:00"], description: Looks for new issues.}
  researcher:
    description: Reads what is new.
    command: [/bin/sh, -c, "echo reading; sleep 1"]
    schedules:
      papers: {daily: "06:30", description: Sums up new papers.}
      digest: {weekly: {on: [mon, thu], at: "09:00"}, description: Sends what matters.}
jobs:
  build: {every: 30m, first: after, command: [/bin/sh, -c, "echo building"], description: Builds the application.}
  deploy: {after: build, command: [/bin/true], description: Brings it out.}
  tell: {after: {job: build, on: failure}, command: [/bin/true]}
  backup: {daily: "03:00", command: [/bin/true], retry: {max: 2}}
"""
LOG = r"""
printf '\033[1mcoder\033[0m reads 14 files\n'
printf '\033[32m+ def greet(name):\033[0m\n\033[31m- def greet():\033[0m\n'
i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo "step $i: looking at module_$i.py"; done
echo "warning: two tests are slow" >&2; printf '\033[33mwaiting for the build\033[0m\n'; sleep 600
"""


def stage(up: RotaUp) -> dict[str, str]:
    """A Rota with something of everything: what went well, what fails, what hangs, what waits."""
    now = datetime.now(UTC)  # noqa: TID251 - a picture of now
    rota("job", "add", "scraper", "--every", "10m", "--", "/bin/sh", "-c", "echo cannot log in >&2; exit 3", db=up.db)
    rota("job", "add", "coder/refactor", "--agent", "coder", "--manual", "--", "/bin/sh", "-c", LOG, db=up.db)
    rota("job", "add", "idea", "--propose", "--daily", "12:00", "--", "/bin/true", db=up.db)
    add_past(up.db, now=now, runs_each=90, every=timedelta(minutes=25))
    eventually(lambda: rota_json("job", "show", "scraper", db=up.db)["failure_count"])
    rota("job", "pause", "researcher/digest", "--note", "until the new feed is here", db=up.db)
    rota("hint", "set", "coder/issues", "--every", "2m", "--for", "2h", "--because", "many new issues", db=up.db)
    run_id = rota_json("job", "run", "coder/refactor", db=up.db)["run_id"]
    eventually(lambda: len(rota("logs", run_id, db=up.db).stdout) > 500)
    return {
        "overview": "/",
        "jobs": "/jobs",
        "job": "/jobs/coder%2Fissues",
        "chain": "/jobs/build",
        "new-job": "/new-job",
        "runs": "/runs",
        "run": f"/runs/{run_id}",
        "agents": "/agents",
        "agent": "/agents/coder",
        "workers": "/workers",
        "audit": "/audit",
        "settings": "/settings",
    }


async def shoot(browser: Browser, up: RotaUp, pages: dict[str, str], folder: Path, look: str) -> None:
    context = await browser.new_context(**LOOKS[look])
    page = await context.new_page()
    await page.goto(f"{up.url}/login")
    await page.screenshot(path=folder / f"login-{look}.png")
    await page.goto(up.new_link())
    await page.wait_for_url(f"{up.url}/")
    for name, address in pages.items():
        await page.goto(up.url + address)
        await settled(page)
        await page.screenshot(path=folder / f"{name}-{look}.png", full_page=True)
        print(folder / f"{name}-{look}.png", flush=True)
        if README.get(name) == look and "--readme" in sys.argv:
            await page.screenshot(path=IMAGES / f"{name}.png")
    await context.close()


async def settled(page: Page) -> None:
    """Until what the page draws by itself is there."""
    await page.wait_for_load_state("load")
    if await page.locator("run-timeline").count():
        await page.locator("run-timeline .lane").first.wait_for()
    if await page.locator("run-log").count():
        await page.locator("run-log").get_by_text("waiting for the build").wait_for()


async def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "rota.yaml").write_text(FLEET)
        with rota_up(Path(home)) as up:
            pages = stage(up)
            async with chromium() as browser:
                for look in LOOKS:
                    await shoot(browser, up, pages, folder, look)


if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    target = Path(names[0] if names else "build/screenshots")
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(target))
