"""Guards: who may come in at all. By which name they call, from which page, with which token, in this order."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rota.api.paths import raw_path, segments
from rota.api.problems import RefusedError, answer_problem
from rota.ledger.site import Site
from rota.log import log
from rota.operations.tokens import caller_of

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
COOKIE = "rota_token"
OPEN_PATHS = frozenset({("healthz",), ("readyz",)})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
STREAM = "stream"
_PORT = re.compile(r":[0-9]{1,5}$", re.ASCII)
_SCHEME = re.compile(r"^https?://", re.ASCII)


class Problems:
    """The outermost: whatever goes wrong behind it becomes an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _refuse_socket(self._app, scope, receive, send)
            return
        is_started = False

        async def watched(message: Message) -> None:
            nonlocal is_started
            is_started = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            return
        except Exception as error:
            if is_started:
                log("request.failed", level=logging.ERROR, error=error, method=scope["method"], path=raw_path(scope))
                raise
            response = answer_problem(error, instance=raw_path(scope), method=scope["method"])
            await response(scope, receive, send)


async def _refuse_socket(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await app(scope, receive, send)


class HostGuard:
    """A name that somebody else has pointed at this machine is not ours."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in (*LOOPBACK, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._check(Headers(scope=scope).getlist("host"))
        await self._app(scope, receive, send)

    def _check(self, given: Sequence[str]) -> None:
        host = given[0].lower() if len(given) == 1 else ""
        if not {host, _PORT.sub("", host)} & self._hosts:
            raise RefusedError(421, "Rota does not answer to this name. Allow it: rota up --allow-host NAME")


class OriginGuard:
    """What another site's page asks in somebody's name is refused. Programs send no origin, and are let through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _is_guarded(scope) and _is_foreign(Headers(scope=scope)):
            raise RefusedError(403, "Rota answers to its own page and to programs, not to pages of other sites.")
        await self._app(scope, receive, send)


def _is_guarded(scope: Scope) -> bool:
    return scope["method"] not in SAFE_METHODS or segments(scope)[-1] == STREAM


def _is_foreign(headers: Headers) -> bool:
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return True
    return "origin" in headers and not _is_own(headers)


def _is_own(headers: Headers) -> bool:
    """Whether the page that asks was served by the name it asks."""
    origins = headers.getlist("origin")
    return len(origins) == 1 and _SCHEME.sub("", origins[0].lower()) == headers.get("host", "").lower()


class TokenGuard:
    """Whoever has no token that counts learns nothing, not even what exists."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and segments(scope) not in OPEN_PATHS:
            headers = Headers(scope=scope)
            token = _bearer(headers) or _cookie(scope, headers)
            if token is None:
                raise _unauthorized('Bearer realm="rota"')
            caller = await caller_of(self._site, token)
            if caller is None:
                raise _unauthorized('Bearer realm="rota", error="invalid_token"')
            scope["caller"], scope["token"] = caller, token
        await self._app(scope, receive, send)


def _unauthorized(challenge: str) -> RefusedError:
    detail = "A token that counts is needed. Send this header: Authorization: Bearer TOKEN"
    return RefusedError(401, detail, headers={"WWW-Authenticate": challenge})


def _bearer(headers: Headers) -> str | None:
    given = headers.getlist("authorization")
    scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _cookie(scope: Scope, headers: Headers) -> str | None:
    """Browsers send cookies by themselves, so changes need proof that our own page asks."""
    given = headers.getlist("cookie")
    token = cookie_parser(given[0]).get(COOKIE) if len(given) == 1 else None
    if token and scope["method"] not in SAFE_METHODS and not _is_own(headers):
        raise RefusedError(403, "A change with a cookie must come from Rota's own page: its Origin is missing.")
    return token or None
