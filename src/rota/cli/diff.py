"""``rota diff``: what a fleet file would change."""

from __future__ import annotations

from pathlib import Path

import click

from rota.cli.command import Command
from rota.cli.fleet_shown import print_changes, print_warnings
from rota.cli.fleet_source import file_argument, fleet_source
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.operations.fleets import diff_fleet


@click.command("diff", cls=Command, examples=("rota diff", "rota diff fleet/rota.yaml --json"))
@file_argument
@click.option("--take-over", "takes_over", is_flag=True, help="As rota apply --take-over.")
@store_command("fleet.diff")
async def command(site: Site, *, file: Path | None, takes_over: bool, as_json: bool) -> int:
    """Show what applying FILE would change. Exit 0 if nothing, 1 if something, as diff does."""
    changes = await diff_fleet(site, source=fleet_source(file), takes_over=takes_over)
    if as_json:
        print_json(changes)
    else:
        print_warnings(changes.warnings)
        print_changes(changes)
    return 1 if changes.changes or changes.limits else 0
