"""``rota worker``: one more engine on the same PostgreSQL, and who else is there."""

from __future__ import annotations

import click

from rota.app import default_database, is_postgres
from rota.cli.command import Group
from rota.cli.up import start
from rota.cli.worker_list import command as list_workers
from rota.cli.worker_looks import heartbeats, snapshots
from rota.serving import House

_EXAMPLES = ("rota worker --db postgresql://rota@db/rota", "rota worker list", "rota worker heartbeats")


@click.group("worker", cls=Group, invoke_without_command=True, examples=_EXAMPLES)
@click.option("--db", metavar="URL", help="The store: a PostgreSQL URL. Default: $ROTA_DB.")
@click.pass_context
def command(context: click.Context, *, db: str | None) -> None:
    """Start one more worker on the same PostgreSQL, or list them."""
    if context.invoked_subcommand is not None:
        return
    database = db or default_database()
    if not is_postgres(database):
        raise click.UsageError(
            "SQLite has one engine for each file: use rota up. For several workers use PostgreSQL: "
            "rota worker --db postgresql://user@host/name"
        )
    start(House(database=database, has_doors=False))


for _command in (list_workers, snapshots, heartbeats):
    command.add_command(_command)
