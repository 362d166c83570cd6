"""The doctor finds what is wrong with the database, and is content when it is cured."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from rota.app import SystemClock, system_now
from rota.operations.health.database import (
    check_clock,
    check_contradictions,
    check_damage,
    check_tables,
    check_version,
    judge_version,
)
from rota.operations.health.findings import Status
from rota.ports.store import Store
from rota.testing import FakeClock
from tests.operations.ward import is_well, only, site_of, sql
from tests.stores import Servers, opened

pytestmark = pytest.mark.anyio

HEARTBEATS = """CREATE TABLE heartbeats (worker TEXT NOT NULL, run_id TEXT NOT NULL, status TEXT NOT NULL,
    context TEXT NOT NULL, last_seen_at BIGINT NOT NULL, PRIMARY KEY (worker, run_id))"""


@pytest.mark.parametrize(
    ("name", "old", "new"), [("sqlite", "3.51.2", "3.51.3"), ("postgres", "13.14", "14.0"), ("postgres", "9.6", "18.1")]
)
def test_an_old_database_is_a_failure(name: str, old: str, new: str) -> None:
    assert old in only(judge_version(name, old), Status.FAILURE)
    assert is_well(judge_version(name, new))


async def test_the_databases_of_the_tests_are_new_enough_and_a_silent_one_is_left_alone(store: Store) -> None:
    assert is_well(await check_version(store))
    assert judge_version("postgres", "") == ()


async def test_a_table_that_is_gone_is_a_failure(store: Store) -> None:
    await sql(store, "DROP TABLE heartbeats")
    assert "heartbeats" in only(await check_tables(store), Status.FAILURE)
    await sql(store, HEARTBEATS)
    assert is_well(await check_tables(store))


async def test_a_column_that_is_missing_is_a_failure(store: Store) -> None:
    await sql(store, "ALTER TABLE fleets RENAME COLUMN checksum TO other")
    assert "checksum" in only(await check_tables(store), Status.FAILURE)
    await sql(store, "ALTER TABLE fleets RENAME COLUMN other TO checksum")
    assert is_well(await check_tables(store))


async def test_damage_is_a_failure(tmp_path: Path, servers: Servers) -> None:
    async with opened("sqlite", tmp_path, servers) as store:
        await sql(store, "INSERT INTO plans (job_id, source, trail) VALUES ('job_1', 'none', '[]')")
        _rewrite(tmp_path / "rota.db", "last_error TEXT", "last_error TEXT NOT NULL")
        message = only(await check_damage(store), Status.FAILURE)
        assert "NULL value in plans.last_error" in message
        _rewrite(tmp_path / "rota.db", "last_error TEXT NOT NULL", "last_error TEXT")
        assert is_well(await check_damage(store))


def _rewrite(path: Path, old: str, new: str) -> None:
    """Change a table under its rows, so that they no longer fit."""
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'plans'", (old, new))
    version = connection.execute("PRAGMA schema_version").fetchall()[0][0]
    connection.execute(f"PRAGMA schema_version = {version + 1}")
    connection.close()


@pytest.mark.parametrize(
    ("fault", "said", "cure"),
    [
        ("INSERT INTO slots VALUES ('pool', 'ghost', 1, 3)", "ghost counts 3 runs", "DELETE FROM slots"),
        (
            "INSERT INTO queue VALUES ('local', 1, 0, 'run_x', 'job_x', NULL, NULL, 'manual', 0, 0, NULL)",
            "run_x waits in the queue, but its state is missing",
            "DELETE FROM queue",
        ),
    ],
)
async def test_rows_that_contradict_each_other_are_a_failure(store: Store, fault: str, said: str, cure: str) -> None:
    await sql(store, fault)
    assert said in only(await check_contradictions(store), Status.FAILURE)
    await sql(store, cure)
    assert is_well(await check_contradictions(store))


@pytest.mark.parametrize(("seconds", "status"), [(-3, Status.WARNING), (5, Status.WARNING), (-45, Status.FAILURE)])
async def test_clocks_that_are_apart_are_told(store: Store, seconds: int, status: Status) -> None:
    site = site_of(store, system_now() + timedelta(seconds=seconds))
    assert "seconds apart" in only(await check_clock(site), status)
    assert isinstance(site.clock, FakeClock)
    # A clock that follows the database's still tells how far it had to be moved.
    site.clock.set(system_now())
    site.clock.offset = timedelta(seconds=seconds)
    assert "seconds apart" in only(await check_clock(site), status)
    site.clock.offset = timedelta()
    assert is_well(await check_clock(site))


async def test_the_clock_of_this_machine_is_the_databases(store: Store) -> None:
    clock = SystemClock()
    assert abs(clock.now() - system_now()) < timedelta(seconds=1)
    site = site_of(store, clock.now())
    assert is_well(await check_clock(site))
