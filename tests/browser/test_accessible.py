"""Every page for everybody: contrast, names and order as axe checks them, on paper, in the dark and on a phone."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import watched_page
from tests.browser.rota_up import RotaUp
from tests.rota_process import eventually, rota, rota_json

pytestmark = pytest.mark.anyio
AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}
PATHS = (
    *("/", "/jobs", "/jobs/looked-at", "/jobs/looked-at/edit", "/new-job", "/runs", "/agents", "/agents/coder"),
    *("/workers", "/audit", "/settings"),
)


@pytest.fixture(scope="module")
def furnished(up: RotaUp) -> str:
    """A Rota with something of everything; the id of a run that failed."""
    rota("job", "add", "coder/work", "--agent", "coder", "--every", "1h", "--", "/bin/true", db=up.db)
    rota("job", "add", "looked-at", "--every", "1h", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 3", db=up.db)
    rota("job", "add", "idea", "--propose", "--daily", "12:00", "--", "/bin/true", db=up.db)
    rota("hint", "set", "looked-at", "--every", "30m", "--because", "a test", db=up.db)
    rota("job", "pause", "coder/work", "--note", "until Monday", db=up.db)
    (run,) = eventually(lambda: [one for one in rota_json("runs", "looked-at", db=up.db) if one["ended_at"]])
    return str(run["id"])


@pytest.mark.parametrize("look", LOOKS)
async def test_nothing_stands_in_anybodys_way(look: str, browser: Browser, up: RotaUp, furnished: str) -> None:
    found: dict[str, list[str]] = {}
    async with watched_page(browser, **LOOKS[look]) as (page, _):
        await page.goto(f"{up.url}/login")
        found["/login"] = await faults(page)
        await page.goto(up.new_link())
        await page.wait_for_url(f"{up.url}/")
        for path in (*PATHS, f"/runs/{furnished}"):
            await page.goto(up.url + path)
            await page.wait_for_load_state("load")
            found[path] = await faults(page)
            if look == "phone":
                assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    assert {path: some for path, some in found.items() if some} == {}


async def faults(page: Page) -> list[str]:
    """What axe finds, each with where it is."""
    await page.evaluate(AXE)
    result = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in result["violations"]
        for node in one["nodes"]
    ]


async def test_the_keyboard_leads_everywhere(inside: Page, up: RotaUp, furnished: str) -> None:  # noqa: ARG001
    for keys, path in (("gj", "/jobs"), ("gr", "/runs"), ("ga", "/agents"), ("gw", "/workers"), ("gu", "/audit")):
        await inside.keyboard.type(keys)
        await expect(inside).to_have_url(up.url + path)
        await inside.wait_for_load_state("load")
    await inside.keyboard.type("gj")
    await expect(inside).to_have_url(f"{up.url}/jobs")
    await inside.wait_for_load_state("load")
    await inside.keyboard.press("j")
    await expect(inside.locator("#jobs tbody tr").first.locator("a[data-row]")).to_be_focused()
    await inside.keyboard.press("j")
    await inside.keyboard.press("k")
    await inside.keyboard.press("Enter")
    await expect(inside).to_have_url(f"{up.url}/jobs/coder%2Fwork")
    await inside.keyboard.type("?")
    await expect(inside.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("filter this page")
    await inside.keyboard.press("Escape")
    await expect(inside.get_by_role("dialog")).to_have_count(0)


async def test_on_a_phone_the_menu_shows_where_one_is(inside: Page, up: RotaUp) -> None:
    await inside.set_viewport_size({"width": 390, "height": 844})
    for path in ("/", "/settings"):
        await inside.goto(up.url + path)
        await expect(inside.locator("nav [aria-current]")).to_be_in_viewport(ratio=1)


async def test_the_first_step_of_the_tabulator_leads_to_the_content(inside: Page) -> None:
    await inside.keyboard.press("Tab")
    await expect(inside.get_by_role("link", name="To the content")).to_be_focused()
    await inside.keyboard.press("Enter")
    await expect(inside.locator("main")).to_be_focused()


async def test_dark_and_light_are_chosen_and_remembered(inside: Page, up: RotaUp) -> None:
    root = inside.locator("html")
    await inside.get_by_role("button", name="Dark or light").click()
    chosen = await root.get_attribute("data-theme")
    assert chosen in ("dark", "light")
    await inside.goto(f"{up.url}/jobs")
    await expect(root).to_have_attribute("data-theme", str(chosen))
    await inside.get_by_role("button", name="Dark or light").click()
    await expect(root).to_have_attribute("data-theme", "light" if chosen == "dark" else "dark")


async def test_nothing_moves_for_those_who_asked_for_it(browser: Browser, up: RotaUp) -> None:
    async with watched_page(browser, reduced_motion="reduce") as (page, _):
        await page.goto(up.new_link())
        await page.wait_for_url(f"{up.url}/")
        assert await page.evaluate("document.getAnimations().length") == 0
