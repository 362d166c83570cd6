"""The server: uvicorn in somebody else's loop, who also decides about signals."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from rota.errors import ConflictError

_GRACE = 5
_KEEP_ALIVE = 30
_MOST_HEADER_BYTES = 64 * 1024
_MOST_CONNECTIONS = 2_000
_BACKLOG = 1_024
_REASONS = {
    errno.EADDRINUSE: "is taken by another program",
    errno.EACCES: "may not be used by this user",
    errno.EADDRNOTAVAIL: "cannot be used: this machine does not have the address",
}


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for whoever runs the loop."""
        yield


async def serve(
    application: Starlette, *, host: str, port: int, on_started: Callable[[str], None], stopped: asyncio.Event
) -> None:
    """Answer requests until told to stop. ``on_started`` gets the address; port 0 takes a free one."""
    listening = _listen(host, port)
    server = _Server(
        uvicorn.Config(
            application,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            # What goes wrong is logged where it is answered.
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_GRACE,
            limit_concurrency=_MOST_CONNECTIONS,
            h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
            backlog=_BACKLOG,
        )
    )
    stopping = asyncio.create_task(_stop(server, application, stopped))
    try:
        on_started(_address(listening))
        await server.serve(sockets=[listening])
    finally:
        stopping.cancel()
        application.state.doors.close()
        listening.close()


async def _stop(server: uvicorn.Server, application: Starlette, stopped: asyncio.Event) -> None:
    await stopped.wait()
    # Streams would go on for ever, so they are told first.
    application.state.doors.close()
    server.should_exit = True


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConflictError(f"The address {host} cannot be used: {error.strerror}.") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)  # noqa: FBT003 - the socket's own words
    except OSError as error:
        listening.close()
        reason = _REASONS.get(error.errno or 0, f"cannot be used: {error.strerror}")
        raise ConflictError(f"Port {port} {reason}; choose another: rota up --port {port + 1}") from None
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
