"""Commands that work on a store: where it is, how their answers and errors look."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import wraps
from typing import Any, NoReturn

import click
import msgspec

from rota.app import default_database, make_site, make_store
from rota.errors import InputError, SchedulerError
from rota.ledger.site import Site

FAILED, BAD_INPUT = 1, 2


def store_command(command: Callable[..., Coroutine[Any, Any, int | None]]) -> Callable[..., None]:
    """Give a command the site it works on and ``--db`` and ``--json``; what it returns is the exit code."""

    @click.option("--db", metavar="PATH|URL", help="The store: a file, or a PostgreSQL URL. Default: $ROTA_DB.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @wraps(command)
    def run(*, db: str | None, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - click's own
        try:
            code = asyncio.run(_within_store(command, db, as_json=as_json, **options))
        except SchedulerError as error:
            refuse(error, as_json=as_json)
        except KeyboardInterrupt:
            sys.exit(130)
        sys.exit(code or 0)

    return run


async def _within_store(
    command: Callable[..., Coroutine[Any, Any, int | None]],
    db: str | None,
    **options: Any,  # noqa: ANN401
) -> int | None:
    store, _ = make_store(db or default_database())
    await store.open()
    try:
        site = make_site(store)
        await site.clock.agree(store)
        return await command(site, **options)
    finally:
        await store.close()


def refuse(error: SchedulerError, *, as_json: bool) -> NoReturn:
    """Say what is wrong and leave."""
    if as_json:
        names = ("field", "value", "expected", "example") if isinstance(error, InputError) else ()
        fields = {name: getattr(error, name) for name in names}
        click.echo(json.dumps({"error": {"message": str(error), **fields}}, ensure_ascii=False), err=True)
    else:
        click.echo(f"{click.style('Error:', fg='red', bold=True)} {error}", err=True)
    sys.exit(BAD_INPUT if isinstance(error, InputError) else FAILED)


def print_json(value: object) -> None:
    click.echo(json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False))


def plain(text: str) -> str:
    """Text of others without what would steer a terminal: escape sequences, and marks that turn the direction."""
    return "".join(c for c in text if c in "\n\t\r" or c.isprintable())


def moment(at: datetime | None, now: datetime) -> str:
    """A time as people read it: on their clock, and how far away."""
    if at is None:
        return "-"
    seconds = (at - now).total_seconds()
    local = at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return f"{local} ({_distance(seconds)})"


def _distance(seconds: float) -> str:
    size = abs(seconds)
    for limit, unit, name in ((90, 1, "s"), (5400, 60, "m"), (129_600, 3600, "h"), (float("inf"), 86_400, "d")):
        if size < limit:
            count = round(size / unit)
            return "now" if not count else f"in {count}{name}" if seconds > 0 else f"{count}{name} ago"
    return ""


__all__ = ["Site", "moment", "plain", "print_json", "refuse", "store_command"]
