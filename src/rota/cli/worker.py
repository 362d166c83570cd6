"""``rota worker``: one more engine on the same PostgreSQL, and who else is there."""

from __future__ import annotations

import click

from rota.app import default_database, is_postgres
from rota.cli.store_command import moment, print_json, store_command
from rota.cli.up import start_engine
from rota.ledger.site import Site
from rota.ports.records import instant


@click.group("worker", invoke_without_command=True)
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
    start_engine(database)


@command.command("list")
@store_command
async def list_workers(site: Site, *, as_json: bool) -> None:
    """Show the workers, the latest first."""
    found = await site.store.read(lambda tx: tx.workers(most=50))
    if as_json:
        print_json(found)
        return
    now = site.clock.now()
    for worker in found:
        seen = moment(instant(worker.beat_at), now)
        click.echo(
            f"{worker.id}  {worker.status:5} {worker.running:4} running  {worker.host} {worker.pid}  seen {seen}"
        )
    if not found:
        click.echo("No worker has been here yet. Start one: rota up")
