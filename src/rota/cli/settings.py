"""``rota settings``: how this Rota is set up, and where each setting comes from."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from rota.app import default_database, fleet_file_here, premises_of
from rota.cli.command import Command
from rota.cli.fleet_source import source_of
from rota.cli.plain import near
from rota.cli.shown import moment, print_json, show_fields
from rota.cli.store_command import Site, store_command
from rota.cli.table import print_table
from rota.ledger.site import setting_origins, settings_from
from rota.operations.fleets import load
from rota.operations.settings import SettingsView, show_settings


@click.command("settings", cls=Command, examples=("rota settings", "rota settings --json"))
@store_command("settings.show")
async def command(site: Site, *, as_json: bool) -> None:
    """Show the settings that an engine started here would have, from the environment and the fleet file of this folder.

    A running engine keeps those it was started with; it tells them at /api/v1/settings.
    """
    file = fleet_file_here(Path.cwd())
    given = {} if file is None else (await load(site, source_of(file))).settings
    here = msgspec.structs.replace(site, settings=settings_from(os.environ, given))
    database = click.get_current_context().params["db"] or default_database()
    origins = setting_origins(os.environ, given, file.name if file else "")
    found = await show_settings(here, premises=premises_of(database, origins=origins))
    if as_json:
        print_json(found)
    else:
        _print(site, found)


def _print(site: Site, found: SettingsView) -> None:
    show_fields({"version": found.version, "store": found.store, "database": found.database, "tokens": found.tokens})
    click.echo()
    rows = ((one.name, _text(one.value), _text(one.default), one.origin) for one in found.settings)
    print_table(("setting", "value", "default", "from"), rows)
    if found.fleets:
        click.echo()
        titles = ("fleet", "jobs", "agents", "applied", "file")
        applied = (
            (one.name, str(one.jobs), str(one.agents), moment(one.applied_at, site.clock.now()), near(one.file))
            for one in found.fleets
        )
        print_table(titles, applied)
    click.echo("\nLimits: rota pool list")


def _text(value: str | int | None) -> str:
    return "-" if value is None else str(value)
