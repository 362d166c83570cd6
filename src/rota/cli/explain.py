"""``rota explain``: a schedule in plain words."""

from __future__ import annotations

from datetime import datetime

import click

from rota.cli.schedule_input import print_json, schedule_options, with_preview
from rota.cli.shown import print_heading, print_times
from rota.operations.preview import Preview

_EPILOG = """\b
Examples:
  rota explain "0 9 * * 1-5"
  rota explain "*/30 2 * * *" --timezone Europe/Berlin
  rota explain "monthly 31 09:00" --json
"""


@click.command("explain", epilog=_EPILOG)
@schedule_options
@with_preview
def command(shown: Preview, *, now: datetime, as_json: bool) -> None:
    """Say in plain words when SCHEDULE runs, with the nights on which clocks change in the coming year."""
    if as_json:
        print_json(shown)
        return
    print_heading(shown)
    if shown.times:
        click.echo("\nNext:")
    print_times(shown, now=now)
    if shown.clock_changes:
        click.echo("\nNights on which clocks change:")
    for night in shown.clock_changes:
        click.echo(f"  {night.walls[0]:%a %Y-%m-%d}  {night.in_words}")
