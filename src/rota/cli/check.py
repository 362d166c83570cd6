"""``rota check``: what is wrong with a fleet file."""

from __future__ import annotations

from pathlib import Path

import click

from rota.cli.command import Command
from rota.cli.fleet_shown import print_warnings
from rota.cli.fleet_source import file_argument, fleet_source
from rota.cli.plain import near
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.operations.fleets import check_fleet


@click.command("check", cls=Command, examples=("rota check", "rota check fleet/rota.yaml --json"))
@file_argument
@store_command("fleet.check", is_open=False)
async def command(site: Site, *, file: Path | None, as_json: bool) -> None:
    """Say everything that is wrong with FILE, by default the rota.yaml of this folder. Exit 2 if something is."""
    summary = await check_fleet(site, source=fleet_source(file))
    if as_json:
        print_json(summary)
        return
    print_warnings(summary.warnings)
    counts = f"jobs: {summary.jobs}, agents: {summary.agents}"
    click.echo(f"{near(summary.file)} is good. Fleet {summary.fleet}, {counts}.")
