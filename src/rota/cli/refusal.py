"""How errors look: a sentence and its cure for people, an object for programs; and the exit code that they mean."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click
import msgspec

from rota.cli.plain import near, plain
from rota.errors import FleetError, InputError, Problem, SchedulerError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


def refuse(error: SchedulerError, *, as_json: bool) -> NoReturn:
    """Say what is wrong and leave."""
    if as_json:
        click.echo(json.dumps({"error": error_fields(error)}, ensure_ascii=False), err=True)
    elif isinstance(error, FleetError):
        show_problems(error.problems)
    else:
        click.echo(f"{_mark()} {plain(str(error))}", err=True)
    sys.exit(BAD_INPUT if isinstance(error, InputError | FleetError) else FAILED)


def error_fields(error: SchedulerError) -> dict[str, Any]:
    """An error as programs get it."""
    if isinstance(error, FleetError):
        return {"message": str(error), "problems": [msgspec.structs.asdict(problem) for problem in error.problems]}
    names = ("field", "value", "expected", "example") if isinstance(error, InputError) else ()
    return {"message": str(error), **{name: getattr(error, name) for name in names}}


def show_problems(problems: Sequence[Problem]) -> None:
    """Everything that is wrong, each with its place and its cure."""
    for problem in problems:
        place = ":".join(str(part) for part in (near(problem.file), problem.line or "", problem.column or "") if part)
        head = click.style(f"{plain(place)}:", bold=True) if place else _mark()
        path = f"{plain(problem.path)}: " if problem.path else ""
        click.echo(f"{head} {path}{plain(problem.message)}", err=True)
        if problem.cure:
            click.echo(f"    {plain(problem.cure)}", err=True)


def _mark() -> str:
    return click.style("Error:", fg="red", bold=True)
