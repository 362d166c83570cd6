"""``rota why``: the cause of a run, or why there was none."""

from __future__ import annotations

import click

from rota.app import machine_zone
from rota.cli.store_command import print_json, store_command
from rota.core.decision import describe
from rota.core.schedule import Once, once_instant, parse_instant
from rota.ledger.site import Site
from rota.operations import jobs, runs
from rota.operations.waiting import waits_for
from rota.ports.records import trail_of


@click.command("why")
@click.argument("name", metavar="RUN|JOB")
@click.option("--at", metavar="TIME", help="Why the job did not run at this time.")
@store_command
async def command(site: Site, *, name: str, at: str | None, as_json: bool) -> None:
    """Say why RUN happened, why JOB runs next when it does, or with --at why it did not run."""
    if name.startswith("run_"):
        run = await runs.find_run(site, name)
        lines = (*runs.why(run), *await waits_for(site, run))
    elif at is not None:
        lines = await jobs.why_not(site, name, once_instant(Once(parse_instant(at, field="at")), machine_zone()))
    else:
        lines = describe(trail_of((await jobs.find_job(site, name)).trail))
    if as_json:
        print_json(lines)
        return
    for line in lines:
        click.echo(line)
