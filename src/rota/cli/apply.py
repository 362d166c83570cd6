"""``rota apply``: make the jobs those of a fleet file."""

from __future__ import annotations

from pathlib import Path

import click

from rota.cli.asking import is_agreed, is_terminal
from rota.cli.command import Command
from rota.cli.fleet_shown import print_changes, print_warnings
from rota.cli.fleet_source import file_argument, fleet_source
from rota.cli.refusal import FAILED
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.operations.fleets import FleetText, apply_file, diff_fleet

_EXAMPLES = ("rota apply", "rota apply fleet/rota.yaml --yes", "rota apply --take-over")


@click.command("apply", cls=Command, examples=_EXAMPLES)
@file_argument
@click.option(
    "--take-over", "takes_over", is_flag=True, help="Also take jobs added by hand, or a fleet of another file or name."
)
@click.option("--yes", "is_sure", is_flag=True, help="Remove jobs without asking.")
@store_command("fleet.apply")
async def command(site: Site, *, file: Path | None, takes_over: bool, is_sure: bool, as_json: bool) -> int:
    """Make the jobs those of FILE, all of it or nothing. Next times, failure counts and history stay.

    On a terminal it asks before jobs are removed, unless --yes is given.
    """
    source = fleet_source(file)
    if not is_sure and is_terminal() and not await _may_remove(site, source, takes_over=takes_over):
        click.echo("Nothing was changed.", err=True)
        return FAILED
    changes = await apply_file(site, source=source, takes_over=takes_over)
    if as_json:
        print_json(changes)
    else:
        print_warnings(changes.warnings)
        print_changes(changes)
    return 0


async def _may_remove(site: Site, source: FleetText, *, takes_over: bool) -> bool:
    """Whether no job is removed, or a person agrees."""
    planned = await diff_fleet(site, source=source, takes_over=takes_over)
    gone = [change.job for change in planned.changes if change.change == "removed"]
    shown = ", ".join(gone[:10]) + (f" and {len(gone) - 10} more" if len(gone) > 10 else "")
    return not gone or is_agreed(f"This removes {shown}, and cancels what of theirs is queued. Go on?")
