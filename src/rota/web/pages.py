"""Pages: from an address to HTML. Whoever has no session is shown the way in, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from rota.api.guards import COOKIE
from rota.api.paths import raw_path, segments
from rota.api.problems import UNTOLD, RefusedError, status_of, tell_log
from rota.api.reading import pairs_of
from rota.errors import ForbiddenError
from rota.ledger.site import Site
from rota.operations.events import event_id
from rota.operations.premises import Premises
from rota.operations.tokens import caller_of
from rota.ports.caller import Caller, Door, Role
from rota.web import entrance
from rota.web.rendering import ASSETS, render
from rota.web.sections import PAGES, Page
from rota.web.visit import Visit

THEME = "rota_theme"
_THEMES = ("dark", "light")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


class Pages:
    """Everything outside of the API. The guards of Host and Origin stand before it."""

    def __init__(self, site: Site, premises: Premises) -> None:
        self._site = site
        self._premises = premises

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(scope, Request(scope, receive))
        response.headers.update({name: value for name, value in HEADERS.items() if name not in response.headers})
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, request: Request) -> Response:
        pieces = segments(scope)
        asked = _methods(pieces)
        if scope["method"] not in asked:
            raise RefusedError(405, f"This address takes {', '.join(asked)}.", headers={"Allow": ", ".join(asked)})
        if pieces[0] == "static":
            return _asset(pieces)
        if scope["method"] == "POST":
            return await entrance.log_in(self._site, request) if pieces[0] == "login" else await self._leave(scope)
        theme = _theme(scope)
        caller: Caller | None = None
        try:
            caller = await self._caller(scope)
            if caller is None:
                is_asked = pieces == ("login",)
                return HTMLResponse(entrance.page(theme=theme, then=_path(scope)), 200 if is_asked else 401)
            if pieces == ("login",):
                return RedirectResponse("/", 303)
            return await self._page(scope, pieces, caller, theme)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong becomes a page
            return self._problem(error, scope, caller, theme)

    async def _caller(self, scope: Scope) -> Caller | None:
        token = _cookie(scope)
        caller = None if token is None else await caller_of(self._site, token, door=Door.PAGE)
        if caller is not None and caller.is_run:
            raise ForbiddenError("A run has no page. It finds the API at ROTA_API_URL.")
        return caller

    async def _page(self, scope: Scope, pieces: tuple[str, ...], caller: Caller, theme: str) -> Response:
        page, values = _find(pieces)
        visit = Visit(
            site=msgspec.structs.replace(self._site, caller=caller),
            premises=self._premises,
            path=raw_path(scope),
            values=values,
            query=pairs_of(scope["query_string"]),
            theme=theme,
        )
        if not visit.may(page.role):
            raise ForbiddenError(f"This page is for the role {page.role}; you have {caller.role}.")
        context = await page.show(visit)
        return HTMLResponse(
            render(page.template, {**self._frame(theme, caller), "visit": visit, "page": page, **context})
        )

    async def _leave(self, scope: Scope) -> Response:
        return await entrance.log_out(self._site, _cookie(scope))

    def _frame(self, theme: str, caller: Caller | None) -> dict[str, Any]:
        """What every page needs, with and without a caller."""
        role = Role.READ if caller is None else caller.role
        return {
            "theme": theme,
            "who": caller,
            "since": event_id(self._site.clock.now()),
            "may_operate": caller is not None and role.covers(Role.OPERATE),
            "may_admin": caller is not None and role.covers(Role.ADMIN),
        }

    def _problem(self, error: Exception, scope: Scope, caller: Caller | None, theme: str) -> Response:
        status = status_of(error)
        tell_log(error, status, method=scope["method"], path=raw_path(scope))
        context = {"status": status, "title": HTTPStatus(status).phrase, "detail": UNTOLD.get(status) or str(error)}
        headers = {"Retry-After": "2"} if status == 503 else {}
        return HTMLResponse(render("problem.html", {**self._frame(theme, caller), **context}), status, headers)


def _methods(pieces: tuple[str, ...]) -> tuple[str, ...]:
    if pieces == ("login",):
        return ("GET", "HEAD", "POST")
    return ("POST",) if pieces == ("logout",) else ("GET", "HEAD")


def _asset(pieces: tuple[str, ...]) -> Response:
    found = ASSETS.find(pieces[1], pieces[2]) if len(pieces) == 3 else None
    if found is None:
        raise RefusedError(404, "There is no such file in this version.")
    return Response(found.content, headers=_FOR_EVER, media_type=found.media_type)


def _find(pieces: tuple[str, ...]) -> tuple[Page, Mapping[str, str]]:
    for page in PAGES:
        values = page.match(pieces)
        if values is not None:
            return page, values
    raise RefusedError(404, "There is no page at this address.")


def _path(scope: Scope) -> str:
    query = scope["query_string"].decode("latin-1")
    return raw_path(scope) + (f"?{query}" if query else "")


def _cookies(scope: Scope) -> Mapping[str, str]:
    given = Headers(scope=scope).getlist("cookie")
    return cookie_parser(given[0]) if len(given) == 1 else {}


def _cookie(scope: Scope) -> str | None:
    return _cookies(scope).get(COOKIE) or None


def _theme(scope: Scope) -> str:
    chosen = _cookies(scope).get(THEME, "")
    return chosen if chosen in _THEMES else ""
