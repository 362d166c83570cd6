"""The overview: each problem comes of a real fault, is there at once, and goes when it is cured."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import watched_page
from tests.browser.rota_up import RotaUp, rota_up
from tests.rota_process import eventually, rota, rota_json

pytestmark = pytest.mark.anyio
OFFLINE = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "Failed to load resource", "ERR_EMPTY_RESPONSE")


def add(db: str, folder: Path, name: str, words: str) -> None:
    file = folder / f"{name}.yaml"
    file.write_text(words)
    rota("job", "add", name, "--from-file", str(file), db=db)


def problem(page: Page, *texts: str) -> object:
    found = page.locator("#problems li")
    for text in texts:
        found = found.filter(has_text=text)
    return found


async def test_nothing_is_wrong_until_something_is(inside: Page, up: RotaUp, tmp_path: Path) -> None:
    await expect(inside.locator("#problems")).to_contain_text("Nothing is wrong.")
    add(up.db, tmp_path, "breaks", "manual: true\ncommand: [/bin/sh, -c, 'echo oh no; exit 3']\n")
    add(up.db, tmp_path, "streak", "every: 1s\npause_after: 2\nbackoff: none\ncommand: [/bin/false]\n")
    await expect(problem(inside, "streak", "Streak paused")).to_be_visible(timeout=20_000)
    # The cure that the page names is one that works.
    command = await problem(inside, "streak").get_by_role("button").get_attribute("data-copy")
    assert command is not None
    assert command.startswith("rota ")
    rota("job", "remove", "streak", db=up.db)
    rota("job", "remove", "breaks", db=up.db)
    await expect(inside.locator("#problems")).to_contain_text("Nothing is wrong.")


async def test_a_job_that_fails_is_shown_until_it_succeeds(inside: Page, up: RotaUp, tmp_path: Path) -> None:
    flag = tmp_path / "cured"
    add(up.db, tmp_path, "flaky", f"every: 1s\nbackoff: none\ncommand: [/bin/sh, -c, 'test -e {flag}']\n")
    await expect(problem(inside, "flaky", "Failing")).to_be_visible(timeout=20_000)
    flag.touch()
    await expect(problem(inside, "flaky")).to_have_count(0, timeout=20_000)
    assert rota_json("job", "show", "flaky", db=up.db)["failure_count"] == 0
    rota("job", "remove", "flaky", db=up.db)


async def test_a_child_that_hangs_is_shown_as_silent(inside: Page, up: RotaUp, tmp_path: Path) -> None:
    add(up.db, tmp_path, "hung", "manual: true\nsilence_after: 1s\ncommand: [/bin/sh, -c, 'exec sleep 600']\n")
    run_id = rota_json("job", "run", "hung", db=up.db)["run_id"]
    await expect(problem(inside, "hung", "Silent")).to_be_visible(timeout=20_000)
    rota("run", "cancel", run_id, db=up.db)
    await expect(problem(inside, "hung")).to_have_count(0, timeout=20_000)
    rota("job", "remove", "hung", db=up.db)


async def test_a_missed_time_and_a_killed_worker_are_shown_after_the_restart(browser: Browser, tmp_path: Path) -> None:
    with rota_up(tmp_path, "--no-file") as up:
        async with watched_page(browser) as (page, watcher):
            watcher.expect("401", *OFFLINE)
            await page.goto(up.link)
            await expect(page.locator("#problems")).to_contain_text("Nothing is wrong.")
            add(up.db, tmp_path, "long", "manual: true\ncommand: [sleep, '600']\n")
            add(up.db, tmp_path, "soon", "in: 12s\nstart_within: 1s\ncatch_up: skip\ncommand: [/bin/true]\n")
            run_id = rota_json("job", "run", "long", db=up.db)["run_id"]
            eventually(lambda: rota_json("run", "show", run_id, db=up.db)["state"] == "running")
            os.kill(up.process.pid, signal.SIGKILL)
            up.process.wait(10)
            await expect(page.locator("[data-offline]")).to_contain_text("Offline", timeout=20_000)
            due = rota_json("job", "show", "soon", db=up.db)["next_run_at"]
            eventually(lambda: rota("why", "soon", "--at", due, db=up.db).stdout and _is_past(up.db))
            up.begin()
            # The page finds its way back by itself.
            await expect(page.locator("[data-offline]")).to_be_empty(timeout=20_000)
            await expect(problem(page, "soon", "Missed")).to_be_visible(timeout=20_000)
            await expect(problem(page, "Worker dead")).to_be_visible(timeout=20_000)
            assert rota_json("run", "show", run_id, db=up.db)["state"] == "lost"


def _is_past(db: str) -> bool:
    """Whether it would be more than a second late by now."""
    (coming,) = rota_json("next", "-n", "1", db=db) or [{"job": None, "source": ""}]
    return coming["job"] != "soon" or coming["at"] < _now(db)


def _now(db: str) -> str:
    return str(rota_json("simulate", "--days", "1", db=db)["begin"])


async def test_the_timeline_shows_what_ran_and_what_is_to_come(inside: Page, up: RotaUp) -> None:
    rota("job", "add", "steady", "--every", "40m", "--", "/bin/true", db=up.db)
    (run,) = eventually(lambda: [one for one in rota_json("runs", "steady", db=up.db) if one["ended_at"]])
    lane = inside.locator("run-timeline .lane").filter(has_text="steady")
    bar = lane.locator("a[href^='/runs/'] rect")
    await expect(bar).to_have_count(1, timeout=20_000)
    await expect(lane.locator("circle.due")).to_have_count(2, timeout=20_000)
    await bar.hover()
    await expect(inside.get_by_role("tooltip")).to_contain_text("steady: succeeded")
    await inside.get_by_role("button", name="7 d").click()
    await expect(inside).to_have_url(f"{up.url}/?zoom=168")
    await inside.reload()
    await expect(inside.get_by_role("button", name="7 d")).to_have_attribute("aria-pressed", "")
    await inside.locator("run-timeline .lane").filter(has_text="steady").locator("a[href^='/runs/']").click()
    await expect(inside).to_have_url(f"{up.url}/runs/{run['id']}")
    rota("job", "remove", "steady", db=up.db)
