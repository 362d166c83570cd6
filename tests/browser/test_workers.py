"""Workers: who does the work, what their runs show, how their machines fare, and the pools."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import Watcher, watched_page
from tests.browser.first_view import check_first_view
from tests.browser.rota_up import RotaUp, rota_up
from tests.rota_process import ended_runs, eventually, rota, rota_json

pytestmark = pytest.mark.anyio
SLEEPS = "echo digging; echo deeper; exec sleep 60"


def start(up: RotaUp, name: str, *words: str) -> str:
    rota("job", "add", name, "--manual", *words, "--", "/bin/sh", "-c", SLEEPS, db=up.db)
    run: str = rota_json("job", "run", name, db=up.db)["run_id"]
    return run


async def test_a_run_under_way_shows_its_last_lines_until_it_is_cancelled(inside: Page, up: RotaUp) -> None:
    run = start(up, "digger", "--pool", "mine")
    await inside.goto(f"{up.url}/workers")
    station = inside.locator(".station")
    await expect(station.get_by_role("link", name="digger")).to_be_visible()
    await expect(station.get_by_label("Last lines of digger")).to_contain_text("deeper", timeout=20_000)
    await expect(station).to_contain_text("1 under way")
    await expect(station.locator(".beats")).to_contain_text("working")
    rota("run", "cancel", run, db=up.db)
    await expect(station.get_by_role("link", name="digger")).to_have_count(0, timeout=15_000)
    await expect(station).to_contain_text("0 under way")
    assert [one["state"] for one in ended_runs(up.db, "digger")] == ["cancelled"]


async def test_a_run_without_a_sign_is_shown_as_silent(inside: Page, up: RotaUp) -> None:
    run = start(up, "mute", "--silence-after", "2s")
    await inside.goto(f"{up.url}/workers")
    row = inside.locator(".beats li", has_text="mute")
    await expect(row.locator(".state")).to_have_text("silent", timeout=20_000)
    rota("run", "cancel", run, db=up.db)
    eventually(lambda: ended_runs(up.db, "mute"))


async def test_the_machine_is_drawn_with_its_latest_figures(inside: Page, up: RotaUp) -> None:
    eventually(lambda: len(rota_json("worker", "snapshots", db=up.db)) > 1)
    await inside.goto(f"{up.url}/workers")
    for label in ("CPU", "Memory", "Load", "Running"):
        drawn = inside.get_by_role("img", name=re.compile(rf"^{label}: .+ now, at most "))
        await expect(drawn).to_be_visible()
        assert re.match(r"M[\d. ]+L", await drawn.locator(".line").get_attribute("d") or "")


async def test_the_size_of_a_pool_is_changed_and_holds_back_what_comes(inside: Page, up: RotaUp) -> None:
    rota("job", "add", "narrow", "--manual", "--pool", "gate", "--", "/bin/true", db=up.db)
    rota("job", "run", "narrow", db=up.db)
    eventually(lambda: ended_runs(up.db, "narrow"))
    await inside.goto(f"{up.url}/workers")
    row = inside.locator("#pools tr", has_text="gate")
    await row.get_by_role("button", name="Change size", exact=True).click()
    await inside.get_by_role("dialog").get_by_label("Runs at once").fill("0")
    await inside.get_by_role("dialog").get_by_role("button", name="Change size").click()
    await expect(row).to_contain_text("0 of 0")
    # Asked again, it begins with what the size is now.
    await row.get_by_role("button", name="Change size", exact=True).click()
    await expect(inside.get_by_role("dialog").get_by_label("Runs at once")).to_have_value("0")
    await inside.get_by_role("dialog").get_by_role("button", name="Back").click()
    run = rota_json("job", "run", "narrow", db=up.db)["run_id"]
    assert rota_json("run", "show", run, db=up.db)["state"] == "queued"
    assert {one["name"]: one["size"] for one in rota_json("pool", "list", db=up.db)}["gate"] == 0


async def test_a_killed_worker_is_shown_as_gone(browser: Browser, tmp_path: Path) -> None:
    with rota_up(tmp_path, "--no-file") as up:
        (first,) = rota_json("worker", "list", db=up.db)
        up.kill()
        up.begin()
        eventually(lambda: any(one["ended_at"] for one in rota_json("worker", "list", db=up.db)))
        async with watched_page(browser) as (page, _):
            await page.goto(up.link)
            await page.wait_for_url(f"{up.url}/")
            await page.goto(f"{up.url}/workers")
            gone = page.locator("#gone tbody tr")
            await expect(gone).to_have_count(1)
            await expect(gone).to_contain_text(str(first["pid"]))
            await expect(gone).to_contain_text("dead")
            await expect(page.locator(".station")).to_have_count(1)


async def test_who_may_only_read_sees_no_action(page: Page, watcher: Watcher, up: RotaUp) -> None:
    await page.goto(up.new_link("read"))
    await page.wait_for_url(f"{up.url}/")
    await page.goto(f"{up.url}/workers")
    await expect(page.locator(".station")).to_have_count(1)
    await expect(page.locator("action-button")).to_have_count(0)
    refused = await page.request.put(f"{up.url}/api/v1/pools/local", data={"size": 9}, headers={"Origin": up.url})
    assert refused.status == 403
    assert watcher.faults == []
    assert 9 not in [one["size"] for one in rota_json("pool", "list", db=up.db)]


async def test_the_first_view_is_light(browser: Browser, up: RotaUp) -> None:
    await check_first_view(browser, up, "/workers")
