"""A request, with the run's identity in its headers and as much of the answer kept as is worth keeping."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from ipaddress import ip_address

import aiohttp
from aiohttp.abc import AbstractResolver

from rota.actions.addresses import Network, Reach, RefusedAddressError, networks_from
from rota.actions.http_answer import read_answer
from rota.actions.http_request import FaultError, Request, make_request
from rota.actions.redact import Redactor
from rota.core.definition import HttpAction
from rota.core.run import RunState
from rota.core.settlement import Outcome
from rota.ports.action import Output, Result, Started, Work

_LONGEST_LOCATION = 500


class BrokenConnectionError(aiohttp.ClientError):
    """A connection that ended before its answer."""


class Http:
    """Sends requests, each once and over a connection of its own. Redirects are answers like any other.

    Private networks are out of reach unless they are allowed, here or by the environment.
    """

    def __init__(self, allowed: Iterable[Network] | None = None, resolver: AbstractResolver | None = None) -> None:
        self._reach = Reach(networks_from(os.environ) if allowed is None else allowed)
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def preflight(self, work: Work) -> str | None:
        try:
            self._prepare(work)
        except FaultError as error:
            return str(error)
        return None

    async def perform(self, work: Work, output: Output, started: Started) -> Result:
        try:
            request = self._prepare(work)
        except FaultError as error:
            return _permanent(str(error))
        if not await started():
            return Result(Outcome(state=RunState.CANCELLED, reason="fenced"))
        try:
            return await self._send(_action(work), request, output)
        except (aiohttp.ClientError, OSError) as error:
            text = _redacted(f"{request.shown}: {_said(error, request)}", request)
            if _is_permanent(error):
                return _permanent(text)
            return Result(Outcome(state=RunState.FAILED, reason="connection", error=text))

    def _prepare(self, work: Work) -> Request:
        request = make_request(work, _action(work))
        host = request.url.host or ""
        if _is_address(host) and (fault := self._reach.fault(host)) is not None:
            raise FaultError(fault)
        return request

    async def _send(self, action: HttpAction, request: Request, output: Output) -> Result:
        async with self._open().request(
            request.method,
            request.url,
            headers=request.headers,
            # Whole, a long one would hold up everything else while it is written.
            data=None if request.data is None else io.BytesIO(request.data),
            allow_redirects=False,
            # The run's own timeout is the only one.
            timeout=aiohttp.ClientTimeout(total=None),
        ) as response:
            answer = await read_answer(response, request.secrets, output)
            location = _redacted(response.headers.get("Location", ""), request)[:_LONGEST_LOCATION]
            return Result(
                _outcome(action, response.status, answer.text, location),
                answer.result,
                answer.response,
            )

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0,
                # A connection that is used again may be closed by the other side just then.
                force_close=True,
                resolver=self._resolver,
                socket_factory=self._reach.make_socket,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                # Jobs share nothing, least of all each other's sessions.
                cookie_jar=aiohttp.DummyCookieJar(),
                middlewares=(_once,),
                trust_env=False,
            )
        return self._session


async def _once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """By itself aiohttp repeats what it takes for harmless; whether to try again is for the job to say."""
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise BrokenConnectionError(str(error)) from error


def _outcome(action: HttpAction, status: int, text: str, location: str) -> Outcome:
    is_expected = status in action.expect if action.expect else 200 <= status <= 299
    if is_expected:
        return Outcome(state=RunState.SUCCEEDED, http_status=status, output=text)
    expected = ", ".join(map(str, action.expect)) or "200-299"
    error = f"HTTP status {status}, expected {expected}"
    if location and 300 <= status <= 399:
        error += f"; redirects are not followed, so put {location} into the job's URL"
    return Outcome(state=RunState.FAILED, reason="status", error=error, http_status=status, output=text)


def _permanent(fault: str) -> Result:
    return Result(Outcome(state=RunState.PERMANENT_FAILURE, reason="preflight", error=fault))


def _is_permanent(error: Exception) -> bool:
    """Whether it is the URL that is not allowed, which shows only when its host is looked up."""
    is_refused = isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, RefusedAddressError)
    return is_refused or isinstance(error, aiohttp.InvalidURL)


def _said(error: Exception, request: Request) -> str:
    """What went wrong, and what to do."""
    place = f"{request.url.host}:{request.url.port}"
    match error:
        case aiohttp.ClientConnectorDNSError():
            return f"the host {request.url.host} was not found ({error.os_error.strerror}); check its name and the DNS"
        case aiohttp.ClientConnectorCertificateError():
            return (
                f"the certificate of {place} is not trusted ({error.certificate_error}); renew it or trust its issuer"
            )
        case aiohttp.ClientConnectorSSLError():
            return f"{place} does not speak TLS as expected ({error.os_error}); check the URL's scheme and port"
        case aiohttp.ClientConnectorError(os_error=RefusedAddressError(strerror=fault)):
            return str(fault)
        case aiohttp.ClientConnectorError():
            reason = error.os_error.strerror or error.os_error
            return f"no connection to {place} ({reason}); check that the service runs and the URL's port"
        case aiohttp.InvalidURL():
            return f"the host {request.url.host} cannot be used ({error.description}); correct the URL"
        case BrokenConnectionError():
            return f"{place} closed the connection before its answer ({error}); look into its log"
        case aiohttp.ClientPayloadError():
            return f"the answer of {place} is not whole ({error}); look into its log"
        case aiohttp.ClientResponseError():
            return f"the answer of {place} is not valid HTTP ({error.message}); check the URL's port"
        case _:
            return str(error) or type(error).__name__


def _redacted(text: str, request: Request) -> str:
    redactor = Redactor(request.secrets)
    return redactor.feed(text) + redactor.finish()


def _is_address(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _action(work: Work) -> HttpAction:
    action = work.definition.action
    if not isinstance(action, HttpAction):
        raise TypeError(f"{work.job} is no request")
    return action
