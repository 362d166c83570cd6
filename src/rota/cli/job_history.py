"""``rota job history``: how a job has fared, and how often it will run."""

from __future__ import annotations

import click

from rota.cli.arguments import job_argument
from rota.cli.command import Command
from rota.cli.job_outcomes import strip
from rota.cli.shown import print_json, show_fields
from rota.cli.store_command import Site, store_command
from rota.cli.table import Cell, print_table
from rota.operations.history import DayTally, JobHistory, show_history

_DAYS = 14


@click.command("history", cls=Command, examples=("rota job history report", "rota job history report --json"))
@job_argument()
@store_command("job.history")
async def command(site: Site, *, job: str, as_json: bool) -> None:
    """Show how the runs of a job ended, how long they take, and the latest days; as JSON two years of days."""
    found = await show_history(site, job=job)
    if as_json:
        print_json(found)
    else:
        _print(found)


def _print(found: JobHistory) -> None:
    show_fields(
        {
            "name": found.job,
            "half take at most": _seconds(found.typical),
            "95 of 100 at most": _seconds(found.slow),
            "the past year": f"{_runs(found):,} runs on {len(found.days)} days" if found.days else "nothing yet",
            "planned": f"{sum(day.count for day in found.planned):,} times until {found.planned_until:%Y-%m-%d}",
        }
    )
    click.echo(f"\n{strip(found.runs)}")
    if found.days:
        click.echo()
        print_table(
            ("day", "succeeded", "failed", "skipped", "missed", "cancelled", "took"),
            (_row(day) for day in found.days[-_DAYS:]),
        )


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:,.2f}s"


def _runs(found: JobHistory) -> int:
    return sum(day.succeeded + day.failed + day.skipped + day.missed + day.cancelled for day in found.days)


def _row(day: DayTally) -> tuple[Cell | str, ...]:
    failed = Cell(str(day.failed), "red") if day.failed else Cell("0")
    return (
        day.day,
        str(day.succeeded),
        failed,
        str(day.skipped),
        str(day.missed),
        str(day.cancelled),
        f"{day.seconds:.2f}s",
    )
