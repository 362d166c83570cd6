"""``rota run``: one run."""

from __future__ import annotations

from datetime import datetime

import click
import msgspec

from rota.cli.arguments import run_argument
from rota.cli.command import Group
from rota.cli.plain import plain
from rota.cli.shown import moment, print_json, show_fields
from rota.cli.store_command import Site, store_command
from rota.operations import runs
from rota.operations.views import RunDetail

# Told in words below the rest.
_TOLD = ("trail", "why", "waits_for")


@click.group(
    "run", cls=Group, examples=("rota run show run_0006", "rota run cancel run_0006", "rota run retry run_0006")
)
def command() -> None:
    """Look at a run, end it, or do it again."""


@command.command("show", examples=("rota run show run_0006", "rota run show run_0006 --json"))
@run_argument()
@store_command("run.show")
async def show(site: Site, *, run: str, as_json: bool) -> None:
    """Show everything that is kept of a run."""
    found = await runs.show_run(site, run=run)
    if as_json:
        print_json(found)
        return
    now = site.clock.now()
    show_fields({name: _shown(found, name, now) for name in found.__struct_fields__ if name not in _TOLD})
    for line in (*found.why, *found.waits_for):
        click.echo(f"  {plain(line)}")


def _shown(run: RunDetail, name: str, now: datetime) -> object:
    value = getattr(run, name)
    if isinstance(value, datetime):
        return moment(value, now)
    if isinstance(value, msgspec.Struct | dict | list):
        text = msgspec.json.encode(value).decode()
        return None if text == "{}" else text
    return None if name in ("depth", "count") and value in (0, 1) else value


@command.command("cancel", examples=("rota run cancel run_0006", 'rota run cancel run_0006 --reason "wrong branch"'))
@run_argument()
@click.option("--reason", default="by_hand", metavar="TEXT", help="Why.")
@store_command("run.cancel")
async def cancel(site: Site, *, run: str, reason: str, as_json: bool) -> None:
    """End a run with everything it has started."""
    cancelled = await runs.cancel_run(site, run=run, reason=reason)
    if as_json:
        print_json(cancelled)
    else:
        click.echo(f"{cancelled.run_id} {'is cancelled' if cancelled.is_ended else 'is being ended'}")


@command.command("retry", examples=("rota run retry run_0006", "rota run retry run_0006 --key again-1"))
@run_argument()
@click.option("--key", metavar="KEY", help="Asked again with the same key, the first run is meant.")
@store_command("run.retry")
async def retry(site: Site, *, run: str, key: str | None, as_json: bool) -> None:
    """Do the work of a run once more, with the same input. Prints the id of the new run."""
    requested = await runs.retry_run(site, run=run, key=key)
    if as_json:
        print_json(requested)
    else:
        click.echo(requested.run_id)
