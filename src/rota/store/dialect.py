"""One SQL text for both databases. Its few shims, in braces, are everything in which the two differ:

``{use job_columns}``                   a part that several queries share
``{in ids}``                            any of a list of texts
``{rows new: id text | at bigint}``     a list of rows as a table, for batches; behind the bar what many rows share
``{lock p}``                            skip what another transaction holds, and hold it
``{wait p}``                            hold it, after whoever holds it now
``{fill 50}``  ``{clustered}``          how full PostgreSQL packs pages; a table stored in its key on SQLite
``{microseconds}``                      the database's time, since 1970
``{numbered}``                          a key that the database gives, always greater than all before
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

_SHIM = re.compile(r"\{(\w+)(?: ([^}]*))?\}")
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)\b")
_NAMED = re.compile(r"^-- (name|part): (\w+)$", re.MULTILINE)
_USE = re.compile(r"\{use (\w+)\}")

Parameters = Mapping[str, Any]


class Statement(NamedTuple):
    """A query for one database: its text, and what turns named parameters into those of the driver."""

    sql: str
    bind: Callable[[Parameters], Any]


class Rows(NamedTuple):
    """The shim for batches: a name, its columns with their types, and those that many rows have in common."""

    name: str
    own: tuple[tuple[str, str], ...]
    shared: tuple[tuple[str, str], ...]

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return self.own + self.shared


def queries() -> Mapping[str, str]:
    """Every named query, in the text that both databases share."""
    return _queries()


@cache
def _queries() -> dict[str, str]:
    found: dict[str, str] = {}
    folder = files(__package__) / "sql"
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        found.update(_read(file.read_text("utf-8")))
    return found


def _read(text: str) -> Iterator[tuple[str, str]]:
    pieces = _NAMED.split(text)
    texts: dict[str, dict[str, str]] = {"name": {}, "part": {}}
    for kind, name, body in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        texts[kind][name] = body.strip()
    return ((name, _USE.sub(lambda match: texts["part"][match[1]], sql)) for name, sql in texts["name"].items())


def for_sqlite(sql: str) -> Statement:
    """SQLite takes named parameters; lists and batches travel as JSON."""
    listed = [match[2] for match in _SHIM.finditer(sql) if match[1] == "in"]
    batches = [_rows(match[2]).name for match in _SHIM.finditer(sql) if match[1] == "rows"]
    encoded = frozenset((*listed, *batches))

    def bind(parameters: Parameters) -> dict[str, Any]:
        return {
            name: msgspec.json.encode(value).decode() if name in encoded else value
            for name, value in parameters.items()
        }

    return Statement(_SHIM.sub(_sqlite_shim, sql), bind)


def for_postgres(sql: str) -> Statement:
    """PostgreSQL takes numbered parameters; lists travel as arrays, batches as one array for each column."""
    numbers: dict[tuple[str, int | None], int] = {}
    batches = {rows.name: rows for match in _SHIM.finditer(sql) if match[1] == "rows" and (rows := _rows(match[2]))}

    def number(name: str, column: int | None = None) -> str:
        return f"${numbers.setdefault((name, column), len(numbers) + 1)}"

    def shim(match: re.Match[str]) -> str:
        return _postgres_shim(match, number)

    text = _PARAMETER.sub(lambda match: number(match[1]), _SHIM.sub(shim, sql))

    def bind(parameters: Parameters) -> list[Any]:
        columns = {name: _columns(parameters[name], rows) for name, rows in batches.items()}
        return [
            parameters[name] if column is None else columns[name][column]
            for name, column in numbers  # in the order of their numbers
        ]

    return Statement(text, bind)


def schema_for_sqlite(sql: str) -> str:
    return _SHIM.sub(_sqlite_shim, sql)


def schema_for_postgres(sql: str) -> str:
    return _SHIM.sub(lambda match: _postgres_shim(match, str), sql)


def split_script(sql: str) -> Iterator[str]:
    """The statements of a migration; none of them contains a semicolon of its own."""
    return (part.strip() for part in re.sub(r"--[^\n]*", "", sql).split(";") if part.strip())


def _sqlite_shim(match: re.Match[str]) -> str:
    kind, argument = match[1], match[2]
    match kind:
        case "in":
            return f"IN (SELECT value FROM json_each(:{argument}))"
        case "rows":
            rows = _rows(argument)
            columns = ", ".join(
                f"json_extract(value, '$[{index}]') AS {name}" for index, (name, _) in enumerate(rows.columns)
            )
            return f"(SELECT {columns} FROM json_each(:{rows.name})) AS {rows.name}"
        case "clustered":
            return "WITHOUT ROWID"
        case "numbered":
            return "INTEGER PRIMARY KEY AUTOINCREMENT"
        case "microseconds":
            return "CAST(unixepoch('subsec') * 1000000 AS INTEGER)"
        case _:
            return ""


def _postgres_shim(match: re.Match[str], number: Callable[..., str]) -> str:
    kind, argument = match[1], match[2]
    match kind:
        case "in":
            return f"= ANY({number(argument)}::text[])"
        case "rows":
            return _postgres_rows(_rows(argument), number)
        case "lock":
            return f"FOR UPDATE OF {argument} SKIP LOCKED"
        case "wait":
            return f"FOR UPDATE OF {argument}"
        case "microseconds":
            return "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
        case "numbered":
            return "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
        case "fill":
            return f"WITH (fillfactor = {argument})"
        case _:
            return ""


def _postgres_rows(rows: Rows, number: Callable[..., str]) -> str:
    """Arrays side by side. Each combination of shared columns travels once, and the rows name it by its place."""

    def arrays(columns: Sequence[tuple[str, str]], first: int) -> str:
        return ", ".join(f"{number(rows.name, first + index)}::{kind}[]" for index, (_, kind) in enumerate(columns))

    own, shared = _names(rows.own), _names(rows.shared)
    if not rows.shared:
        return f"unnest({arrays(rows.own, 0)}) AS {rows.name}({own})"
    one = f"unnest({arrays((*rows.own, ('kind', 'bigint')), 0)}) AS one({own}, kind)"
    kinds = f"unnest({arrays(rows.shared, len(rows.own) + 1)}) WITH ORDINALITY AS kinds({shared}, place)"
    return f"(SELECT {own}, {shared} FROM {one} JOIN {kinds} ON kinds.place = one.kind) AS {rows.name}"


def _names(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(name for name, _ in columns)


def _rows(argument: str) -> Rows:
    name, _, columns = argument.partition(":")
    own, _, shared = columns.partition("|")
    return Rows(name.strip(), _pairs(own), _pairs(shared))


def _pairs(columns: str) -> tuple[tuple[str, str], ...]:
    pairs = (column.split() for column in columns.split(",") if column.strip())
    return tuple((column, kind) for column, kind in pairs)


def _columns(batch: Sequence[Sequence[Any]], rows: Rows) -> list[Sequence[Any]]:
    if not batch:
        return [()] * (len(rows.columns) + bool(rows.shared))
    if not rows.shared:
        return list(zip(*batch, strict=True))
    width = len(rows.own)
    kinds: dict[Sequence[Any], int] = {}
    places = [kinds.setdefault(row[width:], len(kinds) + 1) for row in batch]
    own = list(zip(*batch, strict=True))[:width]
    return [*own, places, *zip(*kinds, strict=True)]
