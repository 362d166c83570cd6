"""The audit: who changed what, and what differs."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.first_view import check_first_view
from tests.browser.rota_up import RotaUp
from tests.rota_process import rota, rota_json

pytestmark = pytest.mark.anyio


async def test_a_change_is_shown_field_by_field_as_it_happens(inside: Page, up: RotaUp) -> None:
    rota("job", "add", "report", "--daily", "09:00", "--", "/bin/echo", db=up.db)
    await inside.goto(f"{up.url}/audit?contains=report")
    rows = inside.locator("#audit tbody tr")
    await expect(rows).to_have_count(1)
    rota("job", "edit", "report", "--daily", "08:30", "--timeout", "30m", db=up.db)
    await expect(rows).to_have_count(2)
    change = rows.first.locator(".difference")
    await expect(change).to_have_count(2)
    await expect(change.first).to_have_text("daily 09:00 → 08:30")
    await expect(change.last).to_have_text("timeout 30m")
    (latest, _) = rota_json("audit", "report", db=up.db)
    await expect(rows.first).to_contain_text(f"{latest['caller']} by cli")
    await expect(rows.first.get_by_role("link", name="report")).to_have_attribute("href", "/jobs/report")


async def test_a_change_made_in_the_page_is_found_as_one_types(inside: Page, up: RotaUp) -> None:
    rota("job", "add", "team/alpha", "--agent", "team", "--manual", "--", "/bin/echo", db=up.db)
    await inside.goto(f"{up.url}/agents/team")
    await inside.get_by_role("button", name="Change limit", exact=True).click()
    await inside.get_by_role("dialog").get_by_label("Runs at once").fill("7")
    await inside.get_by_role("dialog").get_by_role("button", name="Change limit").click()
    await expect(inside.locator("#agent")).to_contain_text("of 7")
    await inside.goto(f"{up.url}/audit")
    await inside.get_by_role("searchbox").press_sequentially("TEA")
    rows = inside.locator("#audit tbody tr")
    await expect(rows).to_have_count(2)
    await expect(inside).to_have_url(f"{up.url}/audit?contains=TEA")
    await expect(rows.first).to_contain_text("pool.set")
    await expect(rows.first).to_contain_text("by page")
    await expect(rows.first.locator(".difference")).to_contain_text("→ 7")
    await inside.get_by_role("searchbox").fill("nothing like this")
    await expect(inside.locator("#audit")).to_contain_text("No change fits this filter.")


async def test_a_long_list_goes_on_where_the_page_ended(inside: Page, up: RotaUp) -> None:
    for size in range(1, 55):
        answer = await inside.request.put(
            f"{up.url}/api/v1/pools/many", data={"size": size}, headers={"Origin": up.url}
        )
        assert answer.ok
    await inside.goto(f"{up.url}/audit?subject=many")
    rows = inside.locator("#audit tbody tr")
    await expect(rows).to_have_count(50)
    await inside.get_by_role("link", name="More").click()
    await expect(rows).to_have_count(4)
    await expect(rows.last.locator(".difference").last).to_have_text("size 1")
    await inside.get_by_role("link", name="From the start").click()
    await expect(rows).to_have_count(50)


async def test_what_is_written_into_a_job_is_only_text_here(inside: Page, up: RotaUp) -> None:
    hostile = "<script>document.title='gone'</script><img src=x onerror=alert(1)>"
    rota("job", "add", "hostile", "--manual", "--description", hostile, "--", "/bin/echo", db=up.db)
    await inside.goto(f"{up.url}/audit?contains=hostile")
    await expect(inside.locator("#audit")).to_contain_text("<script>")
    assert await inside.locator("#audit img, #audit script").count() == 0
    assert rota_json("job", "show", "hostile", db=up.db)["description"] == hostile


async def test_the_first_view_is_light(browser: Browser, up: RotaUp) -> None:
    await check_first_view(browser, up, "/audit")
