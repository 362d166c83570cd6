"""How changes to a fleet look: + added, ~ edited, - removed, each with what becomes of its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click
import msgspec

from rota.cli.plain import near, one_line, plain
from rota.errors import Problem
from rota.ledger.fleets import LimitChange
from rota.operations.fleets import FieldChange, FleetChanges, JobChange

_SIGNS = {
    "added": ("+", "green"),
    "edited": ("~", "yellow"),
    "renamed": ("~", "yellow"),
    "removed": ("-", "red"),
    "enabled": ("~", "yellow"),
    "disabled": ("~", "yellow"),
}


def print_changes(changes: FleetChanges) -> None:
    """What a file changes, or has changed."""
    for change in changes.changes:
        _print_change(change, changes.file)
    for limit in changes.limits:
        _print_limit(limit)
    counts = Counter(change.change for change in changes.changes)
    words = [f"{count} {word}" for word, count in counts.items()]
    words += [f"{len(changes.limits)} resized"] if changes.limits else []
    verb = "Applied" if changes.is_applied else "Would change"
    told = (
        f"{verb}: {', '.join(words)}" if words else "Nothing changes" if not changes.is_applied else "Nothing changed"
    )
    click.echo(f"{told}; {changes.unchanged} unchanged. Fleet {changes.fleet}, {near(changes.file)}")


def print_warnings(warnings: Sequence[Problem]) -> None:
    for warning in warnings:
        shown = msgspec.structs.replace(warning, file=near(warning.file))
        click.secho(f"Warning: {plain(str(shown))}", fg="yellow", err=True)


def _print_change(change: JobChange, file: str) -> None:
    sign, colour = _SIGNS[change.change]
    was = f" (was {change.renamed_from})" if change.renamed_from else ""
    word = f" {change.change}" if change.change in ("enabled", "disabled") else ""
    place = click.style(f"  {near(file)}:{change.line}", dim=True) if change.line else ""
    click.echo(click.style(f"{sign} {change.job}{was}{word}", fg=colour, bold=True) + place)
    if change.change != "removed":
        for field in change.fields:
            click.echo(f"    {_field(field, is_new=change.change == 'added')}")


def _print_limit(limit: LimitChange) -> None:
    sized = FieldChange("size" if limit.scope == "pool" else "max_concurrent", limit.before, limit.after)
    click.secho(f"~ {limit.scope} {limit.name}", fg="yellow", bold=True)
    click.echo(f"    {_field(sized, is_new=limit.before is None)}")


def _field(field: FieldChange, *, is_new: bool) -> str:
    after = click.style(_value(field.after), fg="green")
    if is_new:
        return f"{field.field}: {_value(field.after)}"
    return f"{field.field}: {click.style(_value(field.before), fg='red')} → {after}"


def _value(value: object) -> str:
    """A word as the file has it, on one line."""
    if value is None:
        return "(not there)"
    return one_line(value if isinstance(value, str) else msgspec.json.encode(value).decode())
