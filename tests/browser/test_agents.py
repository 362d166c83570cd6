"""Agents: how they fare, and how many of their runs may be under way."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.first_view import check_first_view
from tests.browser.rota_up import RotaUp
from tests.rota_process import ended_runs, eventually, rota, rota_json

pytestmark = pytest.mark.anyio


def add(up: RotaUp, name: str, *words: str) -> None:
    rota("job", "add", name, "--agent", name.partition("/")[0], *words, db=up.db)


async def test_agents_are_found_as_one_types_and_say_how_they_fare(inside: Page, up: RotaUp) -> None:
    add(up, "broken/job", "--every", "1h", "--", "/bin/false")
    add(up, "sound/job", "--daily", "03:00", "--", "/bin/true")
    eventually(lambda: ended_runs(up.db, "broken/job"))
    await inside.goto(f"{up.url}/agents")
    rows = inside.locator("#agents tbody tr")
    await expect(rows.filter(has_text="broken")).to_contain_text("1 failing")
    await expect(rows.filter(has_text="sound")).to_contain_text("well")
    await inside.keyboard.press("/")
    await inside.keyboard.type("soun")
    await expect(rows).to_have_count(1)
    await expect(inside).to_have_url(f"{up.url}/agents?contains=soun")
    rota("job", "pause", "sound/job", db=up.db)
    await expect(rows).to_contain_text("1 paused")


async def test_an_agent_shows_its_jobs_with_their_outcomes(inside: Page, up: RotaUp) -> None:
    add(up, "teams/eu/check", "--manual", "--", "/bin/true")
    rota("job", "run", "teams/eu/check", db=up.db)
    eventually(lambda: ended_runs(up.db, "teams/eu/check"))
    await inside.goto(f"{up.url}/agents")
    await inside.get_by_role("link", name="teams", exact=True).click()
    row = inside.locator("#jobs tbody tr")
    await expect(row.get_by_role("img", name="the last 1, oldest first: 1 succeeded")).to_be_visible()
    await expect(row).to_contain_text("manual")
    await expect(inside.get_by_role("link", name="New job")).to_have_attribute("href", "/new-job?agent=teams")


async def test_the_limit_of_an_agent_is_changed_from_its_page(inside: Page, up: RotaUp) -> None:
    add(up, "limited/job", "--manual", "--", "/bin/true")
    await inside.goto(f"{up.url}/agents/limited")
    await inside.get_by_role("button", name="Change limit", exact=True).click()
    await inside.get_by_role("dialog").get_by_label("Runs at once").fill("3")
    await inside.get_by_role("dialog").get_by_role("button", name="Change limit").click()
    await expect(inside.locator("#agent")).to_contain_text("0 of 3")
    pools = {(one["scope"], one["name"]): one["size"] for one in rota_json("pool", "list", db=up.db)}
    assert pools["agent", "limited"] == 3
    assert rota_json("audit", "limited", db=up.db)[0]["door"] == "page"


async def test_a_limit_that_makes_no_sense_is_not_sent(inside: Page, up: RotaUp) -> None:
    add(up, "kept/job", "--manual", "--", "/bin/true")
    before = rota_json("agent", "show", "kept", db=up.db)["max_concurrent"]
    await inside.goto(f"{up.url}/agents/kept")
    await inside.get_by_role("button", name="Change limit", exact=True).click()
    dialog = inside.get_by_role("dialog")
    await dialog.get_by_label("Runs at once").fill("-1")
    await dialog.get_by_role("button", name="Change limit").click()
    await expect(dialog).to_be_visible()
    await dialog.get_by_role("button", name="Back").click()
    await expect(dialog).to_have_count(0)
    assert rota_json("agent", "show", "kept", db=up.db)["max_concurrent"] == before


async def test_who_may_only_read_is_offered_no_change(page: Page, up: RotaUp) -> None:
    add(up, "seen/job", "--manual", "--", "/bin/true")
    await page.goto(up.new_link("read"))
    await page.wait_for_url(f"{up.url}/")
    await page.goto(f"{up.url}/agents/seen")
    await expect(page.get_by_role("heading", name="seen", exact=True)).to_be_visible()
    await expect(page.locator("action-button")).to_have_count(0)


async def test_the_first_view_is_light(browser: Browser, up: RotaUp, tmp_path: Path) -> None:
    jobs = "".join(f"      job-{number}: {{manual: true}}\n" for number in range(60))
    file = tmp_path / "fleet.yaml"
    file.write_text(f"agents:\n  crowd:\n    command: [/bin/true]\n    schedules:\n{jobs}")
    rota("apply", str(file), db=up.db)
    for path in ("/agents", "/agents/crowd"):
        await check_first_view(browser, up, path)
