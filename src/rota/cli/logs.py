"""``rota logs``: the output of a run."""

from __future__ import annotations

import click

from rota.cli.arguments import run_or_job_argument
from rota.cli.command import Command
from rota.cli.following import follow, print_output
from rota.cli.shown import print_line
from rota.cli.store_command import Site, store_command
from rota.errors import NotFoundError
from rota.operations.runs import list_runs, read_output

_EXAMPLES = ("rota logs report", "rota logs report -f", "rota logs run_0006 --after 100 --json")
# The latest runs may all be skipped or waiting.
_LOOKED_AT = 50


@click.command("logs", cls=Command, examples=_EXAMPLES)
@run_or_job_argument()
@click.option("-f", "--follow", "is_followed", is_flag=True, help="Go on until the run ends, and exit as it did.")
@click.option("--after", type=click.IntRange(0), default=0, help="Only what came after this sequence number.")
@store_command("run.output", "run.follow")
async def command(site: Site, *, name: str, is_followed: bool, after: int, as_json: bool) -> int:
    """Print the output of a run, or of the latest run of a job. JSON is an object on each line."""
    run_id = name if name.startswith("run_") else await _latest(site, name)
    if is_followed:
        return await follow(site, run_id, after=after, as_json=as_json)
    while chunks := (await read_output(site, run=run_id, after=after)).items:
        for chunk in chunks:
            if as_json:
                print_line(chunk)
            else:
                print_output(chunk)
        after = chunks[-1].sequence
    return 0


async def _latest(site: Site, job: str) -> str:
    """The latest run of a job that somebody took up; one that is skipped or waits has nothing to show."""
    found = (await list_runs(site, job=job, limit=_LOOKED_AT)).items
    run = next((one for one in found if one.worker is not None), None)
    if run is None:
        raise NotFoundError(f"{job} has not run yet. Run it now: rota job run {job}")
    return run.id
