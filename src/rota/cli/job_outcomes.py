"""``rota job outcomes``: how the latest runs of jobs ended, a strip for each."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rota.cli.command import Command
from rota.cli.completing import complete_jobs
from rota.cli.shown import COLOURS, print_json
from rota.cli.store_command import Site, store_command
from rota.operations.outcomes import list_outcomes
from rota.operations.views import RunMark

_LETTERS = {
    "succeeded": ".",
    "running": ">",
    "queued": "o",
    "held": "o",
    "skipped": "-",
    "missed": "?",
    "cancelled": "c",
}
_EXAMPLES = ("rota job outcomes", "rota job outcomes report backup -n 10", "rota job outcomes --json")


@click.command("outcomes", cls=Command, examples=_EXAMPLES)
@click.argument("jobs", metavar="[JOB]...", nargs=-1, shell_complete=complete_jobs)
@click.option("-n", "most", type=click.IntRange(1, 100), default=30, show_default=True, help="How many of each.")
@click.option("--after", metavar="NAME", help="Without JOB: only those after this name.")
@store_command("job.outcomes")
async def command(site: Site, *, jobs: tuple[str, ...], most: int, after: str | None, as_json: bool) -> None:
    """Show how the latest runs of each JOB ended, the newest at the right; without JOB, of all jobs.

    . succeeded, x failed, > running, o waits, - skipped, ? missed, c cancelled.
    """
    page = await list_outcomes(site, job=jobs, limit=most, after=after)
    if as_json:
        print_json(page.items)
        return
    width = max((len(one.job) for one in page.items), default=0)
    for one in page.items:
        click.echo(f"{one.job.ljust(width)}  {strip(one.runs)}")
    if not page.items:
        click.echo("No jobs.")
    if page.next is not None:
        click.secho(f"There are more: rota job outcomes --after {page.next}", dim=True)


def strip(runs: Sequence[RunMark]) -> str:
    """A letter for each run, the newest at the right."""
    return "".join(_letter(run) for run in reversed(runs)) or "no run yet"


def _letter(run: RunMark) -> str:
    return click.style(_LETTERS.get(run.state, "x"), fg=COLOURS.get(run.state))
