"""``rota next``: the next due times of a schedule, of a job, or of all jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from rota.cli.command import Command
from rota.cli.completing import complete_jobs
from rota.cli.preview_shown import print_heading, print_times, relative, wall_time
from rota.cli.schedule_input import preview_of, schedule_options, schedule_texts
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.cli.table import Cell, print_table
from rota.core.definition import check_name
from rota.core.schedule import parse_schedule
from rota.core.zone import zone_named
from rota.errors import InputError, NotFoundError
from rota.operations.coming import ComingTime, coming_times_of_job, list_coming

_EXAMPLES = (
    "rota next",
    "rota next nightly-report -n 3",
    'rota next "0 9 * * 1-5" --timezone Europe/Berlin -n 5',
    "rota next --every 90m -n 3",
    'rota next --monthly "last fri 17:00" --json',
    'rota next "30 2 * * *" --tz America/New_York --after 2027-03-13',
)
_COUNT = 5


@click.command("next", cls=Command, examples=_EXAMPLES)
@click.argument("schedule", required=False, metavar="[SCHEDULE|JOB]", shell_complete=complete_jobs)
@schedule_options
@click.option("-n", "count", type=click.IntRange(1, 1000), default=_COUNT, show_default=True, help="How many.")
@store_command("schedule.preview", "job.next", "fleet.next", is_open=False)
async def command(site: Site, *, count: int, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - click's own
    """Show the next due times of SCHEDULE, of JOB, or of all jobs together.

    SCHEDULE is a cron expression, or a line such as "every 5m", "daily 09:00", "weekly mon,thu 09:00" or
    "monthly last fri 17:00". Those of jobs are as things stand now, as if every run took no time.
    """
    if not _is_about_jobs(options, site):
        shown, now = preview_of(options, count=count)
        if as_json:
            print_json(shown)
            return
        print_heading(shown)
        print_times(shown, now=now)
        return
    if options["after"] is not None:
        raise click.UsageError("--after belongs to a schedule: jobs are shown as they stand now.")
    coming = await _coming(site, options["schedule"], count)
    if as_json:
        print_json(coming)
    elif coming:
        _print(coming, zone=options["zone"], now=site.clock.now())
    else:
        click.echo(f"No due time is planned. Why: rota why {options['schedule'] or 'JOB'}")


def _is_about_jobs(options: dict[str, Any], site: Site) -> bool:
    """Nothing at all means all jobs; a text that could be a name and is no schedule means one."""
    if options["schedule"] is None or len(schedule_texts(options)) != 1:
        return not schedule_texts(options)
    try:
        parse_schedule(options["schedule"], now=site.clock.now())
    except InputError:
        return _could_be_name(options["schedule"])
    return False


def _could_be_name(text: str) -> bool:
    try:
        check_name("name", text)
    except InputError:
        return False
    return True


async def _coming(site: Site, job: str | None, count: int) -> Sequence[ComingTime]:
    await site.store.open()
    try:
        await site.clock.agree(site.store)
        if job is None:
            return (await list_coming(site, count=count)).items
        return (await coming_times_of_job(site, job=job, count=count)).items
    except NotFoundError as error:
        raise _neither(job or "", site.clock.now(), error) from None
    finally:
        await site.store.close()


def _neither(text: str, now: datetime, missing: NotFoundError) -> Exception:
    """What is neither a job nor a schedule could have been meant as either."""
    try:
        parse_schedule(text, now=now)
    except InputError as error:
        message = f'There is no job "{text}", and it is no schedule: {error}'
        return InputError(message, field=error.field, value=error.value, expected=error.expected, example=error.example)
    return missing


def _print(coming: Sequence[ComingTime], *, zone: str | None, now: datetime) -> None:
    rows = [
        (
            wall_time(one.at.astimezone(zone_named(zone or one.timezone))),
            Cell(relative(one.at - now), "bright_black"),
            one.job,
            one.source,
        )
        for one in coming
    ]
    print_table(("due", "", "job", "source"), rows)
