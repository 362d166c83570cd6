"""``rota worker list``: who does the work."""

from __future__ import annotations

import click

from rota.cli.command import Command
from rota.cli.pages import count_option
from rota.cli.shown import brief, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.table import print_table
from rota.operations.workers import list_workers


@click.command("list", cls=Command, examples=("rota worker list", "rota worker list --json"))
@count_option(50)
@store_command("worker.list")
async def command(site: Site, *, most: int, as_json: bool) -> None:
    """Show the workers, the latest first."""
    found = (await list_workers(site, limit=most)).items
    if as_json:
        print_json(found)
        return
    now = site.clock.now()
    rows = [
        (one.id, one.status, str(one.running), f"{one.host} {one.pid}", one.version, brief(one.beat_at, now))
        for one in found
    ]
    if rows:
        print_table(("worker", "status", "running", "where", "version", "seen"), rows)
    else:
        click.echo("No worker has been here yet. Start one: rota up")
