"""Settings: what is set and by whom, who may come in, and what the doctor finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import Watcher, watched_page
from tests.browser.first_view import check_first_view
from tests.browser.rota_up import RotaUp
from tests.rota_process import rota, rota_json

pytestmark = pytest.mark.anyio


def tokens(up: RotaUp, name: str) -> list[bool]:
    return [
        one["is_valid"] for one in rota_json("token", "list", db=up.db) if (one["name"], one["kind"]) == (name, "token")
    ]


async def let_in(page: Page, up: RotaUp, token: str) -> None:
    await page.goto(f"{up.url}/login")
    await page.get_by_label("Or paste a token").fill(token)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("navigation")).to_be_visible()


async def test_each_setting_says_where_it_comes_from(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/settings")
    rows = inside.locator("#settings tbody tr")
    await expect(rows.filter(has_text="snapshot")).to_contain_text("environment ROTA_SNAPSHOT")
    await expect(rows.filter(has_text="poll")).to_contain_text("default")
    await expect(inside.locator("#settings")).to_contain_text(up.db)


async def test_an_applied_fleet_file_is_shown_with_what_it_holds(inside: Page, up: RotaUp, tmp_path: Path) -> None:
    await inside.goto(f"{up.url}/settings")
    file = tmp_path / "fleet.yaml"
    file.write_text("fleet: {name: garden}\npools: {spade: 3}\njobs:\n  dig: {every: 1h, command: [/bin/true]}\n")
    rota("apply", str(file), db=up.db)
    garden = inside.locator("#fleets article", has_text="garden")
    await expect(garden).to_contain_text(str(file))
    await expect(garden.get_by_role("link", name="1 job", exact=True)).to_be_visible()
    await expect(inside.locator("#limits tr", has_text="spade")).to_contain_text("3")
    assert rota_json("job", "show", "dig", db=up.db)["fleet"] == "garden"


async def test_a_new_token_is_shown_once_and_lets_in(inside: Page, browser: Browser, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/settings")
    await inside.get_by_role("button", name="New token", exact=True).click()
    dialog = inside.get_by_role("dialog")
    await dialog.get_by_label("For whom").fill("grace")
    await dialog.get_by_label("What it may do").select_option("operate")
    await dialog.get_by_label("Good for").fill("2d")
    await dialog.get_by_role("button", name="New token").click()
    shown = inside.get_by_role("dialog", name="The token of grace")
    secret = await shown.locator("pre").inner_text()
    assert re.fullmatch(r"rota_\w+", secret)
    await shown.get_by_role("button", name="Close").click()
    await expect(inside.locator("dialog")).to_have_count(0)
    assert secret not in await inside.content()
    await expect(inside.locator("#tokens tr", has_text="grace").first).to_contain_text("operate")
    assert tokens(up, "grace") == [True]
    async with watched_page(browser) as (page, _):
        await let_in(page, up, secret)
        await expect(page.get_by_role("button", name="Log out grace")).to_be_visible()


async def test_a_revoked_token_ends_at_once_with_its_sessions(inside: Page, browser: Browser, up: RotaUp) -> None:
    made = rota_json("token", "create", "mallory", "--role", "read", db=up.db)
    async with watched_page(browser) as (page, watcher):
        watcher.expect("status of 401")
        await let_in(page, up, made["token"])
        await inside.goto(f"{up.url}/settings")
        row = inside.locator(f'#tokens tr[data-key="{made["id"]}"]')
        await row.get_by_role("button", name="Revoke", exact=True).click()
        await inside.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        await expect(inside.locator("#tokens details tr", has_text="mallory")).to_have_count(2)
        assert tokens(up, "mallory") == [False]
        await page.goto(f"{up.url}/jobs")
        await expect(page.get_by_role("heading", name="Log in")).to_be_visible()


async def test_a_lifetime_that_cannot_be_read_makes_no_token(inside: Page, watcher: Watcher, up: RotaUp) -> None:
    watcher.expect("status of 422")
    await inside.goto(f"{up.url}/settings")
    await inside.get_by_role("button", name="New token", exact=True).click()
    dialog = inside.get_by_role("dialog")
    await dialog.get_by_label("For whom").fill("nobody")
    await dialog.get_by_label("Good for").fill("5x")
    await dialog.get_by_role("button", name="New token").click()
    await expect(inside.locator("[data-toasts]")).to_contain_text("5x")
    assert tokens(up, "nobody") == []


async def test_a_login_link_lets_another_browser_in(inside: Page, browser: Browser, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/settings")
    await inside.get_by_role("button", name="Login link", exact=True).click()
    await inside.get_by_role("dialog").get_by_role("button", name="Login link").click()
    link = await inside.get_by_role("dialog", name="Login link").locator("pre").inner_text()
    assert link.startswith(f"{up.url}/login#rota_")
    async with watched_page(browser) as (page, _):
        await page.goto(link)
        await page.wait_for_url(f"{up.url}/")
        await page.goto(f"{up.url}/settings")
        await expect(page.get_by_role("heading", name="Settings")).to_be_visible()
        await expect(page.locator("#tokens")).to_have_count(0)
    sessions = [one["role"] for one in rota_json("token", "list", db=up.db) if one["kind"] == "session"]
    assert "read" in sessions


async def test_the_doctor_finds_what_is_wrong_with_a_job(inside: Page, up: RotaUp) -> None:
    rota("job", "add", "lost", "--every", "1h", "--", "/nowhere/program", db=up.db)
    await inside.goto(f"{up.url}/settings")
    await inside.get_by_role("button", name="Look for what is wrong").click()
    findings = inside.locator("doctor-check")
    await expect(findings).to_contain_text("/nowhere/program")
    await expect(findings).to_contain_text("checks are well")
    told = rota("doctor", "--json", db=up.db, check=False).stdout
    assert "/nowhere/program" in told


async def test_the_first_view_is_light(browser: Browser, up: RotaUp) -> None:
    await check_first_view(browser, up, "/settings")
