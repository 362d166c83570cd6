"""The schedule that a command is about: one text, or one of the options, and a zone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any, NoReturn, TypeVar, cast

import click
import msgspec

from rota.app import machine_zone, system_now
from rota.core.schedule import Once, Schedule, once_instant, parse_instant, parse_schedule
from rota.core.zone import zone_named
from rota.errors import InputError
from rota.operations.preview import Preview, preview

_Command = TypeVar("_Command", bound=Callable[..., object])

BAD_INPUT = 2
OPTIONS = (
    ("cron", "EXPRESSION", 'Five cron fields or a shorthand, e.g. "0 9 * * 1-5" or @daily.', ""),
    ("every", "DURATION", "An interval, e.g. 5m, 1h30m.", "every "),
    ("daily", "HH:MM", "Every day, e.g. 09:00.", "daily "),
    ("weekly", "'DAYS HH:MM'", "On weekdays, e.g. 'mon,thu 09:00'.", "weekly "),
    ("monthly", "'DAY HH:MM'", "Monthly, e.g. '31 09:00', 'last 09:00', 'first mon 09:00'.", "monthly "),
    ("at", "TIME", "Once, e.g. 2026-12-01T09:00.", "once "),
    ("in", "DURATION", "Once, after a while, e.g. 20m.", "in "),
)


def schedule_options(command: _Command) -> _Command:
    """Add the schedule argument, its alternatives, the zone, the start and ``--json``."""
    decorators: list[Callable[[_Command], _Command]] = [
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--after", metavar="TIME", help="Count from this time instead of now."),
        click.option("--timezone", "--tz", "zone", metavar="ZONE", help="An IANA zone. Default: this machine's."),
        *(
            click.option(f"--{name}", f"by_{name}", metavar=metavar, help=text)
            for name, metavar, text, _ in reversed(OPTIONS)
        ),
        click.argument("schedule", required=False),
    ]
    for decorator in decorators:
        command = decorator(command)
    return command


def with_preview(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the preview of its schedule, and turn what cannot be accepted into a message and exit code 2."""

    @wraps(command)
    def run(**options: Any) -> None:  # noqa: ANN401 - click's own
        as_json = bool(options["as_json"])
        try:
            shown, now = _preview(options)
        except InputError as error:
            _refuse(error, as_json=as_json)
        command(shown, now=now, as_json=as_json)

    return run


def print_json(shown: Preview) -> None:
    """The documented fields, instants as ISO 8601."""
    click.echo(json.dumps(msgspec.to_builtins(shown), indent=2, ensure_ascii=False))


def _preview(options: dict[str, Any]) -> tuple[Preview, datetime]:
    zone = machine_zone() if options["zone"] is None else options["zone"]
    zone_named(zone)
    now = _start(options["after"], zone)
    schedule = one_schedule(options, now)
    return preview(schedule, now=now, zone=zone, count=options.get("count") or 5), now


def _start(after: str | None, zone: str) -> datetime:
    if after is None:
        return system_now()
    return once_instant(Once(parse_instant(after, field="after")), zone)


def one_schedule(options: dict[str, Any], now: datetime) -> Schedule:
    """The one schedule that the options give."""
    texts = [options["schedule"]] if options["schedule"] is not None else []
    texts += [prefix + options[f"by_{name}"] for name, _, _, prefix in OPTIONS if options[f"by_{name}"] is not None]
    texts += ["manual"] if options.get("manual") else []
    if len(texts) != 1:
        names = ", ".join(f"--{name}" for name, *_ in OPTIONS)
        raise click.UsageError(f"Give one schedule: a text, or one of {names}.")
    return parse_schedule(cast("str", texts[0]), now=now)


def _refuse(error: InputError, *, as_json: bool) -> NoReturn:
    if as_json:
        fields = {"field": error.field, "value": error.value, "expected": error.expected, "example": error.example}
        click.echo(json.dumps({"error": {"message": str(error), **fields}}, ensure_ascii=False), err=True)
    else:
        click.echo(f"{click.style('Error:', fg='red', bold=True)} {error}", err=True)
    sys.exit(BAD_INPUT)
