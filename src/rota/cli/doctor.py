"""``rota doctor``: what is wrong here, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import click

from rota.app import default_database, is_postgres, premises_of
from rota.cli.arguments import port_option
from rota.cli.command import Command
from rota.cli.plain import plain
from rota.cli.refusal import FAILED
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.errors import NotFoundError
from rota.operations.health.doctor import Examination, check_up

_SIGNS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failure": ("✗", "red")}


@click.command("doctor", cls=Command, examples=("rota doctor", "rota doctor --port 8080", "rota doctor --json"))
@port_option("That of rota up. Also $ROTA_PORT.", least=1)
@store_command("doctor.check", is_open=False)
async def command(site: Site, *, port: int, as_json: bool) -> int:
    """Look for everything that is known to go wrong, and say what to do about it. Exit 1 if something is broken."""
    database = click.get_current_context().params["db"] or default_database()
    _check_exists(database)
    # Opened here, because the doctor also looks at how far this machine's clock is from the database's.
    await site.store.open()
    try:
        found = await check_up(site, premises=premises_of(database, port=port))
    finally:
        await site.store.close()
    if as_json:
        print_json(found)
    else:
        _print(found)
    return FAILED if any(one.status == "failure" for one in found.findings) else 0


def _check_exists(database: str) -> None:
    """To open a file would make it."""
    if not is_postgres(database) and not Path(database).exists():
        raise NotFoundError(f"There is no database at {database}. Name another with --db, or make it: rota up")


def _print(found: Examination) -> None:
    for one in found.findings:
        sign, colour = _SIGNS[one.status]
        click.echo(f"{click.style(sign, fg=colour)} {one.check}: {plain(one.message)}")
        if one.cure:
            click.echo(f"    {plain(one.cure)}")
