"""``rota next``: the next due times of a schedule."""

from __future__ import annotations

from datetime import datetime

import click

from rota.cli.schedule_input import print_json, schedule_options, with_preview
from rota.cli.shown import print_heading, print_times
from rota.operations.preview import Preview

_EPILOG = """\b
Examples:
  rota next "0 9 * * 1-5" --timezone Europe/Berlin -n 5
  rota next --every 90m -n 3
  rota next --monthly "last fri 17:00" --json
  rota next "30 2 * * *" --tz America/New_York --after 2027-03-13
"""


@click.command("next", epilog=_EPILOG)
@schedule_options
@click.option("-n", "count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many.")
@with_preview
def command(shown: Preview, *, now: datetime, as_json: bool) -> None:
    """Show the next due times of SCHEDULE.

    SCHEDULE is a cron expression, or a line such as "every 5m", "daily 09:00", "weekly mon,thu 09:00" or
    "monthly last fri 17:00".
    """
    if as_json:
        print_json(shown)
        return
    print_heading(shown)
    print_times(shown, now=now)
