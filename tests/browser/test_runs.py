"""The page of runs: what one looks for is in the address, and what is done to many is done in the store."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.browser.chromium import Watcher
from tests.browser.first_view import check_first_view
from tests.browser.past import add_past
from tests.browser.rota_up import RotaUp, rota_up
from tests.rota_process import eventually, rota, rota_json

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", autouse=True)
def history(up: RotaUp) -> dict[str, list[str]]:
    """Runs that failed and runs that did well, by the name of their job."""
    rota("pool", "set", "local", "8", db=up.db)
    _add(up, "red", "exit 3")
    _add(up, "green", "true")
    made = {name: [_run(up, name) for _ in range(4)] for name in ("red", "green")}
    eventually(lambda: all(one["ended_at"] for one in _runs(up)))
    return made


def _add(up: RotaUp, name: str, script: str) -> None:
    rota("job", "add", name, "--manual", "--overlap", "allow", "--", "sh", "-c", script, db=up.db)


def _run(up: RotaUp, name: str) -> str:
    made: str = rota_json("job", "run", name, db=up.db)["run_id"]
    return made


def _runs(up: RotaUp, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rota_json("runs", *words, "--all", db=up.db)
    return found


async def test_filters_are_in_the_address_and_survive_a_reload(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/runs")
    await inside.get_by_role("link", name="failed 4").click()
    await inside.get_by_role("link", name="last 1h").click()
    assert inside.url == f"{up.url}/runs?state=failed&since=1h"
    rows = inside.locator("tr[data-key]")
    shown = {run["id"] for run in _runs(up, "red")}
    await expect(rows).to_have_count(4)
    await inside.reload()
    await expect(inside.get_by_role("link", name="failed 4")).to_have_attribute("aria-current", "true")
    assert {await row.get_attribute("data-key") for row in await rows.all()} == shown
    await inside.get_by_role("link", name="failed 4").click()
    await expect(rows).to_have_count(8)
    await inside.get_by_role("link", name="Clear filters").click()
    assert inside.url == f"{up.url}/runs"


async def test_a_job_is_found_while_its_name_is_typed(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/runs")
    field = inside.get_by_role("searchbox", name="Job")
    await inside.keyboard.press("/")
    await expect(field).to_be_focused()
    await inside.keyboard.type("ree")
    await expect(inside).to_have_url(f"{up.url}/runs?job=ree")
    await expect(inside.locator("tr[data-key]")).to_have_count(4)
    await field.fill("re")
    await expect(inside.get_by_text("Several jobs have “re” in their name")).to_be_visible()
    await expect(inside.locator("tr[data-key]")).to_have_count(0)
    await field.fill("nothing like it")
    await expect(inside.get_by_text("No job has “nothing like it” in its name.")).to_be_visible()
    await field.fill("re")
    await inside.locator(".chips").get_by_role("link", name="red").click()
    assert inside.url == f"{up.url}/runs?job=red"
    await expect(inside.locator("tr[data-key]")).to_have_count(4)


async def test_a_stretch_of_time_is_chosen_on_the_clock_of_the_reader(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/runs?since=1h")
    await inside.get_by_label("To", exact=True).fill("2001-01-01T00:00")
    await inside.get_by_label("To", exact=True).blur()
    await expect(inside.get_by_text("No run matches these filters.")).to_be_visible()
    assert "until=2001-" in inside.url
    await inside.reload()
    await expect(inside.get_by_label("To", exact=True)).to_have_value("2001-01-01T00:00")


async def test_what_is_no_filter_is_told(inside: Page, up: RotaUp, watcher: Watcher) -> None:
    watcher.expect("status of 422", "status of 400")
    for query in ("state=broken", "cause=luck", "priority=7", "since=yesterday", "until=9999-12-31T23:59:59-14:00"):
        await inside.goto(f"{up.url}/runs?{query}")
        await expect(inside.get_by_role("alert")).to_contain_text(query.partition("=")[2])


async def test_many_are_retried_after_the_count_is_confirmed(
    inside: Page, up: RotaUp, history: dict[str, list[str]]
) -> None:
    before = {run["id"] for run in _runs(up, "red")}
    await inside.goto(f"{up.url}/runs?job=red")
    for run in history["red"][:2]:
        await inside.get_by_role("checkbox", name=f"Select {run[-8:]} of red").check()
    await expect(inside.get_by_text("2 runs selected")).to_be_visible()
    await inside.get_by_role("button", name="Retry", exact=True).click()
    dialog = inside.get_by_role("dialog", name="Retry 2 runs?")
    await dialog.get_by_role("button", name="Back").click()
    await inside.get_by_role("button", name="Retry", exact=True).click()
    await dialog.get_by_role("button", name="Retry").click()
    await expect(inside.get_by_text("Retried 2 runs, 2 new runs.")).to_be_visible()
    after = [run for run in _runs(up, "red") if run["id"] not in before]
    assert [run["cause"] for run in after] == ["manual", "manual"]
    await expect(inside.locator(f'tr[data-key="{after[0]["id"]}"]')).to_be_visible()
    await expect(inside.get_by_text("runs selected")).to_have_count(0)


async def test_all_that_match_are_cancelled_and_those_that_ended_are_told(inside: Page, up: RotaUp) -> None:
    _add(up, "slow", "sleep 600")
    _add(up, "slower", "true")
    live = [_run(up, "slow") for _ in range(3)]
    eventually(lambda: all(one["state"] == "running" for one in _runs(up, "slow")))
    rota("run", "cancel", live[0], db=up.db)
    eventually(lambda: [one["state"] for one in _runs(up, "slow")].count("cancelled") == 1)
    await inside.goto(f"{up.url}/runs?job=slow")
    await inside.get_by_role("checkbox", name=f"Select {live[1][-8:]} of slow").check()
    await inside.get_by_role("button", name="Select all 3 matching").click()
    await expect(inside.get_by_text("3 runs selected")).to_be_visible()
    await inside.get_by_role("button", name="Cancel", exact=True).click()
    dialog = inside.get_by_role("dialog", name="Cancel 3 runs?")
    await dialog.get_by_label("Why").fill("wrong branch")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(inside.get_by_text("1 run refused")).to_be_visible()
    await expect(inside.locator(".refused")).to_contain_text("has ended already: cancelled")
    eventually(lambda: all(one["state"] == "cancelled" for one in _runs(up, "slow")))
    assert {one["id"]: one["reason"] for one in _runs(up, "slow")}[live[1]] == "wrong branch"


async def test_rows_stand_still_while_some_are_selected_and_go_on_afterwards(
    inside: Page, up: RotaUp, history: dict[str, list[str]]
) -> None:
    await inside.goto(f"{up.url}/runs?job=green")
    box = inside.get_by_role("checkbox", name=f"Select {history['green'][0][-8:]} of green")
    await box.check()
    total = inside.get_by_role("status").filter(has_text="runs of green")
    count = len(_runs(up, "green"))
    fresh = _run(up, "green")
    await expect(total).to_contain_text(str(count + 1))
    await expect(inside.locator(f'tr[data-key="{fresh}"]')).to_have_count(0)
    await expect(box).to_be_checked()
    await inside.get_by_role("button", name="Clear selection").click()
    await expect(inside.locator(f'tr[data-key="{fresh}"]')).to_contain_text("succeeded")
    await expect(box).not_to_be_checked()


async def test_what_happens_before_the_page_listens_is_not_missed(inside: Page, up: RotaUp) -> None:
    made: list[str] = []

    async def hold(route: Route) -> None:
        made.append(await asyncio.to_thread(_run, up, "green"))
        await route.continue_()

    await inside.route("**/events/stream*", hold, times=1)
    await inside.goto(f"{up.url}/runs?job=green")
    await expect(inside.locator("tr[data-key]").first).to_be_visible()
    first = await inside.locator("tr[data-key]").first.get_attribute("data-key")
    await expect(inside.locator("tr[data-key]").first).not_to_have_attribute("data-key", first or "")
    assert _runs(up, "green")[0]["id"] == made[0]


async def test_the_whole_page_is_selected_at_once(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/runs?job=red")
    count = len(_runs(up, "red"))
    await inside.get_by_role("checkbox", name="Select all runs of this page").check()
    await expect(inside.get_by_text(f"{count} runs selected")).to_be_visible()
    copy = inside.get_by_role("button", name="Copy as command: rota run retry")
    assert (await inside.locator('action-button[path="/api/v1/runs/retry"]').get_attribute("command") or "").split()[
        3:
    ] == [run["id"] for run in _runs(up, "red")]
    await expect(copy).to_be_visible()


async def test_who_may_only_read_selects_nothing(page: Page, up: RotaUp) -> None:
    await page.goto(up.new_link("read"))
    await page.goto(f"{up.url}/runs")
    await expect(page.locator("tr[data-key]").first).to_be_visible()
    await expect(page.get_by_role("checkbox")).to_have_count(0)


async def test_what_runs_write_does_no_harm(inside: Page, up: RotaUp) -> None:
    bad = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
    job = rota_json("job", "add", "harmless", "--manual", "--", "sleep", "600", db=up.db)
    run = _run(up, job["name"])
    rota("run", "cancel", run, "--reason", bad, db=up.db)
    eventually(lambda: _runs(up, "harmless")[0]["ended_at"])
    await inside.goto(f"{up.url}/runs?job=harmless&agent={bad}")
    await expect(inside.get_by_text("No run matches these filters.")).to_be_visible()
    await inside.goto(f"{up.url}/runs?job=harmless")
    await expect(inside.locator(f'tr[data-key="{run}"]')).to_contain_text("<script>alert(2)</script>")
    await inside.goto(f"{up.url}/runs?job={bad}")
    await expect(inside.get_by_text("in its name")).to_contain_text(bad)
    assert await inside.locator("main img, main script").count() == 0


async def test_on_a_phone_nothing_is_wider_than_the_page(inside: Page, up: RotaUp) -> None:
    name = "a-very-long-name/" + "x" * 80
    _add(up, name, "exit 1")
    run = _run(up, name)
    eventually(lambda: _runs(up, name)[0]["ended_at"])
    await inside.set_viewport_size({"width": 390, "height": 844})
    await inside.goto(f"{up.url}/runs")
    await expect(inside.locator(f'tr[data-key="{run}"]')).to_contain_text("exit code 1")
    assert await inside.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await expect(inside.get_by_role("link", name="last 1h")).to_be_hidden()
    await inside.get_by_role("button", name="Filters").click()
    await inside.get_by_role("link", name="last 1h").click()
    assert inside.url == f"{up.url}/runs?since=1h"


async def test_the_first_view_of_a_whole_page_is_light(browser: Browser, tmp_path: Path) -> None:
    with rota_up(tmp_path, "--no-file") as up:
        for number in range(8):
            rota("job", "add", f"coder/nightly-{number}", "--cron", "0 3 * * *", "--", "true", db=up.db)
        add_past(up.db, now=datetime.now(UTC), runs_each=20, every=timedelta(hours=1))  # noqa: TID251
        await check_first_view(browser, up, "/runs")
