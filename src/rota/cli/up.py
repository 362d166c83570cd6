"""``rota up``: start the engine and its doors."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import click

from rota.app import default_database, fleet_file_here, log_folder
from rota.cli.arguments import port_option
from rota.cli.store_command import refuse
from rota.errors import SchedulerError
from rota.log import configure
from rota.serving import House, serve_forever

_EPILOG = """\b
Examples:
  rota up
  rota up --file fleet/rota.yaml --port 8080
  rota up --db postgresql://rota@db/rota --no-web
"""


@click.command("up", epilog=_EPILOG)
@click.option("--db", metavar="PATH|URL", help="The store: a file, or a PostgreSQL URL. Default: $ROTA_DB.")
@click.option(
    "--file", type=click.Path(dir_okay=False, path_type=Path), help="The fleet file. Default: rota.yaml here, if any."
)
@click.option("--no-file", is_flag=True, help="Without a fleet file, even if there is one here.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@port_option("0 takes a free one. Also $ROTA_PORT.", least=0)
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A name by which others may call it.")
@click.option(
    "--allow-remote", "is_remote_allowed", is_flag=True, help="Let other machines in. Put a proxy with TLS in front."
)
@click.option("--no-web", is_flag=True, help="The engine alone, without API and page.")
def command(*, db: str | None, file: Path | None, no_file: bool, no_web: bool, **doors: Any) -> None:  # noqa: ANN401
    """Start the engine, the API and the fleet file of this folder.

    The first Ctrl-C stops taking work and drains, the second ends everything at once.
    """
    start(
        House(
            database=db or default_database(),
            file=None if no_file else _chosen(file),
            has_doors=not no_web,
            is_watched=sys.stdout.isatty(),
            host=doors.pop("host").strip("[]"),
            **doors,
        )
    )


def _chosen(file: Path | None) -> Path | None:
    found = file or fleet_file_here(Path.cwd())
    # Without "..", so that one file has one name.
    return None if found is None else Path(os.path.abspath(found))  # noqa: PTH100


def start(house: House) -> None:
    """Work until a signal says stop."""
    configure(folder=log_folder(house.database))
    # Callables of the folder it is started in can be found, as with other programs that load them by name.
    sys.path.insert(0, str(Path.cwd()))
    try:
        asyncio.run(serve_forever(house, click.echo))
    except SchedulerError as error:
        refuse(error, as_json=not sys.stderr.isatty())
