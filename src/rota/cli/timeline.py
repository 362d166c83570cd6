"""``rota timeline``: runs past and due times to come, as a chart."""

from __future__ import annotations

import shutil
import sys
from datetime import timedelta

import click

from rota.app import machine_zone
from rota.cli.arguments import agent_option
from rota.cli.command import Command
from rota.cli.shown import COLOURS, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.timeline_chart import Chart, chart
from rota.operations.timeline import show_timeline

_EXAMPLES = (
    "rota timeline",
    "rota timeline --hours 24 --ahead 12",
    "rota timeline --agent coder --lanes 10",
    "rota timeline --hours 1 --json",
)
_WIDEST = 160


@click.command("timeline", cls=Command, examples=_EXAMPLES)
@click.option("--hours", type=click.FloatRange(0, 336), default=6, show_default=True, help="How far back.")
@click.option("--ahead", type=click.FloatRange(0, 336), default=2, show_default=True, help="How many hours ahead.")
@agent_option("Only the jobs of an agent.")
@click.option("--contains", metavar="TEXT", help="Only jobs with this in their name.")
@click.option("--lanes", type=click.IntRange(1, 100), default=30, show_default=True, help="How many jobs.")
@store_command("timeline.show")
async def command(
    site: Site,
    *,
    hours: float,
    ahead: float,
    agent: str | None,
    contains: str | None,
    lanes: int,
    as_json: bool,
) -> None:
    """Show runs past and due times to come, a line for each job: those that run first, then those that fail."""
    now = site.clock.now()
    begin, end = now - timedelta(hours=hours), now + timedelta(hours=ahead)
    found = await show_timeline(site, begin=begin, end=end, agent=agent, contains=contains, lanes=lanes)
    if as_json:
        print_json(found)
    elif not found.lanes:
        click.echo("No jobs.")
    else:
        is_ascii = (sys.stdout.encoding or "ascii").lower().replace("-", "") not in ("utf8", "utf16")
        width = min(_WIDEST, shutil.get_terminal_size().columns)
        _print(chart(found, width=width, zone=machine_zone(), is_ascii=is_ascii))
        if found.left_out:
            click.secho(f"{found.left_out:,} more jobs are not shown", dim=True)


def _print(shown: Chart) -> None:
    click.secho(shown.ruler, dim=True)
    for label, cells in shown.lanes:
        marks = "".join(click.style(mark, fg=COLOURS.get(state)) if state else mark for mark, state in cells)
        click.echo(f"{label} {marks}")
    click.secho(shown.legend, dim=True)
