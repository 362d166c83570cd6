"""``rota db``: the database itself."""

from __future__ import annotations

import click

from rota.cli.command import Group
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.operations.database import check_database, migrate_database, vacuum_database


@click.group("db", cls=Group, examples=("rota db check", "rota db migrate --db postgresql://rota@db/rota"))
def command() -> None:
    """Migrate, check and vacuum the database."""


@command.command("migrate", examples=("rota db migrate", "rota db migrate --db postgresql://rota@db/rota"))
@store_command("db.migrate", is_open=False)
async def migrate(site: Site, *, as_json: bool) -> None:
    """Bring the tables up to date."""
    migrated = await migrate_database(site)
    if as_json:
        print_json(migrated)
    else:
        click.echo("\n".join(f"Applied {name}" for name in migrated.applied) or "Nothing to do.")


@command.command("check", examples=("rota db check", "rota db check --json"))
@store_command("db.check")
async def check(site: Site, *, as_json: bool) -> int:
    """Look for damage and for rows that contradict each other; exit 1 when something is found."""
    found = await check_database(site)
    if as_json:
        print_json(found)
    else:
        click.echo("\n".join(found.faults) or "All is well.")
    return 1 if found.faults else 0


@command.command("vacuum", examples=("rota db vacuum",))
@store_command("db.vacuum")
async def vacuum(site: Site, *, as_json: bool) -> None:
    """Give unused space back."""
    done = await vacuum_database(site)
    if as_json:
        print_json(done)
    else:
        click.echo("Done.")
