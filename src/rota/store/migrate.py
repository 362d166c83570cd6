"""Numbered migrations, forward only. A file and the record of it are one transaction; a changed file is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from rota.errors import SchemaError


class Migration(NamedTuple):
    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()[:16]


class Migrations:
    """The table that remembers what was applied."""

    TABLE = """CREATE TABLE IF NOT EXISTS migrations (
        version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)"""
    APPLIED = "SELECT version, checksum FROM migrations ORDER BY version"
    RECORD_SQLITE = "INSERT INTO migrations (version, name, checksum) VALUES (?, ?, ?)"
    RECORD_POSTGRES = "INSERT INTO migrations (version, name, checksum) VALUES ($1, $2, $3)"


@cache
def migrations() -> tuple[Migration, ...]:
    """Every migration, in order."""
    folder = files(__package__) / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(
        Migration(int(name.split("_")[0]), name.removesuffix(".sql"), (folder / name).read_text("utf-8"))
        for name in names
    )


def applied_versions(rows: Iterable[tuple[int, str]]) -> Mapping[int, str]:
    return dict(rows)


def pending(applied: Mapping[int, str]) -> tuple[Migration, ...]:
    """What is still to be applied, after checking that what was applied is what this program knows."""
    known = {migration.version: migration for migration in migrations()}
    newer = sorted(set(applied) - set(known))
    if newer:
        raise SchemaError(
            f"The database has version {newer[-1]}, this Rota knows {max(known)}. Install the newer Rota that wrote it."
        )
    for version, checksum in applied.items():
        if known[version].checksum != checksum:
            raise SchemaError(
                f"Migration {known[version].name} differs from the one that made this database. "
                "Use the Rota that made it, or copy the data into a new database."
            )
    return tuple(migration for version, migration in known.items() if version not in applied)
