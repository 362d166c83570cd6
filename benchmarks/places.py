"""Where the benchmarks run: a SQLite file with full durability, and a PostgreSQL of their own."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.postgres_server import postgres_server

SQLITE, POSTGRES = "SQLite", "PostgreSQL 16"


@contextmanager
def places() -> Iterator[dict[str, str]]:
    """The databases by their names: a path and a URL."""
    with tempfile.TemporaryDirectory() as folder, postgres_server(16) as server:
        yield {SQLITE: f"{folder}/rota.db", POSTGRES: server.url()}


def verdict(*, is_met: bool, text: str) -> bool:
    """Print a figure beside its mark."""
    print(f"{'ok    ' if is_met else 'MISSED'} {text}", flush=True)
    return is_met
