"""``rota logs``: the output of a run."""

from __future__ import annotations

import click

from rota.cli.following import exit_code, follow, show_output
from rota.cli.store_command import store_command
from rota.errors import NotFoundError
from rota.ledger.site import Site
from rota.operations import jobs, runs
from rota.ports.records import RunRecord


@click.command("logs")
@click.argument("name", metavar="RUN|JOB")
@click.option("-f", "--follow", "is_followed", is_flag=True, help="Go on until the run ends.")
@click.option("--after", type=click.IntRange(0), default=0, help="Only what came after this sequence number.")
@store_command
async def command(site: Site, *, name: str, is_followed: bool, after: int, as_json: bool) -> int:
    """Print the output of a run, or of the latest run of a job."""
    run = await _find(site, name)
    if is_followed:
        return await follow(site, run.id, as_json=as_json)
    await show_output(site, run.id, after=after, as_json=as_json)
    return 0 if run.ended_at is None else min(exit_code(run), 0)


async def _find(site: Site, name: str) -> RunRecord:
    if name.startswith("run_"):
        return await runs.find_run(site, name)
    job = await jobs.find_job(site, name)
    found = [run for run in await runs.list_runs(site, job_id=job.id, most=50) if run.claimed_at is not None]
    if not found:
        raise NotFoundError(f"{job.name} has not run yet. Run it now: rota job run {job.name}")
    return found[0]
