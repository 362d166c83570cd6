"""A real Chromium: the system's own, or the one that Playwright has brought."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, async_playwright

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser for as long as the block lasts; without one, an error that says how to get it."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


class Watcher:
    """What a page must never do: complain, break its own policy, or ask another machine."""

    def __init__(self, context: BrowserContext) -> None:
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.expected: tuple[str, ...] = ()
        context.on("console", self._spoken)
        context.on("weberror", lambda error: self.faults.append(f"error: {error.error}"))
        context.on("request", self._asked)

    def expect(self, *texts: str) -> None:
        """What a test provokes on purpose, such as a server that is gone."""
        self.expected = (*self.expected, *texts)

    def _spoken(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(text in message.text for text in self.expected):
            self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self.faults.append(f"request to {request.url}")


@asynccontextmanager
async def watched_page(browser: Browser, **options: object) -> AsyncIterator[tuple[Page, Watcher]]:
    """A page in a browser of its own, that must behave until the end of the block."""
    context = await browser.new_context(**options)  # type: ignore[arg-type] # Playwright's own
    watcher = Watcher(context)
    page = await context.new_page()
    try:
        yield page, watcher
    finally:
        await context.close()
    assert watcher.faults == [], watcher.faults
