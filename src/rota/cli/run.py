"""``rota run``: one run."""

from __future__ import annotations

from datetime import datetime

import click
import msgspec

from rota.cli.arguments import run_argument, runs_argument
from rota.cli.command import Group
from rota.cli.plain import plain
from rota.cli.refusal import FAILED
from rota.cli.shown import COLOURS, brief, moment, print_json, show_fields
from rota.cli.store_command import Site, store_command
from rota.cli.table import Cell, print_table
from rota.operations.families import show_family
from rota.operations.many_runs import MOST, ManyRuns, cancel_many, retry_many
from rota.operations.runs import cancel_run, retry_run, show_run
from rota.operations.views import RunDetail, RunView

# Told in words below the rest.
_TOLD = ("trail", "why", "waits_for")


@click.group(
    "run", cls=Group, examples=("rota run show run_0006", "rota run cancel run_0006", "rota run retry run_0006")
)
def command() -> None:
    """Look at a run, end it, or do it again."""


@command.command("show", examples=("rota run show run_0006", "rota run show run_0006 --json"))
@run_argument()
@store_command("run.show")
async def show(site: Site, *, run: str, as_json: bool) -> None:
    """Show everything that is kept of a run."""
    found = await show_run(site, run=run)
    if as_json:
        print_json(found)
        return
    now = site.clock.now()
    show_fields({name: _shown(found, name, now) for name in found.__struct_fields__ if name not in _TOLD})
    for line in (*found.why, *found.waits_for):
        click.echo(f"  {plain(line)}")


def _shown(run: RunDetail, name: str, now: datetime) -> object:
    value = getattr(run, name)
    if isinstance(value, datetime):
        return moment(value, now)
    if isinstance(value, msgspec.Struct | dict | list):
        text = msgspec.json.encode(value).decode()
        return None if text == "{}" else text
    return None if name in ("depth", "count") and value in (0, 1) else value


@command.command("family", examples=("rota run family run_0006", "rota run family run_0006 --json"))
@run_argument()
@store_command("run.family")
async def family(site: Site, *, run: str, as_json: bool) -> None:
    """Show what led to a run, the attempts at the same work, and what followed from them."""
    found = await show_family(site, run=run)
    if as_json:
        print_json(found)
        return
    now = site.clock.now()
    related = (("parent", found.parents[::-1]), ("attempt", found.attempts), ("child", found.children))
    rows = [(word, *_related(one, now)) for word, many in related for one in many]
    print_table(("", "run", "state", "job", "attempt", "when"), rows)


def _related(run: RunView, now: datetime) -> tuple[str | Cell, ...]:
    when = run.started_at or run.due_at or run.requested_at
    return run.id, Cell(run.state, COLOURS.get(run.state)), run.job, str(run.attempt), brief(when, now)


@command.command(
    "cancel",
    examples=(
        "rota run cancel run_0006",
        'rota run cancel run_0006 --reason "wrong branch"',
        "rota run cancel run_0006 run_0007",
    ),
)
@runs_argument()
@click.option("--reason", default="by_hand", metavar="TEXT", help="Why.")
@store_command("run.cancel", "run.cancel_many")
async def cancel(site: Site, *, runs: tuple[str, ...], reason: str, as_json: bool) -> int | None:
    """End runs with everything they have started."""
    _check_count(runs)
    if len(runs) > 1:
        return _show_many(await cancel_many(site, runs=runs, reason=reason), "Cancelled", as_json=as_json)
    cancelled = await cancel_run(site, run=runs[0], reason=reason)
    if as_json:
        print_json(cancelled)
    else:
        click.echo(f"{cancelled.run_id} {'is cancelled' if cancelled.is_ended else 'is being ended'}")
    return None


@command.command(
    "retry",
    examples=(
        "rota run retry run_0006",
        "rota run retry run_0006 --key again-1",
        "rota run retry run_0006 run_0007",
    ),
)
@runs_argument()
@click.option("--key", metavar="KEY", help="Asked again with the same key, the first run is meant.")
@store_command("run.retry", "run.retry_many")
async def retry(site: Site, *, runs: tuple[str, ...], key: str | None, as_json: bool) -> int | None:
    """Do the work of runs once more, with the same input. Prints the ids of the new runs."""
    _check_count(runs)
    if len(runs) > 1:
        if key is not None:
            raise click.UsageError("A key stands for one run. Leave it out, or name a single RUN.")
        return _show_many(await retry_many(site, runs=runs), "Asked for again", as_json=as_json)
    requested = await retry_run(site, run=runs[0], key=key)
    if as_json:
        print_json(requested)
    else:
        click.echo(requested.run_id)
    return None


def _check_count(runs: tuple[str, ...]) -> None:
    if len(runs) > MOST:
        raise click.UsageError(f"These are {len(runs)} runs. Name at most {MOST} at a time.")


def _show_many(many: ManyRuns, verb: str, *, as_json: bool) -> int:
    if as_json:
        print_json(many)
    else:
        for run_id in many.made:
            click.echo(run_id)
        click.echo(f"{verb}: {len(many.done)} run{'' if len(many.done) == 1 else 's'}", err=bool(many.made))
        for one in many.refused:
            click.echo(f"{plain(one.run_id)}: {plain(one.why)}", err=True)
    return FAILED if many.refused else 0
