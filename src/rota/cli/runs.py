"""``rota runs``: the latest runs."""

from __future__ import annotations

from datetime import datetime
from functools import partial

import click

from rota.cli.arguments import agent_option, job_argument
from rota.cli.command import Command
from rota.cli.pages import count_option, gather
from rota.cli.shown import COLOURS, brief, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.table import Cell, print_table
from rota.cli.times import read_past
from rota.core.run import FAILURES, Cause, RunState
from rota.operations.runs import list_runs
from rota.operations.views import RunView

_EXAMPLES = (
    "rota runs",
    "rota runs report -n 5",
    "rota runs --failed --since 1d",
    "rota runs --state running --state queued",
    "rota runs --cause backfill --since 2026-11-01 --json",
)


@click.command("runs", cls=Command, examples=_EXAMPLES)
@job_argument(is_required=False)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in RunState]),
    help="Only those in this state; may be given again.",
)
@click.option("--failed", "is_failed", is_flag=True, help="Only failures of every kind.")
@agent_option("Only those of an agent.")
@click.option("--cause", type=click.Choice([cause.value for cause in Cause]), help="Only those with this cause.")
@click.option("--since", metavar="TIME|AGO", help="Only those put on record since, e.g. 2026-11-18T09:00 or 2h.")
@click.option("--until", metavar="TIME|AGO", help="Only those put on record before.")
@click.option("--after", metavar="RUN", help="Only those older than this run.")
@count_option(20)
@click.option("--all", "is_all", is_flag=True, help="All there are.")
@store_command("run.list")
async def command(  # noqa: PLR0913 - a filter for each facet
    site: Site,
    *,
    job: str | None,
    states: tuple[str, ...],
    is_failed: bool,
    agent: str | None,
    cause: str | None,
    since: str | None,
    until: str | None,
    after: str | None,
    most: int,
    is_all: bool,
    as_json: bool,
) -> None:
    """Show the latest runs, newest first, of all jobs or of JOB."""
    now = site.clock.now()
    wanted = {*(RunState(state) for state in states), *(FAILURES if is_failed else ())}
    fetch = partial(
        list_runs,
        site,
        job=job,
        agent=agent,
        state=tuple(sorted(wanted)),
        cause=None if cause is None else Cause(cause),
        since=read_past(since, "since", now),
        until=read_past(until, "until", now),
    )
    most_or_all = None if is_all else most
    found = await gather(lambda cursor, limit: fetch(after=cursor, limit=limit), most=most_or_all, after=after)
    if as_json:
        print_json(found)
    elif found:
        titles = ("run", "state", "job", "cause", "when", "took", "")
        print_table(titles, ((*_row(run), brief(_when(run), now), _took(run), _detail(run)) for run in found))
    else:
        click.echo("No runs.")


def _row(run: RunView) -> tuple[Cell, ...]:
    return Cell(run.id), Cell(run.state, COLOURS.get(run.state)), Cell(run.job), Cell(run.cause)


def _when(run: RunView) -> datetime:
    return run.started_at or run.due_at or run.requested_at


def _took(run: RunView) -> str:
    return "" if run.duration is None else f"{run.duration:.2f}s"


def _detail(run: RunView) -> str:
    return " ".join([*([run.reason] if run.reason else []), *([f"x{run.count}"] if run.count > 1 else [])])
