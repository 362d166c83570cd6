"""``rota status``: whether anything is wrong now."""

from __future__ import annotations

from datetime import datetime

import click

from rota.cli.command import Command
from rota.cli.plain import plain
from rota.cli.refusal import FAILED
from rota.cli.shown import brief, distance, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.table import print_table
from rota.operations.overview.showing import show_overview
from rota.operations.overview.views import Overview, ProblemView, Severity

_SIGNS = {Severity.BAD: ("✗", "red"), Severity.WARN: ("!", "yellow")}


@click.command("status", cls=Command, examples=("rota status", "rota status --json"))
@store_command("overview.show")
async def command(site: Site, *, as_json: bool) -> int:
    """Say what is wrong now, the worst first, what is under way, and what comes next. Exit 1 if something is bad."""
    found = await show_overview(site)
    if as_json:
        print_json(found)
    else:
        _print(found, site.clock.now())
    return FAILED if any(problem.severity is Severity.BAD for problem in found.problems) else 0


def _print(found: Overview, now: datetime) -> None:
    for problem in found.problems:
        _print_problem(problem, now)
    if found.left_out:
        click.echo(f"… and {found.left_out:,} more")
    if not found.problems:
        click.echo(f"{click.style('✓', fg='green')} Nothing is wrong.")
    click.echo()
    click.echo(_jobs(found))
    click.echo(_runs(found))
    if found.workers:
        click.echo()
        rows = [
            (worker.id, worker.status, str(worker.running), f"{worker.host} {worker.pid}", brief(worker.beat_at, now))
            for worker in found.workers
        ]
        print_table(("worker", "status", "running", "where", "seen"), rows)
    if found.coming:
        click.echo()
        print_table(("next", "job", "source"), ((brief(one.at, now), one.job, one.source) for one in found.coming))


def _print_problem(problem: ProblemView, now: datetime) -> None:
    sign, colour = _SIGNS[problem.severity]
    since = "" if problem.since is None else f" ({distance((problem.since - now).total_seconds())})"
    kind = problem.kind.replace("_", " ")
    click.echo(f"{click.style(sign, fg=colour)} {kind}: {plain(problem.message)}{click.style(since, dim=True)}")
    click.echo(f"    {plain(problem.cure)}")
    click.echo(f"    {click.style(plain(problem.command), bold=True)}")


def _jobs(found: Overview) -> str:
    return f"{found.jobs:,} jobs, {found.paused:,} paused, {found.failing:,} failing"


def _runs(found: Overview) -> str:
    waiting = ", ".join(f"{one.depth:,} {one.priority}" for one in found.queue)
    slots = ", ".join(
        f"{one.name or 'in all'} {one.used:,}/{'∞' if one.size is None else one.size}"
        for one in found.slots
        if one.scope != "agent"
    )
    return f"{found.running:,} running; waiting: {waiting}" + (f"; slots: {slots}" if slots else "")
