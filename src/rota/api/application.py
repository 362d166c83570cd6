"""The application: guards in front, operations behind them, and streams that end when it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rota.api import metrics
from rota.api.answering import answer, json_answer
from rota.api.event_watching import EventWatching
from rota.api.faces import Face, make_faces
from rota.api.guards import HostGuard, OriginGuard, Problems, TokenGuard
from rota.api.health import unready
from rota.api.metrics import Meter
from rota.api.openapi import describe
from rota.api.paths import Directory, not_allowed, segments
from rota.api.problems import SAFE_HEADERS, RefusedError
from rota.api.reading import read_arguments
from rota.api.run_watching import HEARTBEAT_EVERY, RunWatching
from rota.ledger.site import Site
from rota.operations.premises import Premises
from rota.operations.runs import find_run
from rota.operations.tokens import caller_of
from rota.ports.caller import ENGINE, Caller

Page = Callable[[Scope], Awaitable[Response]]
FOR_PROGRAMS = frozenset({"api", "healthz", "readyz", "metrics"})
_WORTH_SQUEEZING = 2_048
_STREAM_HEADERS = {**SAFE_HEADERS, "X-Accel-Buffering": "no"}


def make_application(
    site: Site,
    premises: Premises,
    *,
    hosts: Sequence[str],
    meter: Meter | None = None,
    is_ready: Callable[[], bool] = lambda: True,
    pages: ASGIApp | None = None,
) -> Starlette:
    """The HTTP doors of a site. ``hosts`` are the names it answers to, besides those of this machine.

    ``pages`` answers whatever is not the API's; it lets people in by itself. What ``state.doors`` holds can be closed,
    which ends all streams.
    """
    doors = Doors(site, premises, meter=meter or Meter(), is_ready=is_ready)
    application = Starlette(
        middleware=[
            Middleware(Problems),
            Middleware(HostGuard, hosts=hosts),
            Middleware(OriginGuard),
            Middleware(GZipMiddleware, minimum_size=_WORTH_SQUEEZING, compresslevel=3),
        ]
    )
    application.state.doors = doors
    guarded = TokenGuard(doors, site)
    # Not a route: patterns do not match every path there is, such as one with a line break in it.
    application.router.default = guarded if pages is None else _Fork(guarded, pages)
    return application


class _Fork:
    """What programs ask for goes one way, what people look at the other."""

    def __init__(self, doors: ASGIApp, pages: ASGIApp) -> None:
        self._doors = doors
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_for_programs = scope["type"] != "http" or segments(scope)[0] in FOR_PROGRAMS
        await (self._doors if is_for_programs else self._pages)(scope, receive, send)


class Doors:
    """Finds what a request asks for, and has it done on behalf of the caller."""

    def __init__(self, site: Site, premises: Premises, *, meter: Meter, is_ready: Callable[[], bool]) -> None:
        self._site = site
        self._premises = premises
        self._meter = meter
        self._is_ready = is_ready
        self._faces = make_faces()
        self._directory = Directory(self._faces)
        self._document: bytes | None = None
        self._pages: Mapping[tuple[str, ...], Page] = {
            ("healthz",): self._healthz,
            ("readyz",): self._readyz,
            ("metrics",): self._metrics,
            ("api", "v1", "openapi.json"): self._openapi,
        }
        # Readers look on behalf of all who watch, whoever came first.
        reading = msgspec.structs.replace(site, caller=ENGINE)
        self.closing = asyncio.Event()
        self.runs = RunWatching(reading, self.closing.is_set)
        self.events = EventWatching(reading, self.closing.is_set)

    def close(self) -> None:
        """End all streams."""
        self.closing.set()
        self.runs.wake()
        self.events.wake()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pieces = segments(scope)
        page = self._pages.get(pieces)
        if page is not None:
            if scope["method"] not in ("GET", "HEAD"):
                raise not_allowed(scope["method"], ("GET",))
            await (await page(scope))(scope, receive, send)
            return
        found = self._directory.find(scope["method"], pieces)
        _check_role(scope["caller"], found.face)
        request = Request(scope, receive)
        site = msgspec.structs.replace(self._site, caller=scope["caller"])
        arguments = await read_arguments(request, found)
        if found.face.operation.is_stream:
            await self._stream(site, arguments, request, send)
            return
        if found.face.needs_premises:
            arguments["premises"] = self._premises
        result = await found.face.operation.call(site, **arguments)
        await answer(scope, found.face, result)(scope, receive, send)

    async def _stream(self, site: Site, arguments: Mapping[str, Any], request: Request, send: Send) -> None:
        if "run" in arguments:
            run = await find_run(site, arguments["run"])
            await self._send_frames(self.runs.watch(run.id, arguments["after"]), request, send)
            return
        frames = await self.events.join(arguments["after"])
        try:
            await self._send_frames(frames, request, send)
        finally:
            self.events.leave()

    async def _send_frames(self, frames: AsyncGenerator[bytes], request: Request, send: Send) -> None:
        """Until there are no more, nobody listens, or the token no longer counts."""
        async with aclosing(frames), aclosing(self._while_allowed(frames, request.scope["token"])) as allowed:
            response = StreamingResponse(allowed, 200, _STREAM_HEADERS, "text/event-stream")
            await response(request.scope, request.receive, send)

    async def _while_allowed(self, frames: AsyncGenerator[bytes], token: str) -> AsyncGenerator[bytes]:
        """A stream has a frame at least at every heartbeat, so it does not outlive its token by much more."""
        check_at = self._site.clock.now() + HEARTBEAT_EVERY
        async for piece in frames:
            if self._site.clock.now() >= check_at:
                if await caller_of(self._site, token) is None:
                    return
                check_at = self._site.clock.now() + HEARTBEAT_EVERY
            yield piece

    async def _healthz(self, _: Scope) -> Response:
        return json_answer(b'{"status":"ok"}')

    async def _readyz(self, _: Scope) -> Response:
        reason = await unready(self._site, self._is_ready)
        if reason is None:
            return json_answer(b'{"status":"ready"}')
        return json_answer(msgspec.json.encode({"status": "unready", "reason": reason}), 503)

    async def _metrics(self, scope: Scope) -> Response:
        if scope["caller"].is_run:
            raise RefusedError(403, "A run may not see this.")
        return Response(await self._meter.scrape(self._site), 200, SAFE_HEADERS, metrics.MEDIA_TYPE)

    async def _openapi(self, _: Scope) -> Response:
        if self._document is None:
            # It takes a while, and what reads the fleet file is loaded for it; nobody else has to wait meanwhile.
            self._document = await asyncio.to_thread(lambda: msgspec.json.encode(describe(self._faces)))
        return json_answer(self._document)


def _check_role(caller: Caller, face: Face) -> None:
    operation = face.operation
    if caller.is_run:
        if not operation.is_for_runs:
            raise RefusedError(403, f"A run may not ask for {operation.name}.")
    elif not caller.role.covers(operation.role):
        raise RefusedError(
            403, f"{operation.name} needs a token with the role {operation.role}; this one has {caller.role}."
        )
