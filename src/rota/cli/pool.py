"""``rota pool``: how many runs may be under way at once."""

from __future__ import annotations

import click

from rota.cli.arguments import pool_argument
from rota.cli.command import Group
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.cli.table import print_table
from rota.operations.limits import LARGEST, LimitScope, LimitView, list_limits, set_limit


@click.group("pool", cls=Group, examples=("rota pool list", "rota pool set local 4"))
def command() -> None:
    """Show and change how many runs may be under way at once."""


@command.command("list", examples=("rota pool list", "rota pool list --json"))
@store_command("pool.list")
async def list_pools(site: Site, *, as_json: bool) -> None:
    """Show the pools, the agents, and how much of each is in use."""
    found = (await list_limits(site)).items
    if as_json:
        print_json(found)
    elif found:
        _print(found)
    else:
        click.echo("No pool is in use yet. The first job brings its own: rota job add --help")


@command.command("set", examples=("rota pool set local 4", "rota pool set coder 2 --agent"))
@pool_argument()
@click.argument("size", type=click.IntRange(0, LARGEST))
@click.option("--agent", "is_agent", is_flag=True, help="NAME is an agent, not a pool.")
@store_command("pool.set")
async def set_pool(site: Site, *, name: str, size: int, is_agent: bool, as_json: bool) -> None:
    """Let SIZE runs of the pool NAME be under way at once, from now on; 0 lets none begin."""
    limit = await set_limit(site, name=name, size=size, scope=LimitScope.AGENT if is_agent else LimitScope.POOL)
    if as_json:
        print_json(limit)
    else:
        _print((limit,))


def _print(limits: tuple[LimitView, ...]) -> None:
    rows = [
        (
            limit.scope,
            limit.name or "(all runs together)",
            str(limit.used),
            str(limit.size if limit.size is not None else "-"),
        )
        for limit in limits
    ]
    print_table(("", "name", "under way", "at most"), rows)
