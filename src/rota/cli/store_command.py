"""Commands that work on a store: where it is, who asks, and how their answers and errors look."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from rota.app import default_database, local_caller, make_site, make_store
from rota.cli.refusal import INTERRUPTED, refuse
from rota.errors import ScheduleError, SchedulerError
from rota.ledger.site import Site

T = TypeVar("T")
_Work = Callable[..., Coroutine[Any, Any, int | None]]


def store_command(*operations: str, is_open: bool = True) -> Callable[[_Work], Callable[..., None]]:
    """Give a command the site it works on and ``--db`` and ``--json``; what it returns is the exit code.

    ``operations`` are those that it stands for. One that asks the store nothing need not have it open.
    """

    def decorate(command: _Work) -> Callable[..., None]:
        @click.option("--db", metavar="PATH|URL", help="The store: a file, or a PostgreSQL URL. Default: $ROTA_DB.")
        @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
        @wraps(command)
        def run(*, db: str | None, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - click's own
            try:
                _check_text({"db": db, **options})
                code = asyncio.run(within_store(command, db, is_open=is_open, as_json=as_json, **options))
            except SchedulerError as error:
                refuse(error, as_json=as_json)
            except KeyboardInterrupt:
                sys.exit(INTERRUPTED)
            sys.exit(code or 0)

        run.operations = operations  # type: ignore[attr-defined] # read by the command that is made of it
        return run

    return decorate


async def within_store(
    work: Callable[..., Coroutine[Any, Any, T]],
    db: str | None,
    *,
    is_open: bool = True,
    **options: Any,  # noqa: ANN401 - click's own
) -> T:
    """Do something on a store, as the person at this machine."""
    store, _ = make_store(db or default_database())
    site = make_site(store, caller=local_caller())
    if not is_open:
        return await work(site, **options)
    await store.open()
    try:
        await site.clock.agree(store)
        return await work(site, **options)
    finally:
        await store.close()


def _check_text(options: Mapping[str, Any]) -> None:
    """Refuse what a terminal in another encoding makes of some letters: no store can keep it."""
    for name, value in options.items():
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str | Path) and not _is_whole(str(text)):
                field = name.removeprefix("by_").removeprefix("set_")
                raise ScheduleError(field=field, value=ascii(text), expected="text in UTF-8", example="nightly-report")


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


__all__ = ["Site", "refuse", "store_command", "within_store"]
