"""``rota db``: the database itself."""

from __future__ import annotations

import asyncio

import click

from rota.app import check_database, default_database, migrate_database, vacuum_database
from rota.cli.store_command import print_json, refuse
from rota.errors import SchedulerError

_DB = click.option("--db", metavar="PATH|URL", help="The store: a file, or a PostgreSQL URL. Default: $ROTA_DB.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("db")
def command() -> None:
    """Migrate, check and vacuum the database."""


@command.command("migrate")
@_DB
@_JSON
def migrate(*, db: str | None, as_json: bool) -> None:
    """Bring the tables up to date."""
    try:
        applied = asyncio.run(migrate_database(db or default_database()))
    except SchedulerError as error:
        refuse(error, as_json=as_json)
    if as_json:
        print_json({"applied": applied})
    else:
        click.echo("\n".join(f"Applied {name}" for name in applied) or "Nothing to do.")


@command.command("check")
@_DB
@_JSON
def check(*, db: str | None, as_json: bool) -> None:
    """Look for damage and for rows that contradict each other; exit 1 when something is found."""
    try:
        faults = asyncio.run(check_database(db or default_database()))
    except SchedulerError as error:
        refuse(error, as_json=as_json)
    if as_json:
        print_json({"faults": faults})
    else:
        click.echo("\n".join(faults) or "All is well.")
    raise SystemExit(1 if faults else 0)


@command.command("vacuum")
@_DB
def vacuum(*, db: str | None) -> None:
    """Give unused space back."""
    try:
        asyncio.run(vacuum_database(db or default_database()))
    except SchedulerError as error:
        refuse(error, as_json=False)
    click.echo("Done.")
