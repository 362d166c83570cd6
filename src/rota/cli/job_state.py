"""Where a job stands: paused, resumed, switched on and off, accepted, removed."""

from __future__ import annotations

import click

from rota.cli.arguments import job_argument
from rota.cli.command import Command
from rota.cli.shown import moment, planned_at, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.times import read_time_or_none
from rota.operations import jobs
from rota.operations.views import JobView


@click.command(
    "pause", cls=Command, examples=("rota job pause report", "rota job pause report --until 2026-12-01T09:00")
)
@job_argument()
@click.option("--until", metavar="TIME", help="The end of the pause. Default: until resumed.")
@click.option("--note", metavar="TEXT", help="Why.")
@store_command("job.pause")
async def pause(site: Site, *, job: str, until: str | None, note: str | None, as_json: bool) -> None:
    """Pause a job. Queued runs wait, running ones go on, and rota job run still works."""
    end = read_time_or_none(until, "until")
    _tell(site, await jobs.pause_job(site, job=job, until=end, note=note), as_json=as_json)


@click.command("resume", cls=Command, examples=("rota job resume report",))
@job_argument()
@store_command("job.resume")
async def resume(site: Site, *, job: str, as_json: bool) -> None:
    """End a pause."""
    _tell(site, await jobs.resume_job(site, job=job), as_json=as_json)


@click.command("enable", cls=Command, examples=("rota job enable report",))
@job_argument()
@store_command("job.enable")
async def enable(site: Site, *, job: str, as_json: bool) -> None:
    """Switch a job on."""
    _tell(site, await jobs.enable_job(site, job=job), as_json=as_json)


@click.command("disable", cls=Command, examples=("rota job disable report",))
@job_argument()
@store_command("job.disable")
async def disable(site: Site, *, job: str, as_json: bool) -> None:
    """Switch a job off, until it is enabled again."""
    _tell(site, await jobs.disable_job(site, job=job), as_json=as_json)


@click.command("accept", cls=Command, examples=("rota job list --status proposed", "rota job accept report"))
@job_argument()
@store_command("job.accept")
async def accept(site: Site, *, job: str, as_json: bool) -> None:
    """Accept a job that was proposed: from now on it runs."""
    _tell(site, await jobs.accept_job(site, job=job), as_json=as_json)


@click.command("remove", cls=Command, examples=("rota job remove report",))
@job_argument()
@store_command("job.remove")
async def remove(site: Site, *, job: str, as_json: bool) -> None:
    """Remove a job. Its queued runs are cancelled, its history stays."""
    gone = await jobs.remove_job(site, job=job)
    if as_json:
        print_json(gone)
    else:
        click.echo(f"Removed {gone.removed}. Its runs are still there: rota runs")


def _tell(site: Site, one: JobView, *, as_json: bool) -> None:
    if as_json:
        print_json(one)
        return
    at = planned_at(one)
    click.echo(f"{one.name}: {one.status}" + (f", next {moment(at, site.clock.now())}" if at else ""))
