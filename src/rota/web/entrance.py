"""The entrance: a token or a link becomes the session of a browser, and a session ends."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rota.api.bodies import read_bytes
from rota.api.guards import COOKIE
from rota.errors import ConflictError, ForbiddenError
from rota.ledger.site import Site
from rota.operations.sessions import SESSION_LIFE, close_session, open_session
from rota.web.rendering import render

_MOST_BYTES = 8 * 1024


async def log_in(site: Site, request: Request) -> Response:
    """Open a session for whoever shows a token or a link, and go where they wanted to."""
    fields = parse_qs((await read_bytes(request, most=_MOST_BYTES)).decode("utf-8", "replace"))
    then = _own_path(fields.get("then", [""])[0])
    try:
        session = await open_session(site, fields.get("token", [""])[0].strip())
    except (ForbiddenError, ConflictError) as error:
        return HTMLResponse(page(theme="", then=then, error=str(error)), 401)
    response = RedirectResponse(then, 303)
    response.set_cookie(
        COOKIE,
        session.token,
        max_age=int(SESSION_LIFE.total_seconds()),
        path="/",
        httponly=True,
        samesite="strict",
        secure=urlsplit(request.headers.get("origin", "")).scheme == "https",
    )
    return response


async def log_out(site: Site, token: str | None) -> Response:
    if token is not None:
        await close_session(site, token)
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


def page(*, theme: str, then: str, error: str = "") -> str:
    """The way in."""
    return render("login.html", {"theme": theme, "then": _own_path(then), "error": error, "who": None})


def _own_path(text: str) -> str:
    """A path of this page; whatever might lead elsewhere leads to the overview."""
    is_own = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable() and "\\" not in text
    return text if is_own and not text.startswith(("/login", "/logout")) else "/"
