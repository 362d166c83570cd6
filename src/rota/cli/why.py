"""``rota why``: the cause of a run, or why there was none."""

from __future__ import annotations

import click

from rota.cli.arguments import run_or_job_argument
from rota.cli.command import Command
from rota.cli.plain import plain
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.cli.times import read_time_or_none
from rota.operations.explaining import explain_job, explain_run

_EXAMPLES = ("rota why run_0006", "rota why report", "rota why report --at 2026-11-18T09:00")


@click.command("why", cls=Command, examples=_EXAMPLES)
@run_or_job_argument()
@click.option("--at", metavar="TIME", help="Why the job did or did not run at this time.")
@store_command("run.why", "job.why")
async def command(site: Site, *, name: str, at: str | None, as_json: bool) -> None:
    """Say why RUN happened, why JOB runs next when it does, or with --at why it did not run."""
    if name.startswith("run_"):
        if at is not None:
            raise click.UsageError("--at belongs to a job.")
        why = await explain_run(site, run=name)
    else:
        why = await explain_job(site, job=name, at=read_time_or_none(at, "at"))
    if as_json:
        print_json(why)
        return
    for line in why.lines:
        click.echo(plain(line))
