"""``rota run``: one run."""

from __future__ import annotations

import getpass

import click

from rota.cli.store_command import moment, plain, print_json, store_command
from rota.ledger.site import Site
from rota.operations import runs
from rota.operations.waiting import waits_for
from rota.ports.records import instant_or_none


@click.group("run")
def command() -> None:
    """Look at a run, end it, or do it again."""


@command.command("show")
@click.argument("run_id", metavar="RUN")
@store_command
async def show(site: Site, *, run_id: str, as_json: bool) -> None:
    """Show everything that is kept of a run."""
    run = await runs.find_run(site, run_id)
    if as_json:
        print_json(run)
        return
    now = site.clock.now()
    for name in run.__struct_fields__:
        value = getattr(run, name)
        if value is not None and name != "trail":
            shown = moment(instant_or_none(value), now) if name.endswith("_at") or name == "start_after" else value
            click.echo(f"{name:13} {plain(str(shown))}")
    for line in (*runs.why(run), *await waits_for(site, run)):
        click.echo(f"  {plain(line)}")


@command.command("cancel")
@click.argument("run_id", metavar="RUN")
@store_command
async def cancel(site: Site, *, run_id: str, as_json: bool) -> None:
    """End a run with everything it has started."""
    cancelled = await runs.cancel_run(site, run_id, by=getpass.getuser())
    if as_json:
        print_json(cancelled)
    else:
        click.echo(f"{cancelled.run_id} {'is cancelled' if cancelled.is_ended else 'is being ended'}")


@command.command("retry")
@click.argument("run_id", metavar="RUN")
@store_command
async def retry(site: Site, *, run_id: str, as_json: bool) -> None:
    """Do the work of a run once more."""
    requested = await runs.retry_run(site, run_id)
    if as_json:
        print_json({"run_id": requested.run_id, "is_new": requested.is_new})
    else:
        click.echo(requested.run_id)
