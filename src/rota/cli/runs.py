"""``rota runs``: the latest runs."""

from __future__ import annotations

import click

from rota.cli.store_command import moment, print_json, store_command
from rota.ledger.site import Site
from rota.operations import jobs, runs
from rota.ports.records import RunRecord, instant_or_none

_COLOURS = {"succeeded": "green", "failed": "red", "permanent_failure": "red", "timed_out": "red", "lost": "red"}


@click.command("runs")
@click.argument("job", required=False)
@click.option("-n", "most", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many.")
@store_command
async def command(site: Site, *, job: str | None, most: int, as_json: bool) -> None:
    """Show the latest runs, newest first, of all jobs or of JOB."""
    job_id = (await jobs.find_job(site, job)).id if job else None
    found = await runs.list_runs(site, job_id=job_id, most=most)
    if as_json:
        print_json(found)
        return
    now = site.clock.now()
    for run in found:
        at = instant_or_none(run.started_at or run.due_at or run.requested_at)
        state = click.style(f"{run.state:17}", fg=_COLOURS.get(run.state))
        click.echo(f"{run.id}  {state} {run.job:20} {run.cause:9} {moment(at, now)}{_detail(run)}")


def _detail(run: RunRecord) -> str:
    words = [f"{(run.ended_at - run.started_at) / 1e6:.2f}s"] if run.ended_at and run.started_at else []
    words += [run.reason] if run.reason else []
    words += [f"x{run.folded}"] if run.folded and run.folded > 1 else []
    return f"  {' '.join(words)}" if words else ""
