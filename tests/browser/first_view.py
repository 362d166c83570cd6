"""The first view of a page: what it asks for, and what that weighs."""

from __future__ import annotations

from typing import NamedTuple

from playwright.async_api import Browser, Request, expect

from tests.browser.rota_up import RotaUp

MOST_REQUESTS = 8
MOST_BYTES = 150_000


class FirstView(NamedTuple):
    requests: list[str]
    weight: int


async def first_view(browser: Browser, up: RotaUp, path: str) -> FirstView:
    """Open a page in a browser that has nothing of it yet; it is whole once its main heading is there."""
    context = await browser.new_context()
    try:
        page = await context.new_page()
        await page.goto(up.new_link())
        await page.wait_for_url(f"{up.url}/")
        cookies = await context.cookies()
        await context.close()
        context = await browser.new_context()
        await context.add_cookies(cookies)  # type: ignore[arg-type] # what was given is taken back
        page = await context.new_page()
        asked: list[Request] = []

        def note(request: Request) -> None:
            asked.append(request)

        page.on("request", note)
        await page.goto(up.url + path, wait_until="load")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await page.wait_for_timeout(500)
        # Asked for once more, the page is no longer seen for the first time.
        again = next((place for place, one in enumerate(asked) if place and one.url == up.url + path), len(asked))
        asked = [one for one in asked[:again] if not one.url.startswith("data:")]
        return FirstView([one.url for one in asked], sum([await _weight(one) for one in asked]))
    finally:
        await context.close()


async def _weight(request: Request) -> int:
    """What came back; a stream that goes on has no end to be weighed at."""
    if request.url.partition("?")[0].endswith("/stream"):
        return 0
    response = await request.response()
    return 0 if response is None else len(await response.body())


async def check_first_view(browser: Browser, up: RotaUp, path: str) -> None:
    view = await first_view(browser, up, path)
    assert len(view.requests) <= MOST_REQUESTS, view.requests
    assert view.weight < MOST_BYTES
