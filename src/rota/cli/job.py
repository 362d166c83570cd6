"""``rota job``: add, list, show, pause, resume, enable, disable, remove, run."""

from __future__ import annotations

import getpass
from datetime import datetime, timedelta
from typing import Any

import click
import msgspec

from rota.app import machine_zone, system_now
from rota.cli.following import follow
from rota.cli.schedule_input import OPTIONS, one_schedule
from rota.cli.store_command import moment, print_json, store_command
from rota.core.decision import describe
from rota.core.definition import (
    Action,
    CommandAction,
    HttpAction,
    action_kind,
    default_retry,
    define,
    with_default_backoff,
)
from rota.core.duration import parse_duration
from rota.core.job import Timing
from rota.core.overlap import Overlap, OverlapRules
from rota.core.quiet import parse_quiet
from rota.core.schedule import Once, once_instant, parse_instant
from rota.core.settlement import SettleRules
from rota.errors import ScheduleError
from rota.ledger.site import Site
from rota.operations import jobs

_ADD = """\b
Examples:
  rota job add tick --every 1s -- /bin/sh -c 'echo tick'
  rota job add report --cron "0 9 * * 1-5" --timezone Europe/Berlin -- ./report.sh
  rota job add ping --daily 09:00 --url https://example.org/ping
"""


@click.group("job")
def command() -> None:
    """Work with jobs."""


def _schedule_options(function: Any) -> Any:  # noqa: ANN401 - a decorator
    for name, metavar, text, _ in reversed(OPTIONS):
        function = click.option(f"--{name}", f"by_{name}", metavar=metavar, help=text)(function)
    return function


