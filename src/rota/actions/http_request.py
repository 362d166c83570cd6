"""What is sent: a definition and its run as one request, or a sentence that says what to fix."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from yarl import URL

from rota.actions.secrets import UnresolvedSecretError, resolve_all
from rota.core.definition import HttpAction
from rota.ports.action import Work

# Written as the standard wants it, so that nothing needs to be quoted.
_PLAIN_URL = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
# Surrogates stand for bytes of an environment that are no text.
_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
# They say where a request ends, so they have to agree with what is sent.
_OURS = frozenset({"content-length", "transfer-encoding"})


class FaultError(Exception):
    """What keeps a request from being sent. The message says what to fix."""


class Request(NamedTuple):
    method: str
    url: URL
    headers: Mapping[str, str]
    data: bytes | None
    secrets: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The request for a person, without a password."""
        return f"{self.method} {self.url.with_user(None)}"


def make_request(work: Work, action: HttpAction) -> Request:
    """The request of a run; raises ``FaultError``."""
    url = _url(action.url)
    try:
        given, secrets = resolve_all(action.headers)
    except UnresolvedSecretError as error:
        raise FaultError(str(error)) from None
    _check_headers(given)
    if url.user is not None and "authorization" in map(str.lower, given):
        raise FaultError("The URL has a user name and there is an Authorization header; remove one of them.")
    body = action.body if action.body is not None else work.input
    data = None if body is None else body.encode("utf-8", "surrogateescape")
    return Request(action.method, url, _headers(given, _identity(work), data), data, _forms(secrets))


def is_json(text: str | bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _url(text: str) -> URL:
    try:
        URL(text)
        # As it is: a signature may depend on how it is quoted.
        url = URL(text, encoded=_PLAIN_URL.fullmatch(text) is not None)
        is_whole = url.scheme in ("http", "https") and bool(url.host) and url.port is not None
    except ValueError as error:
        raise FaultError(f"The URL cannot be read ({error}); write it as https://example.org/tick.") from None
    if not is_whole:
        shown = url.with_user(None) if url.raw_host else url
        raise FaultError(f"The URL {shown} is not allowed; use http or https, and a host.")
    return url


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise FaultError(f"The header name {name!r} is not valid; use letters, digits and hyphens.")
        if name.lower() in _OURS:
            raise FaultError(f"The header {name} is set by Rota itself; remove it.")
        if _UNFIT.search(value):
            raise FaultError(f"The value of the header {name} has a line break or is no text; correct it.")


def _headers(given: Mapping[str, str], identity: Mapping[str, str], data: bytes | None) -> dict[str, str]:
    """The job's own headers; what names the run cannot be forged by them."""
    ours = {name.lower() for name in identity}
    headers = {name: value for name, value in given.items() if name.lower() not in ours}
    if data and "content-type" not in map(str.lower, headers):
        headers["Content-Type"] = "application/json" if is_json(data) else "text/plain; charset=utf-8"
    return {**headers, **identity}


def _identity(work: Work) -> dict[str, str]:
    names = {name: value for name, value in work.identity.items() if name.startswith("ROTA_")}
    headers = {name.replace("_", "-").title(): value for name, value in names.items() if value}
    return headers | {"Traceparent": work.identity["TRACEPARENT"], "Idempotency-Key": work.run_id}


def _forms(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """The secrets as an answer may show them: also without the scheme before a token, and as JSON writes them."""
    bare = {part.strip() for secret in secrets for part in (secret, secret.partition(" ")[2])}
    escaped = {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for text in bare for is_ascii in (True, False)}
    return tuple(sorted((bare | escaped) - {""}))
