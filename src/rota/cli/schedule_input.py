"""The schedule that a command is about: one text, or one of the options, and a zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from rota.app import machine_zone, system_now
from rota.cli.times import read_time
from rota.core.schedule import Schedule, parse_schedule
from rota.core.zone import zone_named
from rota.operations.preview import Preview, preview

_Command = TypeVar("_Command", bound=Callable[..., object])

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
    """The options that give a schedule, its zone, and the time to count from."""
    command = click.option("--after", metavar="TIME", help="Count from this time instead of now.")(command)
    command = click.option("--timezone", "--tz", "zone", metavar="ZONE", help="An IANA zone. Default: this machine's.")(
        command
    )
    return by_options(command)


def by_options(command: _Command) -> _Command:
    """The options that give a schedule."""
    for name, metavar, text, _ in reversed(OPTIONS):
        command = click.option(f"--{name}", f"by_{name}", metavar=metavar, help=text)(command)
    return command


def schedule_texts(options: dict[str, Any]) -> list[str]:
    """The schedules that the options give, a line each."""
    texts = [options["schedule"]] if options.get("schedule") is not None else []
    return texts + [
        prefix + options[f"by_{name}"] for name, _, _, prefix in OPTIONS if options.get(f"by_{name}") is not None
    ]


def preview_of(options: dict[str, Any], *, count: int) -> tuple[Preview, datetime]:
    """The preview of the one schedule that the options give, and the time that it counts from."""
    zone = machine_zone() if options["zone"] is None else options["zone"]
    zone_named(zone)
    now = system_now() if options["after"] is None else read_time(options["after"], "after", zone)
    return preview(_one_schedule(options, now), now=now, zone=zone, count=count), now


def _one_schedule(options: dict[str, Any], now: datetime) -> Schedule:
    texts = schedule_texts(options)
    if len(texts) != 1:
        names = ", ".join(f"--{name}" for name, *_ in OPTIONS)
        raise click.UsageError(f"Give one schedule: a text, or one of {names}.")
    return parse_schedule(texts[0], now=now)
