"""The way in: the printed link lets one browser in, once."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import Watcher, watched_page
from tests.browser.rota_up import RotaUp, rota_up
from tests.rota_process import rota, rota_json

pytestmark = pytest.mark.anyio
REFUSED = "the server responded with a status of 401"


async def test_the_printed_link_lets_one_browser_in_and_is_used_up(browser: Browser, tmp_path: Path) -> None:
    with rota_up(tmp_path, "--no-file") as up:
        async with watched_page(browser) as (page, watcher):
            watcher.expect(REFUSED)
            await page.goto(up.link)
            await expect(page.get_by_role("link", name="Overview")).to_have_attribute("aria-current", "page")
            assert page.url == f"{up.url}/"
            (cookie,) = await page.context.cookies()
            assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("rota_token", True, "Strict")
            # The address that the browser remembers has no secret.
            assert "rota_" not in await page.evaluate("location.href")
            # Another link leads to here, too, and not to where Rota is when nobody says otherwise.
            assert f"later: rota login --url {up.url})" in up.shown
        async with watched_page(browser) as (page, watcher):
            watcher.expect(REFUSED)
            await page.goto(up.link)
            await expect(page.get_by_role("alert")).to_contain_text("does not count")
        kinds = {(one["kind"], one["is_valid"]) for one in rota_json("token", "list", db=up.db)}
        assert {("link", False), ("session", True)} <= kinds


async def test_a_token_lets_in_and_logging_out_ends_the_session(page: Page, watcher: Watcher, up: RotaUp) -> None:
    watcher.expect(REFUSED)
    token = rota_json("token", "create", "eve", "--role", "read", db=up.db)["token"]
    await page.goto(f"{up.url}/?from=mail")
    await page.get_by_label("Or paste a token").fill(token)
    await page.get_by_role("button", name="Log in").click()
    await expect(page).to_have_url(f"{up.url}/?from=mail")
    await page.get_by_role("button", name="Log out eve").click()
    await expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    sessions = [one for one in rota_json("token", "list", db=up.db) if (one["name"], one["kind"]) == ("eve", "session")]
    assert [one["is_valid"] for one in sessions] == [False]


async def test_a_revoked_token_ends_the_sessions_that_it_opened(page: Page, watcher: Watcher, up: RotaUp) -> None:
    watcher.expect(REFUSED)
    made = rota_json("token", "create", "mallory", "--role", "read", db=up.db)
    await page.goto(up.url)
    await page.get_by_label("Or paste a token").fill(made["token"])
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("navigation")).to_be_visible()
    rota_json("token", "revoke", made["id"], db=up.db)
    await page.reload()
    await expect(page.get_by_role("heading", name="Log in")).to_be_visible()


async def test_a_link_works_from_the_login_page_too(page: Page, watcher: Watcher, up: RotaUp) -> None:
    watcher.expect(REFUSED)
    await page.goto(f"{up.url}/login")
    await page.goto(up.new_link("read"))
    await expect(page.get_by_role("navigation")).to_be_visible()


async def test_nobody_is_led_to_another_site(page: Page, watcher: Watcher, up: RotaUp) -> None:
    watcher.expect(REFUSED)
    for target in ("//evil.example/", "/\\evil.example", "https://evil.example/"):
        token = rota_json("token", "create", "eve", "--role", "read", db=up.db)["token"]
        await page.goto(f"{up.url}/login")
        await page.locator("input[name=then]").evaluate("(field, value) => { field.value = value; }", target)
        await page.get_by_label("Or paste a token").fill(token)
        await page.get_by_role("button", name="Log in").click()
        await expect(page).to_have_url(f"{up.url}/")
        await page.context.clear_cookies()


async def test_a_page_of_a_problem_becomes_the_page_again_when_it_is_cured(
    inside: Page, watcher: Watcher, up: RotaUp
) -> None:
    watcher.expect("404")
    await inside.goto(f"{up.url}/jobs/comes-later")
    await expect(inside.get_by_role("alert")).to_contain_text('There is no job "comes-later"')
    rota("job", "add", "comes-later", "--daily", "03:00", "--", "/bin/true", db=up.db)
    await expect(inside.get_by_role("heading", level=1)).to_contain_text("comes-later", timeout=20_000)
