"""``rota schema``: the JSON Schema of the fleet file."""

from __future__ import annotations

import click

from rota.cli.command import Command
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.operations.fleets import fleet_schema


@click.command("schema", cls=Command, examples=("rota schema > rota.schema.json",))
@store_command("fleet.schema", is_open=False)
async def command(site: Site, *, as_json: bool) -> None:  # noqa: ARG001 - it is JSON either way
    """Print the JSON Schema of the fleet file, for editors."""
    print_json(await fleet_schema(site))