@command.command("add", epilog=_ADD)
@click.argument("name")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@_schedule_options
@click.option("--schedule", metavar="LINE", help='Any schedule as one line, e.g. "after build on success".')
@click.option("--manual", is_flag=True, help="Only run by hand.")
@click.option("--timezone", "--tz", "zone", metavar="ZONE", help="An IANA zone. Default: this machine's.")
@click.option("--agent", help="The agent that owns the job.")
@click.option("--pool", help="The pool whose slots its runs take.")
@click.option("--key", "concurrency_key", help="Runs with the same key do not overlap.")
@click.option("--cwd", type=click.Path(), help="Where the command runs.")
@click.option(
    "--env", "env", multiple=True, metavar="NAME=VALUE", help="A variable; env:NAME and file:PATH are secrets."
)
@click.option("--shell", is_flag=True, help="Let /bin/sh read the command.")
@click.option("--stdin", help="What the command reads.")
@click.option("--url", help="Send a request instead of running a command.")
@click.option("--method", default="GET", show_default=True, help="The method of the request.")
@click.option("--header", multiple=True, metavar="NAME: VALUE", help="A header of the request.")
@click.option("--body", help="The body of the request.")
@click.option("--timeout", metavar="DURATION", help="How long a run may take.")
@click.option("--queue-timeout", metavar="DURATION", help="How long a run may wait.")
@click.option(
    "--overlap", type=click.Choice([policy.value for policy in Overlap]), default=Overlap.SKIP.value, show_default=True
)
@click.option("--retry", "retries", type=click.IntRange(0, 100), default=0, help="New attempts after a failure.")
@click.option("--pause-after", type=click.IntRange(1), help="Pause after so many failures in a row.")
@click.option("--quiet", multiple=True, metavar="HOURS", help='Quiet hours, e.g. "22:00-07:00", sat.')
@click.option("--from", "begins", metavar="TIME", help="Not before.")
@click.option("--until", metavar="TIME", help="Not after.")
@click.option("--max-runs", type=click.IntRange(1), help="End after so many.")
@click.option("--stagger", metavar="DURATION", help="Spread by name.")
@store_command
async def add(site: Site, *, name: str, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Save a new job NAME that runs ARGV, and show its next five due times."""
    zone = options["zone"] or machine_zone()
    now = system_now()
    action = _action(options)
    timing = Timing(
        schedule=one_schedule(options, now),
        zone=zone,
        begins_at=_instant(options["begins"], "from", zone),
        until=_instant(options["until"], "until", zone),
        max_runs=options["max_runs"],
        quiet=tuple(parse_quiet(text) for text in options["quiet"]),
        stagger=_duration(options["stagger"], "stagger") or timedelta(),
    )
    kind = action_kind(action)
    given: dict[str, object] = {
        "agent": options["agent"],
        "concurrency_key": options["concurrency_key"],
        "queue_timeout": _duration(options["queue_timeout"], "queue_timeout"),
        "overlap": OverlapRules(Overlap(options["overlap"])),
    }
    if options["pool"]:
        given["pool"] = options["pool"]
    if options["timeout"]:
        given["timeout"] = _duration(options["timeout"], "timeout")
    if options["retries"] or options["pause_after"]:
        retry = msgspec.structs.replace(default_retry(action), max=options["retries"])
        given["settle"] = SettleRules(retry=retry, pause_after=options["pause_after"])
    saved = await jobs.add_job(site, define(name, with_default_backoff(timing, kind), action, **given))
    if as_json:
        print_json(saved)
        return
    click.echo(f"Saved {saved.name} ({saved.id})")
    for warning in saved.warnings:
        click.secho(f"Warning: {warning}", fg="yellow")
    for at in saved.next_times:
        click.echo(f"  {moment(at, now)}")


def _action(options: dict[str, Any]) -> Action:
    if options["url"]:
        if options["argv"]:
            raise click.UsageError("Give a command after --, or --url, not both.")
        headers = dict(_pair(header, ":", "header", "Accept: text/plain") for header in options["header"])
        return HttpAction(
            url=options["url"],
            method=options["method"].upper(),
            headers=headers,
            body=options["body"],
        )
    if not options["argv"]:
        raise click.UsageError("Give the command after --, or --url.")
    pairs = dict(_pair(pair, "=", "env", "LANG=C") for pair in options["env"])
    return CommandAction(
        argv=tuple(options["argv"]),
        cwd=options["cwd"],
        env=pairs,
        stdin=options["stdin"],
        shell=options["shell"],
    )


def _pair(text: str, sign: str, field: str, example: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        raise ScheduleError(field=field, value=text, expected=f"a name, {sign} and a value", example=example)
    return (name.strip(), value.strip() if sign == ":" else value)


def _duration(text: str | None, field: str) -> timedelta | None:
    return None if text is None else parse_duration(text, field=field)


def _instant(text: str | None, field: str, zone: str) -> datetime | None:
    return None if text is None else once_instant(Once(parse_instant(text, field=field)), zone)


@command.command("list")
@store_command
async def list_jobs(site: Site, *, as_json: bool) -> None:
    """Show every job, its status and when it runs next."""
    found = await jobs.list_jobs(site)
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("No jobs yet. Add one: rota job add tick --every 1m -- /bin/echo tick")
    now = site.clock.now()
    for one in found:
        mark = click.style(f"  {one.failure_count} failed in a row", fg="red") if one.failure_count else ""
        click.echo(f"{one.name:24} {one.status:9} {one.schedule:28} next {moment(one.next_run_at, now)}{mark}")


@command.command("show")
@click.argument("name")
@store_command
async def show(site: Site, *, name: str, as_json: bool) -> None:
    """Show one job: its definition, where it stands, and why its next time was chosen."""
    now = site.clock.now()
    one = jobs.view(now, await jobs.find_job(site, name), is_whole=True)
    if as_json:
        print_json(one)
        return
    rows = {
        "name": one.name,
        "id": one.id,
        "agent": one.agent,
        "status": one.status + (f" ({one.pause_note})" if one.pause_note else ""),
        "schedule": f"{one.schedule} ({one.timezone})",
        "next": f"{moment(one.next_run_at, now)}, from {one.source}",
        "last run": moment(one.last_run_at, now),
        "last error": one.last_error,
        "failures": one.failure_count,
    }
    for label, value in rows.items():
        if value is not None:
            click.echo(f"{label:11} {value}")
    for line in describe(one.trail):
        click.echo(f"            {line}")


@command.command("pause")
@click.argument("name")
@click.option("--until", metavar="TIME", help="The end of the pause. Default: until resumed.")
@click.option("--note", help="Why.")
@store_command
async def pause(site: Site, *, name: str, until: str | None, note: str | None, as_json: bool) -> None:
    """Pause a job. Queued runs wait, running ones go on, and rota job run still works."""
    _tell(await jobs.pause_job(site, name, until=_instant(until, "until", machine_zone()), note=note), as_json=as_json)


@command.command("resume")
@click.argument("name")
@store_command
async def resume(site: Site, *, name: str, as_json: bool) -> None:
    """End a pause."""
    _tell(await jobs.resume_job(site, name), as_json=as_json)


@command.command("enable")
@click.argument("name")
@store_command
async def enable(site: Site, *, name: str, as_json: bool) -> None:
    """Switch a job on."""
    _tell(await jobs.enable_job(site, name, is_enabled=True), as_json=as_json)


@command.command("disable")
@click.argument("name")
@store_command
async def disable(site: Site, *, name: str, as_json: bool) -> None:
    """Switch a job off, until it is enabled again."""
    _tell(await jobs.enable_job(site, name, is_enabled=False), as_json=as_json)


def _tell(one: jobs.JobView, *, as_json: bool) -> None:
    if as_json:
        print_json(one)
    else:
        click.echo(f"{one.name}: {one.status}")


@command.command("remove")
@click.argument("name")
@store_command
async def remove(site: Site, *, name: str, as_json: bool) -> None:
    """Remove a job. Its queued runs are cancelled, its history stays."""
    removed = await jobs.remove_job(site, name)
    if as_json:
        print_json({"removed": removed})
    else:
        click.echo(f"Removed {removed}. Its runs are still there: rota runs")


@command.command("run")
@click.argument("name")
@click.option("--follow", "-f", "is_followed", is_flag=True, help="Show the output until the end; exit as the run did.")
@click.option("--key", metavar="KEY", help="Asked again with the same key, the first run is meant.")
@click.option("--input", "input_text", metavar="TEXT", help="The run's input.")
@store_command
async def run(
    site: Site, *, name: str, is_followed: bool, key: str | None, input_text: str | None, as_json: bool
) -> int | None:
    """Run a job now. Prints the id of the run at once."""
    requested = await jobs.run_job(site, name, key=key, input_text=input_text)
    if as_json and not is_followed:
        print_json({"run_id": requested.run_id, "is_new": requested.is_new, "by": getpass.getuser()})
    elif not as_json:
        click.echo(requested.run_id, err=is_followed)
    return await follow(site, requested.run_id, as_json=as_json) if is_followed else None
