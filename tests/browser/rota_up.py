"""A real ``rota up`` for the page: started in a terminal of its own, which shows the link that lets a browser in."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.rota_process import ROTA, eventually, rota_json

_LINK = re.compile(r"Open the page: (http://\S+/login#\S+)")
_URL = re.compile(r"Rota is up: (http://\S+) ")


class RotaUp:
    """A Rota at a terminal. It can be stopped and started again, at the same port and on the same store."""

    def __init__(self, folder: Path, words: Sequence[str] = ()) -> None:
        self.folder = folder
        self.db = str(folder / "rota.db")
        self._words = words
        self._port = "0"
        self.begin()

    def begin(self) -> None:
        self.shown = ""
        leader, follower = pty.openpty()
        environment = {**os.environ, "ROTA_DB": self.db, "XDG_DATA_HOME": str(self.folder), "ROTA_SNAPSHOT": "1s"}
        self.process = subprocess.Popen(
            [ROTA, "up", "--port", self._port, *self._words],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            cwd=self.folder,
            env=environment,
            start_new_session=True,
        )
        os.close(follower)
        self._reader = threading.Thread(target=self._read, args=(leader,), daemon=True)
        self._reader.start()
        self.link = eventually(lambda: _LINK.search(self.shown))[1]
        self.url = eventually(lambda: _URL.search(self.shown))[1]
        self._port = self.url.rpartition(":")[2]

    def _read(self, leader: int) -> None:
        """Until the terminal is closed, so that whoever writes to it never waits."""
        with os.fdopen(leader, "rb", buffering=0) as terminal:
            while True:
                try:
                    data = terminal.read(65_536)
                except OSError:
                    return
                if not data:
                    return
                self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")

    def new_link(self, role: str = "admin") -> str:
        made: dict[str, str] = rota_json("login", "--role", role, db=self.db)
        return self.url + made["path"]

    def end(self) -> None:
        """Stop as a person does, and be gone."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(40)
        finally:
            self.kill()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)


@contextmanager
def rota_up(folder: Path, *words: str) -> Iterator[RotaUp]:
    up = RotaUp(folder, words)
    try:
        yield up
    finally:
        up.end()
