"""A page with nothing on it but the log of a run, served by a real API on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page
from starlette.responses import Response
from starlette.types import Scope

import rota
from rota.ports.records import micros
from tests.api.house import House, end_run, start_run

WEB = Path(rota.__file__).parent / "web"
KINDS = {".js": "text/javascript", ".css": "text/css"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'"
)
HTML = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>A log</title>
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/log.css">
<link rel="stylesheet" href="/test.css">
<script type="module" src="/static/log.js"></script>
<main><h1>A log</h1><run-log {attributes}></run-log></main>
"""
CSS = ":root {color-scheme: light dark} body {background: light-dark(#f6f7f8, #0d0f11); font-family: sans-serif}"
Piece = str | tuple[str, str]


class Stage:
    """The log of one run, and what it writes."""

    def __init__(self, house: House, page: Page, run_id: str) -> None:
        self.house = house
        self.page = page
        self.run_id = run_id
        self.attributes = f'run="{run_id}"'
        self.asked: list[str] = []
        self.last = 0
        pages: Any = house.doors._pages
        pages[("test",)] = self._html
        pages[("test.css",)] = lambda _: _ready(Response(CSS, media_type="text/css"))
        for file in (*(WEB / "static").iterdir(), WEB / "styles" / "log.css"):
            content, kind = file.read_bytes(), KINDS[file.suffix]
            pages[("static", file.name)] = lambda _, content=content, kind=kind: _ready(
                Response(content, media_type=kind)
            )
        page.on("request", lambda request: self.asked.append(request.url.removeprefix(house.url)))

    async def _html(self, _: Scope) -> Response:
        html = HTML.format(attributes=self.attributes)
        return Response(html, headers={"Content-Security-Policy": POLICY}, media_type="text/html")

    @property
    def pages_asked(self) -> list[str]:
        """The requests for pages of the output."""
        return [path for path in self.asked if "/output?" in path]

    async def write(self, *pieces: Piece, skip: int = 0) -> None:
        """Output of the run, a piece each; a gap before it if some numbers are skipped."""
        named = [("stdout", piece) if isinstance(piece, str) else piece for piece in pieces]
        await self.write_at({self.last + skip + number: one for number, one in enumerate(named, 1)})

    async def write_at(self, pieces: Mapping[int, tuple[str, str]]) -> None:
        at = micros(self.house.site.clock.now())
        rows = [(self.run_id, number, stream, at, text) for number, (stream, text) in pieces.items()]
        await self.house.site.store.write(lambda tx: tx.insert_output(chunk=rows))
        self.last = max(pieces)

    async def show(self, *, is_live: bool = False) -> None:
        """Open the page and wait until the log has begun."""
        self.attributes = f'run="{self.run_id}"' + (" live" if is_live else "")
        await self.page.goto(f"{self.house.url}/test")
        await self.until("() => document.querySelector('.log-count')?.textContent")

    async def end(self) -> None:
        await end_run(self.house.site, self.run_id)

    @property
    def box(self) -> Locator:
        return self.page.locator(".log-box")

    @property
    def rows(self) -> Locator:
        return self.page.locator(".log-row")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def texts(self) -> list[str]:
        """The lines that are drawn, without what is around them."""
        return await self.page.locator(".log-text").all_text_contents()

    async def seen(self) -> list[str]:
        """The lines that can be seen whole."""
        return await self.page.evaluate(
            """() => {
              const box = document.querySelector(".log-box").getBoundingClientRect();
              return [...document.querySelectorAll(".log-row")].filter((row) => {
                const {top, bottom} = row.getBoundingClientRect();
                return top >= box.top - 1 && bottom <= box.bottom + 1;
              }).map((row) => row.querySelector(".log-text").textContent);
            }"""
        )

    async def until(self, look: str, value: object = None) -> None:
        """Wait for a fact on the page. The driver's own way needs what the policy of the page forbids."""
        async with asyncio.timeout(20):
            await self.page.evaluate(
                f"""(value) => new Promise((resolve) => {{
                  const look = () => (({look})(value) ? resolve() : requestAnimationFrame(look));
                  look();
                }})""",
                value,
            )

    async def until_counted(self, text: str) -> None:
        await self.until("text => document.querySelector('.log-count').textContent === text", text)

    async def search(self, query: str) -> None:
        await self.page.get_by_role("searchbox").fill(query)
        await self.page.get_by_role("searchbox").press("Enter")

    async def until_found(self, text: str) -> None:
        await self.until("text => document.querySelector('.log-found').textContent === text", text)


async def _ready(response: Response) -> Response:
    return response


async def raise_stage(house: House, page: Page) -> Stage:
    """A run under way, and a page for its log that somebody with a token looks at."""
    await page.context.add_cookies([{"name": "rota_token", "value": house.admin, "url": house.url}])
    await start_run(house.site)
    return Stage(house, page, "run_0650a1b2c3d4e70000a1b2c3d4")


def lines(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


def pieces_of(text: str, size: int = 65_536) -> Iterable[str]:
    return (text[begin : begin + size] for begin in range(0, len(text), size))
