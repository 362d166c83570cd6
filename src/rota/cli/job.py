"""``rota job``: everything that can be done with a job."""

from __future__ import annotations

from typing import Any

import click

from rota.cli import job_chain, job_history, job_outcomes, job_preview, job_saving, job_state
from rota.cli.arguments import agent_option, job_argument
from rota.cli.command import Group
from rota.cli.following import follow
from rota.cli.pages import count_option, gather
from rota.cli.shown import COLOURS, brief, moment, planned_at, print_json, show_fields
from rota.cli.store_command import Site, store_command
from rota.cli.table import Cell, print_table
from rota.core.job import JobStatus
from rota.operations import jobs
from rota.operations.jobs import JobDetail
from rota.operations.views import JobView

_STATUSES = click.Choice([status.value for status in JobStatus])


@click.group("job", cls=Group, examples=("rota job list", "rota job show report", "rota job run report --follow"))
def command() -> None:
    """Add, look at, change and run jobs."""


for _command in (
    job_saving.add,
    job_saving.edit,
    job_preview.preview,
    job_chain.chain,
    job_state.pause,
    job_state.resume,
    job_state.enable,
    job_state.disable,
    job_state.accept,
    job_state.remove,
    job_history.command,
    job_outcomes.command,
):
    command.add_command(_command)


@command.command(
    "list", examples=("rota job list", "rota job list --status paused", "rota job list --agent coder --json")
)
@agent_option("Only those of an agent.")
@click.option("--status", type=_STATUSES, help="Only those that stand there.")
@click.option("--fleet", metavar="FLEET", help="Only those of a fleet file.")
@click.option("--contains", metavar="TEXT", help="Only those with this in their name.")
@click.option("--failing", is_flag=True, help="Only those whose last run failed.")
@click.option("--after", metavar="NAME", help="Only those after this name.")
@count_option(None, text="How many. Default: all.")
@store_command("job.list")
async def list_jobs(
    site: Site,
    *,
    status: str | None,
    after: str | None,
    most: int | None,
    as_json: bool,
    **wanted: Any,  # noqa: ANN401 - click's own
) -> None:
    """Show the jobs, their status and when they run next."""
    state = None if status is None else JobStatus(status)
    found = await gather(
        lambda cursor, limit: jobs.list_jobs(site, status=state, after=cursor, limit=limit, **wanted),
        most=most,
        after=after,
    )
    if as_json:
        print_json(found)
    elif found:
        now = site.clock.now()
        print_table(
            ("name", "status", "schedule", "next", ""),
            ((*_row(one), brief(planned_at(one), now), _mark(one)) for one in found),
        )
    else:
        click.echo("No jobs. Add one: rota job add tick --every 1m -- /bin/echo tick")


def _row(one: JobView) -> tuple[Cell, ...]:
    return Cell(one.name), Cell(one.status, COLOURS.get(one.status)), Cell(one.schedule)


def _mark(one: JobView) -> Cell:
    return Cell(f"{one.failure_count} failed in a row", "red") if one.failure_count else Cell(one.pause_note or "")


@command.command("show", examples=("rota job show report", "rota job show report --json"))
@job_argument()
@store_command("job.show")
async def show(site: Site, *, job: str, as_json: bool) -> None:
    """Show one job: its definition, where it stands, and why its next time was chosen."""
    one = await jobs.show_job(site, job=job)
    if as_json:
        print_json(one)
    else:
        _print(site, one)


def _print(site: Site, one: JobDetail) -> None:
    from rota.config.yaml_text import to_yaml  # noqa: PLC0415

    now = site.clock.now()
    show_fields(
        {
            "name": one.name,
            "id": one.id,
            "agent": one.agent,
            "file": f"{one.file}:{one.line}" if one.file else None,
            "status": one.status + (f" ({one.pause_note})" if one.pause_note else ""),
            "schedule": f"{one.schedule} ({one.timezone})",
            "in words": one.in_words,
            "next": moment(planned_at(one), now) + (f", from {one.source}" if planned_at(one) else ""),
            "paused until": moment(one.paused_until, now) if one.paused_until else None,
            "last run": moment(one.last_run_at, now) if one.last_run_at else None,
            "last error": one.last_error,
            "failures": one.failure_count or None,
        }
    )
    click.secho("\nwhy it runs next when it does", dim=True)
    for line in one.why:
        click.echo(f"  {line}")
    click.secho("\ndefinition", dim=True)
    for line in to_yaml(one.definition).splitlines():
        click.echo(f"  {line}")


@command.command(
    "run",
    examples=("rota job run report", "rota job run report --follow", "rota job run report --key 2026-11-18 --json"),
)
@job_argument()
@click.option("--follow", "-f", "is_followed", is_flag=True, help="Show the output until the end; exit as the run did.")
@click.option("--key", metavar="KEY", help="Asked again with the same key, the first run is meant.")
@click.option("--input", "given", metavar="TEXT", help="The run's input.")
@store_command("job.run", "run.follow")
async def run(
    site: Site, *, job: str, is_followed: bool, key: str | None, given: str | None, as_json: bool
) -> int | None:
    """Run a job now. Prints the id of the run at once."""
    requested = await jobs.run_job(site, job=job, key=key, input=given)
    if as_json and not is_followed:
        print_json(requested)
    elif not as_json:
        click.echo(requested.run_id, err=is_followed)
        if requested.is_skipped:
            click.echo(f"It was skipped: {requested.reason}", err=True)
    return await follow(site, requested.run_id, as_json=as_json) if is_followed else None
