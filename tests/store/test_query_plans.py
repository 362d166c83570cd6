"""Queries that are asked all the time go by an index when the tables are large, on every database."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import apsw
import asyncpg
import pytest

from rota.ports.store import Store
from rota.store.dialect import for_postgres, for_sqlite, queries
from rota.store.postgres import PostgresDatabase
from rota.store.sqlite import SqliteDatabase

pytestmark = pytest.mark.anyio
Explain = Callable[[str, dict[str, Any]], Awaitable[list[str]]]
COUNT = 100_000
NOW = 1_000_000
# The same numbers for both databases; due are the plans and the queued runs with the lowest ones.
FILL = (
    """INSERT INTO jobs SELECT 'job_' || i, 'name' || i, NULL, '{}', 1, 1, 0, 0, 0, 0, NULL, NULL FROM numbers""",
    """INSERT INTO plans (job_id, wake_at, source, trail, live_run)
       SELECT 'job_' || i, i * 1000, 'baseline-cron', '[]', 'run_' || i FROM numbers""",
    """INSERT INTO runs (id, job_id, job, cause, origin, attempt, depth, parent_id, pool, state, due_at, requested_at,
       ended_at, token) SELECT 'run_' || i, 'job_' || i, 'name' || i, 'schedule', 'schedule', 1, 0, 'run_' || i / 2,
       'local', 'succeeded', i, 0, 0, i FROM numbers""",
    """INSERT INTO queue (pool, priority, start_after, run_id, job_id, cause, may_overlap, expires_at)
       SELECT 'pool' || i % 10, i % 3, i * 1000, 'run_' || i, 'job_' || i, 'schedule', 0, i * 1000 FROM numbers""",
    """INSERT INTO output SELECT 'run_' || i, 1, 'stdout', 0, 'text' FROM numbers""",
    """INSERT INTO heartbeats SELECT 'wrk_1', 'run_' || i, 'quiet', '', 0 FROM numbers""",
    """INSERT INTO machine_snapshots SELECT 'snp_' || i, 'wrk_' || i % 50, i * 1000, 1, 1, 1, 0, 1, 1, 1, '{}'
       FROM numbers""",
    """INSERT INTO tallies SELECT 'job_' || i, '2026-03-01', 'succeeded', 1, 1 FROM numbers""",
    """INSERT INTO leases (worker, taken_at, run_ids) SELECT 'wrk_' || i, 0, '[]' FROM numbers""",
    """INSERT INTO chains SELECT 'name' || i, 'job_' || (i + 1) FROM numbers""",
)
NUMBERS = f"WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {COUNT}) "  # noqa: S608
IDS, RUNS = ["job_5", "job_70000"], ["run_5", "run_70000"]
ANY: dict[str, Any] = {"agent": None, "any_cause": 1, "causes": [], "any_state": 1, "states": []}
HOT: dict[str, dict[str, Any]] = {
    "next_wake": {},
    "hold_due_plans": {"now": NOW, "most": 1000},
    "hold_plans": {"ids": IDS},
    "hold_free_plans": {"ids": IDS},
    "jobs_by_id": {"ids": IDS},
    "find_job": {"name": "name70000"},
    "children_of": {"names": ["name5"]},
    "fire_plans": {"fired": [("job_5", "run_5", 1, 5, 5, "baseline-cron", "[]", None, None, None, None)]},
    "claim_plans": {"claimed": [("job_5", "run_5", 5)]},
    "find_run": {"run_id": "run_70000"},
    "runs_by_id": {"ids": RUNS},
    "known_runs": {"ids": RUNS},
    "lock_runs": {"ids": RUNS},
    "runs": {"before": "run_5", "most": 20},
    "filtered_runs": {"before": "run_5", "since": "run_0", **ANY, "most": 20},
    "filtered_runs_of_job": {"job_id": "job_5", "before": "run_z", "since": "run_0", **ANY, "most": 20},
    "latest_kinds": {"before": "run_5", "since": "run_0", "most": 20},
    "latest_kinds_of_job": {"job_id": "job_5", "before": "run_z", "since": "run_0", "most": 20},
    "runs_of_job": {"job_id": "job_5", "before": "run_z", "most": 20},
    "live_descendants": {"run_id": "run_90000"},
    "attempts": {
        "job_id": "job_5",
        "run_id": "run_5",
        "trace_id": "trace",
        "parent_id": None,
        "due_at": None,
        "most": 500,
    },
    "ancestors": {"run_id": "run_90000"},
    "children_of_runs": {"ids": RUNS, "most": 500},
    "claim_runs": {"claimed": [("run_5", 5, 1)], "now": NOW, "worker": "wrk_1", "token": 5},
    "start_runs": {"ids": RUNS, "token": 5, "now": NOW},
    "end_plain_runs": {"ended": [("run_5", 5, 0, None, None, None)], "now": NOW},
    "unplain_runs": {"ids": RUNS},
    "cancelled_runs": {"ids": RUNS},
    "queued_pools": {},
    "pool_slots": {"name": "local"},
    "waiting_runs": {"pool": "pool5", "now": NOW, "most": 20},
    "next_start": {"now": NOW},
    "leave_queue": {"gone": [("pool5", 2, 5000, "run_5")]},
    "queue_of_jobs": {"ids": IDS},
    "queue_of_runs": {"ids": RUNS},
    "expired_in_queue": {"now": NOW, "most": 20},
    "is_queue_empty": {},
    "leases_of": {"worker": "wrk_5"},
    "delete_leases": {"gone": [(5,)]},
    "output": {"run_id": "run_5", "after": 0, "most": 500},
    "output_sizes": {"run_id": "run_5", "after": 0, "most": 500},
    "output_sizes_before": {"run_id": "run_5", "after": 0, "before": 9, "most": 500},
    "trim_output": {"run_id": "run_5", "head": 1, "tail": 5},
    "failing_jobs": {"most": 1000},
    "missed_jobs": {"most": 1000},
    "late_jobs": {"before": NOW, "most": 1000},
    "silent_runs": {"most": 1000},
    "held_runs": {"most": 1000},
    "long_waiting": {"before": NOW, "most": 200},
    "marks_by_id": {"ids": RUNS},
    "latest_marks": {"ids": IDS, "since": "run_0", "before": "run_z", "most": 30},
    "runs_by_day": {"job_id": "job_5", "span": [("2026-03-01", "run_1", "run_2"), ("2026-03-02", "run_2", "run_3")]},
    "tallies_of": {"job_id": "job_5", "since": "2026-01-01"},
    "delete_old_tallies": {"before": "2020-01-01"},
    "definitions": {"ids": IDS},
    "held_heartbeats": {"held": [("wrk_1", "run_5"), ("wrk_1", "run_70000")], "most": 1000},
    "snapshots": {"since": 0, "most": 120},
    "snapshots_of_worker": {"worker": "wrk_5", "since": 0, "most": 120},
    "jobs_named": {"names": ["name5", "job_5"]},
    "running_lanes": {"ids": RUNS, "agent": None, "contains": None, "most": 30},
    "failing_lanes": {"agent": None, "contains": None, "most": 30},
    "busy_lanes": {
        "since": "run_1",
        "before": "run_2",
        "looked_at": 1000,
        "most": 30,
        "agent": None,
        "contains": None,
    },
    "coming_lanes": {"before": NOW, "agent": None, "contains": None, "most": 30},
}
_LARGE = "jobs|plans|runs|queue|output|heartbeats|machine_snapshots|tallies|leases|chains"
# A name stands for its table in the plan of SQLite.
_LETTERS = "j|p|r|q|l|n|x|h"


async def test_hot_queries_go_by_an_index_when_the_tables_are_large(store: Store) -> None:
    """The issue of the engine: "100,000 jobs stored …; query plans are tested"."""
    async with _filled(store) as explain:
        slow = {query: plan for query, parameters in HOT.items() if (plan := await explain(query, parameters))}
    assert slow == {}


def _filled(store: Store) -> AbstractAsyncContextManager[Explain]:
    database = store.database  # type: ignore[attr-defined]
    return _filled_postgres(database) if isinstance(database, PostgresDatabase) else _filled_sqlite(database)


@asynccontextmanager
async def _filled_postgres(database: PostgresDatabase) -> AsyncIterator[Explain]:
    connection = await asyncpg.connect(database.url)

    async def explain(query: str, parameters: dict[str, Any]) -> list[str]:
        statement = for_postgres(queries()[query])
        rows = await connection.fetch(f"EXPLAIN {statement.sql}", *statement.bind(parameters))
        steps = [str(row[0]) for row in rows]
        return steps if any(re.search(rf"Seq Scan on ({_LARGE})\b", step) for step in steps) else []

    try:
        for statement in FILL:
            await connection.execute(NUMBERS + statement)
        await connection.execute("ANALYZE")
        yield explain
    finally:
        await connection.close()


@asynccontextmanager
async def _filled_sqlite(database: SqliteDatabase) -> AsyncIterator[Explain]:
    connection = apsw.Connection(str(database.path))

    async def explain(query: str, parameters: dict[str, Any]) -> list[str]:
        statement = for_sqlite(queries()[query])
        rows = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", statement.bind(parameters)).fetchall()
        # The queue is stored in its key, so a look at its first row is called a scan; so is one at a few latest runs.
        steps = [str(row[3]) for row in rows if query not in ("is_queue_empty", "busy_lanes")]
        # To go through all of a key is no better.
        whole = rf"SCAN ({_LARGE}|{_LETTERS})( USING (COVERING )?INDEX sqlite_autoindex_\w+)?"
        return steps if any(re.fullmatch(whole, step) for step in steps) else []

    with connection:
        for statement in FILL:
            connection.execute(NUMBERS + statement)
    try:
        yield explain
    finally:
        connection.close()
