"""Structured logs: events named ``noun.past_verb`` with fields, as JSON, or as a line for people on a terminal."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, Any

_logger = logging.getLogger("rota")
_FILE_SIZE, _FILES = 10 * 1024 * 1024, 5
_MOST_PROCESSES = 100


def log(event: str, /, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:  # noqa: ANN401
    """Tell what happened. Fields without a value are left out."""
    log_fields(event, fields, level=level, error=error)


def log_fields(
    event: str, fields: Mapping[str, object], *, level: int = logging.INFO, error: BaseException | None = None
) -> None:
    """The same, for fields that were put together before."""
    if _logger.isEnabledFor(level):
        kept = {name: value for name, value in fields.items() if value is not None}
        _logger.log(level, event, extra={"fields": kept}, exc_info=error)


def configure(stream: IO[str] | None = None, *, folder: Path | None = None, level: int = logging.INFO) -> None:
    """Send logs to a stream, JSON unless it is a terminal, and to a file in a folder that never grows too large."""
    target = stream or sys.stderr
    handler = logging.StreamHandler(target)
    handler.setFormatter(_ForPeople() if target.isatty() else _AsJson())
    for earlier in _logger.handlers:
        earlier.close()
    _logger.handlers = [handler]
    _logger.setLevel(level)
    _logger.propagate = False
    if folder is not None:
        _add_file(folder)


def _add_file(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = _PrivateFileHandler(_free_file(folder), maxBytes=_FILE_SIZE, backupCount=_FILES, encoding="utf-8")
    except OSError as error:
        log("log.unwritable", level=logging.WARNING, folder=str(folder), reason=error.strerror)
        return
    handler.setFormatter(_AsJson())
    _logger.addHandler(handler)


class _PrivateFileHandler(RotatingFileHandler):
    """Logs hold names and reasons of a fleet; other users of the machine need not read them."""

    def _open(self) -> TextIOWrapper:
        with suppress(OSError):
            os.close(os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        return super()._open()


def _free_file(folder: Path) -> Path:
    """A file for this process alone: two that write to one would take it away from each other when it is full."""
    for number in range(1, _MOST_PROCESSES + 1):
        path = folder / ("rota.log" if number == 1 else f"rota-{number}.log")
        # Held until the process ends.
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            return path
    raise OSError(errno.EBUSY, "too many processes write logs here")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return getattr(record, "fields", {})


class _AsJson(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str, ensure_ascii=False)


class _ForPeople(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        clock = datetime.fromtimestamp(record.created, UTC).astimezone().strftime("%H:%M:%S")
        fields = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        text = f"{clock} {record.getMessage():<16} {fields}".rstrip()
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text
