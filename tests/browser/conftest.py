"""A browser for a whole module, and a page for each test that must behave."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import Watcher, chromium, watched_page
from tests.browser.rota_up import RotaUp, rota_up

# A machine may be busy; what is waited for comes at once on one that is not.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:  # noqa: ARG001 - it must be there before
    async with chromium() as ready:
        yield ready


@pytest.fixture
async def watched(browser: Browser) -> AsyncIterator[tuple[Page, Watcher]]:
    async with watched_page(browser) as both:
        yield both


@pytest.fixture
def page(watched: tuple[Page, Watcher]) -> Page:
    return watched[0]


@pytest.fixture
def watcher(watched: tuple[Page, Watcher]) -> Watcher:
    return watched[1]


@pytest.fixture
def faults(watcher: Watcher) -> list[str]:
    """What went wrong on the page; a test that wants it to go wrong takes it out."""
    return watcher.faults


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaUp]:
    """A Rota that the tests of a module share."""
    with rota_up(tmp_path_factory.mktemp("up"), "--no-file") as ready:
        yield ready


@pytest.fixture
async def inside(page: Page, up: RotaUp) -> Page:
    """A page whose browser was let in."""
    link = up.new_link()
    await page.goto(link)
    await page.wait_for_url(f"{up.url}/")
    return page
