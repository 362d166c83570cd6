"""How a simulation looks: totals, the load of each hour, and what to look at twice."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import click

from rota.cli.plain import plain
from rota.cli.preview_shown import wall_time
from rota.cli.table import Cell, print_table
from rota.core.duration import format_duration
from rota.core.zone import zone_named
from rota.operations.simulation.chart import chart
from rota.operations.simulation.views import Simulation

# The worst come first; whoever wants all of them asks for JSON.
_MOST = 10
_WIDEST = 120


def print_simulation(found: Simulation, *, zone: str) -> None:
    """Everything, on the clock of a zone."""
    _print_totals(found, zone)
    is_ascii = (sys.stdout.encoding or "ascii").lower().replace("-", "") not in ("utf8", "utf16")
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    click.echo()
    for line in chart(found.load, width=width, zone=zone, is_ascii=is_ascii):
        click.echo(line)
    _print_jobs(found)
    _print_part(
        "Collisions: more at once than a limit allows, so that some wait",
        _collisions(found, zone),
        found.totals.collisions,
    )
    _print_part("Bursts: many runs in one minute", _bursts(found, zone), found.totals.bursts)
    quiet = [f"{_local(one.at, zone)}  {one.job}  {one.policy}" for one in found.quiet]
    _print_part("Quiet hours", quiet, found.totals.skipped + found.totals.moved)
    changes = [
        f"{_local(one.at, zone)}  {one.timezone}  {one.in_words}: {_names(one.jobs, one.job_count)}"
        for one in found.clock_changes
    ]
    _print_part("Nights on which clocks change", changes, len(changes))


def _print_totals(found: Simulation, zone: str) -> None:
    click.secho(f"{_local(found.begin, zone)} to {_local(found.end, zone)}", bold=True)
    totals = found.totals
    click.echo(f"{totals.runs:,} runs of {totals.jobs:,} jobs" + _work(totals.busy_seconds))
    if found.is_cut:
        click.secho(f"There is more than is looked at: counted until {_local(found.complete_until, zone)}", fg="yellow")
    cost = found.cost
    if cost.known_jobs:
        unknown = f"; {cost.unknown_jobs} jobs without a record" if cost.unknown_jobs else ""
        click.echo(f"about ${cost.cost:.2f} and {cost.tokens:,} tokens, going by the latest runs{unknown}")


def _work(seconds: float) -> str:
    return f", {_in_words(seconds)} of work" if seconds else ""


def _print_jobs(found: Simulation) -> None:
    rows = [
        (
            one.job,
            Cell(f"{one.count:,}"),
            "-" if one.typical_seconds is None else _in_words(one.typical_seconds),
            "-" if one.cost is None else f"${one.cost:.2f}",
            "; ".join(one.notes),
        )
        for one in sorted(found.jobs, key=lambda one: (-one.count, one.job))[:_MOST]
    ]
    if rows:
        click.echo()
        print_table(("job", "runs", "each takes", "cost", ""), rows)
        _say_more(len(found.jobs))


def _collisions(found: Simulation, zone: str) -> list[str]:
    return [
        f"{_local(one.start, zone)}  {one.scope} {one.name or 'together'}: {one.wanted} wanted, {one.allowed} allowed"
        f"{_times(one.times)}: {_names(one.jobs, one.job_count)}"
        for one in found.collisions
    ]


def _bursts(found: Simulation, zone: str) -> list[str]:
    return [
        f"{_local(one.at, zone)}  {one.runs} runs{_times(one.times)}: {_names(one.jobs, one.job_count)}"
        for one in found.bursts
    ]


def _print_part(title: str, lines: Iterable[str], count: int) -> None:
    shown = list(lines)[:_MOST]
    if not shown:
        return
    click.secho(f"\n{title}", bold=True)
    for line in shown:
        click.echo(f"  {plain(line)}")
    _say_more(count)


def _say_more(count: int) -> None:
    if count > _MOST:
        click.secho(f"  and {count - _MOST:,} more: --json", dim=True)


def _local(at: datetime, zone: str) -> str:
    return wall_time(at.astimezone(zone_named(zone)))


def _names(names: Sequence[str], count: int) -> str:
    shown = ", ".join(names[:5])
    return shown if count <= len(names[:5]) else f"{shown} and {count - len(names[:5])} more"


def _times(times: int) -> str:
    return f", {times} times" if times > 1 else ""


def _in_words(seconds: float) -> str:
    """A stretch of time; fractions matter only where there is nothing else."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    return format_duration(timedelta(seconds=round(seconds)))
