"""``rota up``: start the engine."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import click

from rota.app import default_database, log_folder, running_engine
from rota.cli.store_command import refuse
from rota.errors import SchedulerError
from rota.log import configure


@click.command("up")
@click.option("--db", metavar="PATH|URL", help="The store: a file, or a PostgreSQL URL. Default: $ROTA_DB.")
@click.option("--no-web", is_flag=True, help="Without the page.")
def command(*, db: str | None, no_web: bool) -> None:  # noqa: ARG001 - there is no page yet
    """Start the engine. The first Ctrl-C stops taking work and drains, the second ends everything at once."""
    start_engine(db or default_database())


def start_engine(database: str) -> None:
    """Work until a signal says stop."""
    configure(folder=log_folder(database))
    # Callables of the folder it is started in can be found, as with other programs that load them by name.
    sys.path.insert(0, str(Path.cwd()))
    try:
        asyncio.run(_work(database))
    except SchedulerError as error:
        refuse(error, as_json=not sys.stderr.isatty())


async def _work(database: str) -> None:
    async with running_engine(database) as engine:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, engine.stop)
        await engine.run()
