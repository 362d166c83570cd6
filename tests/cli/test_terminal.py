"""On a real terminal: questions, Ctrl-C, colour, and tables as wide as the window."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.cli import Cli
from tests.rota_process import ROTA

_INTERRUPT = "\x03"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """A window in which a command runs."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self._master = master
        self._process = process
        self.text = ""

    def wait_for(self, part: str) -> None:
        while part not in self.text:
            assert self._read(), self.text

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())
        # An interruption in the instant before the answer is waited for may pass unheard; people press the key again.
        while keys == _INTERRUPT and not self._is_over(within=2):
            os.write(self._master, keys.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        return self._process.wait(20)

    def _is_over(self, *, within: float) -> bool:
        try:
            self._process.wait(within)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _read(self) -> bool:
        """Take what was written meanwhile; whether anything was."""
        is_there, _, _ = select.select([self._master], [], [], 20)
        try:
            piece = os.read(self._master, 4096) if is_there else b""
        except OSError:
            # That is how a terminal says that nobody writes to it any more.
            piece = b""
        self.text += piece.decode("utf-8", "replace")
        return bool(piece)


@contextmanager
def terminal(cli: Cli, *words: str, columns: int = 80) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    env |= {"ROTA_DB": cli.db, "TERM": "xterm", "LANG": "C.UTF-8"}
    process = subprocess.Popen([ROTA, *words], env=env, preexec_fn=lambda: os.login_tty(slave))  # noqa: PLW1509
    os.close(slave)
    try:
        yield Terminal(master, process)
    finally:
        process.kill()
        process.wait(10)
        os.close(master)


@pytest.fixture
def fleet(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A fleet whose file has lost a job since it was applied."""
    monkeypatch.chdir(tmp_path)
    jobs = [f"  {name}:\n    manual: true\n    command: [./x]\n" for name in ("stays", "goes")]
    Path("rota.yaml").write_text("jobs:\n" + "".join(jobs))
    cli("apply")
    Path("rota.yaml").write_text("jobs:\n" + jobs[0])
    return cli


@pytest.mark.parametrize(("keys", "code", "left"), [("n\n", 1, 2), ("\n", 1, 2), ("\x03", 130, 2), ("y\n", 0, 1)])
def test_jobs_go_only_when_a_person_agrees(fleet: Cli, keys: str, code: int, left: int) -> None:
    with terminal(fleet, "apply") as window:
        window.wait_for("Go on? [y/N]:")
        window.type(keys)
        assert window.end() == code
    assert len(fleet.json("job", "list")) == left


def test_nobody_is_asked_when_they_said_yes(fleet: Cli) -> None:
    with terminal(fleet, "apply", "--yes") as window:
        assert window.end() == 0
    assert "Go on?" not in window.text
    assert "\x1b[31m\x1b[1m- goes" in window.text


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_a_table_is_never_wider_than_the_window(cli: Cli, columns: int) -> None:
    cli("job", "add", "a-job-with-a-name", "--manual", "--", "true")
    cli("job", "pause", "a-job-with-a-name", "--note", "a note that is far too long for any window " * 3)
    for words in (("job", "list"), ("audit",)):
        with terminal(cli, *words, columns=columns) as window:
            assert window.end() == 0
        lines = _COLOUR.sub("", window.text).replace("\r", "").splitlines()
        assert max(len(line) for line in lines) <= columns
        assert "…" in window.text


def test_a_first_file_is_asked_for(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with terminal(cli, "init") as window:
        window.wait_for("Name of the fleet")
        window.type("night\n")
        window.wait_for("Time zone")
        window.type("Asia/Tokyo\n")
        assert window.end() == 0
    assert "timezone: Asia/Tokyo" in Path("rota.yaml").read_text()
