"""A past for pictures and measurements: jobs saved as people do, and runs put into the file as if they had happened."""

from __future__ import annotations

import random  # noqa: TID251 - the same every time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import apsw

from rota.ports.records import micros

_COLUMNS = (
    *("id", "job_id", "job", "agent", "cause", "origin", "attempt", "depth", "pool", "state", "due_at", "requested_at"),
    *(
        "queued_at",
        "claimed_at",
        "started_at",
        "ended_at",
        "source",
        "trail",
        "reason",
        "error",
        "exit_code",
        "trace_id",
    ),
)
_TRAIL = '[{"rule":"chosen","source":"baseline-interval"}]'


def add_past(
    db: str, *, now: datetime, runs_each: int, every: timedelta, names: Sequence[str] | None = None, seed: int = 1
) -> int:
    """Give every job (or those of some names) so many runs, evenly apart, the last one just now; how many in all."""
    chance = random.Random(seed)  # noqa: S311 - the same every time
    file = apsw.Connection(db)
    file.setbusytimeout(10_000)
    jobs = [
        one for one in file.execute("SELECT id, name, agent FROM jobs ORDER BY name") if not names or one[1] in names
    ]
    places = ", ".join("?" for _ in _COLUMNS)
    with file:
        file.executemany(
            f"INSERT OR IGNORE INTO runs ({', '.join(_COLUMNS)}) VALUES ({places})",  # noqa: S608 - our own words
            _rows(jobs, now=now, runs_each=runs_each, every=every, chance=chance),
        )
    file.close()
    return len(jobs) * runs_each


def _rows(
    jobs: Sequence[tuple[Any, ...]], *, now: datetime, runs_each: int, every: timedelta, chance: random.Random
) -> Iterator[tuple[Any, ...]]:
    for number, (job_id, name, agent) in enumerate(jobs):
        usual = chance.lognormvariate(2, 1)
        breaks = 0.02 + 0.1 * (number % 7 == 0)
        offset = every * chance.random()
        for index in range(runs_each):
            due = micros(now - every * (runs_each - index) + offset)
            state, reason, error, code = _end(chance.random(), breaks)
            took = int(min(every.total_seconds() * 0.7, usual * chance.lognormvariate(0, 0.4)) * 1e6)
            begun = due + 40_000 if state != "skipped" else None
            run_id = f"run_{due:014x}{number % 0x10000:04x}{chance.getrandbits(32):08x}"
            yield (
                *(run_id, job_id, name, agent, "schedule", "schedule", 1, 0, "local", state, due, due),
                *(due, begun, begun, due + took, "baseline-interval", _TRAIL, reason, error, code, "0" * 32),
            )


def _end(drawn: float, breaks: float) -> tuple[str, str | None, str | None, int | None]:
    if drawn < breaks:
        return "failed", "exit", "exit code 1", 1
    if drawn < breaks + 0.02:
        return "skipped", "already_running", None, None
    return "succeeded", None, None, 0
