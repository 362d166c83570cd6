"""``rota runs``: the latest runs."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

import click

from rota.cli.arguments import agent_option, job_argument
from rota.cli.command import Command
from rota.cli.pages import count_option, gather
from rota.cli.shown import COLOURS, brief, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.table import Cell, print_table
from rota.cli.times import read_past
from rota.core.run import FAILURES, Cause, Priority, RunState
from rota.operations.counting import Facet, RunCounts, count_runs
from rota.operations.runs import list_runs
from rota.operations.views import RunView

_EXAMPLES = (
    "rota runs",
    "rota runs report -n 5",
    "rota runs --failed --since 1d",
    "rota runs --state running --state queued",
    "rota runs --cause backfill --since 2026-11-01 --json",
    "rota runs --count --failed --since 1d",
)
PRIORITIES = {one.name.lower(): int(one) for one in Priority}


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
@click.option("--priority", type=click.Choice(list(PRIORITIES)), help="Only those that start with this priority.")
@click.option("--since", metavar="TIME|AGO", help="Only those put on record since, e.g. 2026-11-18T09:00 or 2h.")
@click.option("--until", metavar="TIME|AGO", help="Only those put on record before.")
@click.option("--after", metavar="RUN", help="Only those older than this run.")
@count_option(20)
@click.option("--all", "is_all", is_flag=True, help="All there are.")
@click.option("--count", "is_counted", is_flag=True, help="Only how many there are, by state, cause, agent and job.")
@store_command("run.list", "run.count")
async def command(
    site: Site,
    *,
    after: str | None,
    most: int,
    is_all: bool,
    is_counted: bool,
    as_json: bool,
    **facets: Any,  # noqa: ANN401 - click's own
) -> None:
    """Show the latest runs, newest first, of all jobs or of JOB."""
    now = site.clock.now()
    wanted = _wanted(facets, now)
    if is_counted:
        _show_counts(await count_runs(site, **wanted), as_json=as_json)
        return
    fetch = partial(list_runs, site, **wanted)
    most_or_all = None if is_all else most
    found = await gather(lambda cursor, limit: fetch(after=cursor, limit=limit), most=most_or_all, after=after)
    if as_json:
        print_json(found)
    elif found:
        titles = ("run", "state", "job", "cause", "when", "took", "")
        print_table(titles, ((*_row(run), brief(_when(run), now), _took(run), _detail(run)) for run in found))
    else:
        click.echo("No runs.")


def _wanted(facets: dict[str, Any], now: datetime) -> dict[str, Any]:
    """The filters of the operation."""
    states = {*(RunState(state) for state in facets["states"]), *(FAILURES if facets["is_failed"] else ())}
    cause, priority = facets["cause"], facets["priority"]
    return {
        "job": facets["job"],
        "agent": facets["agent"],
        "state": tuple(sorted(states)),
        "cause": None if cause is None else Cause(cause),
        "priority": None if priority is None else PRIORITIES[priority],
        "since": read_past(facets["since"], "since", now),
        "until": read_past(facets["until"], "until", now),
    }


def _show_counts(counts: RunCounts, *, as_json: bool) -> None:
    if as_json:
        print_json(counts)
        return
    cut = " (only the latest were looked at)" if counts.is_cut else ""
    click.echo(f"{counts.total} run{'' if counts.total == 1 else 's'}{cut}")
    for title in ("states", "causes", "agents", "jobs"):
        facets: tuple[Facet, ...] = getattr(counts, title)
        if facets:
            click.echo()
            rows = ((Cell(one.name, COLOURS.get(one.name)), str(one.count)) for one in facets)
            print_table((title.removesuffix("s"), "count"), rows)


def _row(run: RunView) -> tuple[Cell, ...]:
    return Cell(run.id), Cell(run.state, COLOURS.get(run.state)), Cell(run.job), Cell(run.cause)


def _when(run: RunView) -> datetime:
    return run.started_at or run.due_at or run.requested_at


def _took(run: RunView) -> str:
    return "" if run.duration is None else f"{run.duration:.2f}s"


def _detail(run: RunView) -> str:
    return " ".join([*([run.reason] if run.reason else []), *([f"x{run.count}"] if run.count > 1 else [])])
