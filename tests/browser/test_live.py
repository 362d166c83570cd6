"""Live: a page keeps itself up to date, however much happens, and rests while nobody sees it."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest
from playwright.async_api import Page, Request, expect

from rota.app import make_site, make_store
from rota.ledger.events import Event, tell
from tests.browser.rota_up import RotaUp
from tests.rota_process import rota

pytestmark = pytest.mark.anyio
EVENTS, AT_ONCE = 1_500, 25


async def pour(db: str) -> float:
    """Put many events on record, about 500 a second; how many seconds it took."""
    store, _ = make_store(db)
    site = make_site(store)
    await store.open()
    begun = time.monotonic()
    events = [Event("run.succeeded", "steady", f"run_{number}", "succeeded") for number in range(AT_ONCE)]
    for _ in range(0, EVENTS, AT_ONCE):
        now = site.clock.now()
        await store.write(lambda tx, now=now: tell(tx, now, site, events))  # type: ignore[misc]
        due = now + timedelta(seconds=AT_ONCE / 500)
        await site.clock.wait(asyncio.Event(), until=due)
    await store.close()
    return time.monotonic() - begun


async def test_a_burst_of_events_costs_a_page_a_second_and_it_still_answers(inside: Page, up: RotaUp) -> None:
    asked: list[str] = []

    def note(request: Request) -> None:
        if request.url == f"{up.url}/jobs":
            asked.append(request.url)

    await inside.goto(f"{up.url}/jobs")
    inside.on("request", note)
    pouring = asyncio.create_task(pour(up.db))
    # While they pour in, the page is used.
    await inside.get_by_role("button", name="Keyboard shortcuts").click()
    await expect(inside.get_by_role("dialog")).to_be_visible()
    await inside.keyboard.press("Escape")
    await expect(inside.get_by_role("dialog")).to_have_count(0)
    took = await pouring
    assert 1 <= len(asked) <= took + 2


async def test_what_happens_shows_at_once_without_losing_what_one_does(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/jobs")
    await inside.get_by_role("searchbox").fill("appears")
    await expect(inside.locator("#jobs")).to_contain_text("No job fits these filters.")
    rota("job", "add", "appears", "--daily", "03:00", "--", "/bin/true", db=up.db)
    await expect(inside.locator("#jobs tbody tr")).to_have_count(1)
    await expect(inside.get_by_role("searchbox")).to_be_focused()
    await expect(inside.get_by_role("searchbox")).to_have_value("appears")


async def test_a_page_that_nobody_sees_rests_and_catches_up_when_it_is_seen(inside: Page, up: RotaUp) -> None:
    await inside.goto(f"{up.url}/jobs?contains=unseen")
    await expect(inside.locator("#jobs")).to_contain_text("No job fits these filters.")
    await see(inside, is_hidden=True)
    asked: list[str] = []
    inside.on("request", lambda request: asked.append(request.url))
    rota("job", "add", "unseen", "--daily", "03:00", "--", "/bin/true", db=up.db)
    # The server has told everybody who listens by the time that another page shows it.
    other = await inside.context.new_page()
    await other.goto(f"{up.url}/jobs?contains=unseen")
    await expect(other.locator("#jobs tbody tr")).to_have_count(1)
    assert asked == []
    await see(inside, is_hidden=False)
    await expect(inside.locator("#jobs tbody tr")).to_have_count(1)


async def see(page: Page, *, is_hidden: bool) -> None:
    """What a browser says when its tab goes into the background; headless ones never do by themselves."""
    await page.evaluate(
        """(isHidden) => {
          Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )
