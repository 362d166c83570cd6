"""The bell of a SQLite file: a datagram on a unix socket beside it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

# The kernel allows 108 bytes, the last of them a zero; some systems fewer.
_LONGEST_PATH = 100


class UnixBell:
    """Hears whoever commits something new to a SQLite file, in this process or another."""

    def __init__(self, database: Path) -> None:
        self.path = _socket_path(database)

    def ring(self) -> None:
        """Never waits and never fails: nobody may be listening."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.setblocking(False)  # noqa: FBT003
            out.sendto(b"!", self.path)

    async def listen(self, on_ring: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)  # noqa: PTH108 - a socket left by a process that was killed
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ears:
            ears.setblocking(False)  # noqa: FBT003
            ears.bind(self.path)
            loop.add_reader(ears, _drain, ears, on_ring)
            try:
                await loop.create_future()
            finally:
                loop.remove_reader(ears)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path)  # noqa: PTH108


def _drain(ears: socket.socket, on_ring: Callable[[], None]) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            ears.recv(16)
            on_ring()


def _socket_path(database: Path) -> str:
    beside = f"{database}.bell"
    if len(os.fsencode(beside)) <= _LONGEST_PATH:
        return beside
    name = hashlib.blake2b(os.fsencode(database.absolute()), digest_size=12).hexdigest()
    return str(Path(tempfile.gettempdir()) / f"rota-{name}.bell")
