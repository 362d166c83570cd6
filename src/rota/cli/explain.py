"""``rota explain``: a schedule in plain words."""

from __future__ import annotations

from typing import Any

import click

from rota.cli.command import Command
from rota.cli.preview_shown import print_heading, print_times
from rota.cli.schedule_input import preview_of, schedule_options
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command

_EXAMPLES = (
    'rota explain "0 9 * * 1-5"',
    'rota explain "*/30 2 * * *" --timezone Europe/Berlin',
    'rota explain "monthly 31 09:00" --json',
)


@click.command("explain", cls=Command, examples=_EXAMPLES)
@click.argument("schedule", required=False)
@schedule_options
@store_command("schedule.preview", is_open=False)
async def command(site: Site, *, as_json: bool, **options: Any) -> None:  # noqa: ANN401, ARG001 - click's own
    """Say in plain words when SCHEDULE runs, with the nights on which clocks change in the coming year."""
    shown, now = preview_of(options, count=5)
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
