"""How answers look: times on the reader's clock, states in colour, JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import click
import msgspec

from rota.cli.plain import plain
from rota.operations.views import JobView

COLOURS: Mapping[str, str] = {
    "succeeded": "green",
    "failed": "red",
    "permanent_failure": "red",
    "timed_out": "red",
    "lost": "red",
    "running": "cyan",
    "skipped": "yellow",
    "missed": "yellow",
    "paused": "yellow",
    "proposed": "magenta",
    "disabled": "bright_black",
}


def print_json(value: object) -> None:
    """The documented fields; instants are ISO 8601."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_line(value: object) -> None:
    """One of a stream: an object on a line of its own."""
    click.echo(msgspec.json.encode(value).decode())


def show_fields(rows: Mapping[str, object]) -> None:
    """Labels and values, a line each; what is not there is left out."""
    width = max((len(label) for label in rows), default=0)
    for label, value in rows.items():
        if value is not None and value != "":
            click.echo(f"{click.style(label.ljust(width), dim=True)}  {plain(str(value))}")


def moment(at: datetime | None, now: datetime) -> str:
    """A time as people read it: on their clock, and how far away."""
    if at is None:
        return "-"
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S} ({distance((at - now).total_seconds())})"


def brief(at: datetime | None, now: datetime) -> str:
    """The same for tables: without the date or the year where that is the present one."""
    if at is None:
        return "-"
    local, today = at.astimezone(), now.astimezone()
    if local.date() == today.date():
        shown = local.strftime("%H:%M:%S")
    else:
        shown = local.strftime("%m-%d %H:%M" if local.year == today.year else "%Y-%m-%d %H:%M")
    return f"{shown} ({distance((at - now).total_seconds())})"


def planned_at(job: JobView) -> datetime | None:
    """When a job runs next; what is switched off does not."""
    return None if job.status in ("disabled", "proposed") else job.next_run_at


def distance(seconds: float) -> str:
    """How far away a time is, in one unit."""
    size = abs(seconds)
    for limit, unit, name in ((90, 1, "s"), (5400, 60, "m"), (129_600, 3600, "h"), (float("inf"), 86_400, "d")):
        if size < limit:
            count = round(size / unit)
            return "now" if not count else f"in {count}{name}" if seconds > 0 else f"{count}{name} ago"
    return ""
