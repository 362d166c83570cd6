"""One engine for each SQLite file. The lock dies with its process, and names it while it lives."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from rota.errors import EngineLockedError


class EngineLock:
    """Held for as long as an engine works on a file."""

    def __init__(self, database: Path, holder: str) -> None:
        self._path = Path(f"{database}.lock")
        self._holder = holder
        self._file: int | None = None

    def __enter__(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(file, 200, 0).decode("utf-8", "replace").strip() or "somebody"
            os.close(file)
            raise EngineLockedError(
                f"Another engine works on this file: {holder}. Stop it first, or give this one another --db."
            ) from None
        os.ftruncate(file, 0)
        os.pwrite(file, f"{self._holder} (process {os.getpid()})\n".encode(), 0)
        self._file = file

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
