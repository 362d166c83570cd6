"""``rota simulate``: what the coming days will look like."""

from __future__ import annotations

import click

from rota.app import machine_zone
from rota.cli.arguments import agent_option
from rota.cli.command import Command
from rota.cli.shown import print_json
from rota.cli.simulate_shown import print_simulation
from rota.cli.store_command import Site, store_command
from rota.cli.times import read_time_or_none
from rota.operations.simulation.simulating import simulate

_EXAMPLES = ("rota simulate", "rota simulate --days 1 --agent coder", "rota simulate --days 30 --json")


@click.command("simulate", cls=Command, examples=_EXAMPLES)
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True, help="How many.")
@agent_option("Only the jobs of an agent.")
@click.option("--begin", metavar="TIME", help="Where to begin. Default: now.")
@store_command("fleet.simulate")
async def command(site: Site, *, days: int, agent: str | None, begin: str | None, as_json: bool) -> None:
    """Show the load, collisions, quiet hours, clock changes and cost of the coming days. Nothing is written."""
    found = await simulate(site, days=days, agent=agent, begin=read_time_or_none(begin, "begin"))
    if as_json:
        print_json(found)
    else:
        print_simulation(found, zone=machine_zone())
