"""Structured logs: events named ``noun.past_verb`` with fields, as JSON, or as a line for people on a terminal."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import IO, Any

_logger = logging.getLogger("rota")


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


def configure(stream: IO[str] | None = None, *, level: int = logging.INFO) -> None:
    """Send logs to a stream: JSON unless it is a terminal."""
    target = stream or sys.stderr
    handler = logging.StreamHandler(target)
    handler.setFormatter(_ForPeople() if target.isatty() else _AsJson())
    _logger.handlers = [handler]
    _logger.setLevel(level)
    _logger.propagate = False


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
