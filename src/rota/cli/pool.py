"""``rota pool``: how many runs may be under way at once."""

from __future__ import annotations

import click

from rota.cli.store_command import print_json, store_command
from rota.ledger.site import Site
from rota.operations.limits import LARGEST, LimitView, list_limits, set_limit


@click.group("pool")
def command() -> None:
    """Show and change how many runs may be under way at once."""


@command.command("list")
@store_command
async def list_pools(site: Site, *, as_json: bool) -> None:
    """Show the pools, the agents, and how much of each is in use."""
    found = await list_limits(site)
    if as_json:
        print_json(found)
        return
    for limit in found:
        click.echo(_line(limit))
    if not found:
        click.echo("No pool is in use yet. The first job brings its own: rota job add --help")


@command.command("set", epilog="Examples:\n\n\b\n  rota pool set local 4\n  rota pool set coder 2 --agent")
@click.argument("name")
@click.argument("size", type=click.IntRange(0, LARGEST))
@click.option("--agent", "is_agent", is_flag=True, help="NAME is an agent, not a pool.")
@store_command
async def set_pool(site: Site, *, name: str, size: int, is_agent: bool, as_json: bool) -> None:
    """Let SIZE runs of the pool NAME be under way at once, from now on; 0 lets none begin."""
    limit = await set_limit(site, "agent" if is_agent else "pool", name, size)
    if as_json:
        print_json(limit)
    else:
        click.echo(_line(limit))


def _line(limit: LimitView) -> str:
    name = limit.name or "(all runs together)"
    return f"{limit.scope:5}  {name:24}  {limit.used:>5} of {'no limit' if limit.size is None else limit.size}"
