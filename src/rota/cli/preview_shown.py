"""How a schedule looks: its words, its next times, and what clock changes do to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import click

from rota.cli.plain import plain
from rota.core.duration import format_duration
from rota.operations.preview import DueTime, Preview

_NOW = timedelta(seconds=1)


def print_heading(shown: Preview) -> None:
    print_words(shown.in_words, shown.warnings, zone=shown.timezone)


def print_words(in_words: str, warnings: Sequence[str], *, zone: str) -> None:
    """A schedule in words, and what a person should be warned of."""
    click.secho(f"{in_words[0].upper()}{in_words[1:]}", bold=True, nl=False)
    click.echo(f" ({zone})")
    for warning in warnings:
        click.secho(f"Warning: {plain(warning)}", fg="yellow")


def print_times(shown: Preview, *, now: datetime) -> None:
    if not shown.times:
        click.echo(
            "No due time: it only runs when something asks for it." if shown.type != "once" else "No due time left."
        )
    print_due_times(shown.times, now=now)


def print_due_times(times: Sequence[DueTime], *, now: datetime) -> None:
    for due in times:
        click.echo(f"  {_line(due, now)}")


def _line(due: DueTime, now: datetime) -> str:
    note = click.style(f"  ! {due.note}", fg="yellow") if due.note else ""
    return f"{wall_time(due.local)}  {click.style(relative(due.at - now), dim=True)}{note}"


def wall_time(local: datetime) -> str:
    """A time on the clock of its zone; seconds only where there are any."""
    shown = local.strftime("%a %Y-%m-%d %H:%M:%S" if local.second else "%a %Y-%m-%d %H:%M")
    return f"{shown} {local.tzname()}"


def relative(wait: timedelta) -> str:
    """A wait in its two largest units."""
    if wait < _NOW:
        return "now"
    # Seconds matter only for what is near.
    unit = timedelta(seconds=1) if wait < timedelta(hours=1) else timedelta(minutes=1)
    text = format_duration(wait // unit * unit)
    days, _, rest = text.partition("d")
    return f"in {days}d" if rest and int(days) >= 7 else f"in {text}"
