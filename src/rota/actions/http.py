"""A request, with the run's identity in its headers and as much of the answer kept as is worth keeping."""

from __future__ import annotations

import json

import aiohttp

from rota.actions.secrets import UnresolvedSecretError, resolve_all
from rota.core.definition import HttpAction
from rota.core.run import RunState
from rota.core.settlement import Outcome
from rota.ports.action import Output, Result, Started, Work

KEPT = 100 * 1024
_READ = 64 * 1024
_ALLOWED = ("http://", "https://")


class Http:
    """Sends requests through one session. Redirects are answers like any other."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def preflight(self, work: Work) -> str | None:
        action = _action(work)
        if not action.url.startswith(_ALLOWED):
            return f"The URL {action.url} is not allowed; use http or https."
        try:
            resolve_all(action.headers)
        except UnresolvedSecretError as error:
            return str(error)
        return None

    async def perform(self, work: Work, output: Output, started: Started) -> Result:
        action = _action(work)
        if not await started():
            return Result(Outcome(state=RunState.CANCELLED, reason="fenced"))
        try:
            return await self._send(work, action, output)
        except (aiohttp.ClientError, OSError) as error:
            text = f"{action.method} {action.url}: {str(error) or type(error).__name__}"
            return Result(Outcome(state=RunState.FAILED, reason="connection", error=text))

    async def _send(self, work: Work, action: HttpAction, output: Output) -> Result:
        headers, _ = resolve_all(action.headers)
        body = action.body if action.body is not None else work.input
        async with self._open().request(
            action.method,
            action.url,
            headers=_identity(work) | headers,
            data=None if body is None else body.encode("utf-8", "surrogateescape"),
            allow_redirects=False,
            # The run's own timeout is the only one.
            timeout=aiohttp.ClientTimeout(total=None),
        ) as response:
            kept, is_cut = await _read(response)
            text = kept.decode(response.get_encoding(), "replace").replace("\0", "\ufffd")
            await output.write("stdout", text.encode())
            return Result(
                _outcome(action, response.status, text),
                None if is_cut else _as_json(text),
                text + ("\n[cut]" if is_cut else ""),
            )

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False)
        return self._session


def _outcome(action: HttpAction, status: int, text: str) -> Outcome:
    is_expected = status in action.expect if action.expect else 200 <= status <= 299
    if is_expected:
        return Outcome(state=RunState.SUCCEEDED, http_status=status, output=text)
    expected = ", ".join(map(str, action.expect)) or "200-299"
    error = f"HTTP status {status}, expected {expected}"
    return Outcome(state=RunState.FAILED, reason="status", error=error, http_status=status, output=text)


async def _read(response: aiohttp.ClientResponse) -> tuple[bytes, bool]:
    """The beginning of the body, after decompression, and whether more was left unread."""
    kept = bytearray()
    async for piece in response.content.iter_chunked(_READ):
        kept += piece
        if len(kept) > KEPT:
            # Nothing that follows is worth its memory; the connection is given up with it.
            response.close()
            return bytes(kept[:KEPT]), True
    return bytes(kept), False


def _identity(work: Work) -> dict[str, str]:
    names = {name: value for name, value in work.identity.items() if name.startswith("ROTA_")}
    headers = {name.replace("_", "-").title(): value for name, value in names.items() if value}
    return headers | {"Traceparent": work.identity["TRACEPARENT"], "Idempotency-Key": work.run_id}


def _as_json(text: str) -> str | None:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return text


def _action(work: Work) -> HttpAction:
    action = work.definition.action
    if not isinstance(action, HttpAction):
        raise TypeError(f"{work.job} is no request")
    return action
