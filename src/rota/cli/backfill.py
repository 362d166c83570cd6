"""``rota backfill``: the due times of a stretch of the past, run after all."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import click
import msgspec

from rota.cli.arguments import job_argument
from rota.cli.asking import is_agreed, is_terminal
from rota.cli.command import Command
from rota.cli.plain import plain
from rota.cli.refusal import FAILED
from rota.cli.shown import moment, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.times import read_time
from rota.core.run import FAILURES, LIVE
from rota.operations.backfilling import (
    PER_MINUTE,
    BackfillPreview,
    backfill_progress,
    preview_backfill,
    start_backfill,
)
from rota.operations.jobs import show_job
from rota.operations.runs import show_run
from rota.operations.views import RunView

_EXAMPLES = (
    "rota backfill report --from 2026-11-01 --to 2026-11-08",
    "rota backfill report --from 2026-11-01 --to 2026-11-08 --per-minute 6 --yes --detach",
)
_LOOK_EVERY = timedelta(milliseconds=500)


@click.command("backfill", cls=Command, examples=_EXAMPLES)
@job_argument()
@click.option("--from", "begins", required=True, metavar="TIME", help="The first time, by the job's clock.")
@click.option("--to", "ends", required=True, metavar="TIME", help="The end, which no longer belongs to it.")
@click.option(
    "--per-minute", type=click.IntRange(1, 6_000), default=PER_MINUTE, show_default=True, help="How many start."
)
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.option("--detach", "is_detached", is_flag=True, help="Do not wait for the runs.")
@store_command("backfill.preview", "backfill.start")
async def command(  # noqa: PLR0913 - what, from when to when, and how
    site: Site,
    *,
    job: str,
    begins: str,
    ends: str,
    per_minute: int,
    is_sure: bool,
    is_detached: bool,
    as_json: bool,
) -> int:
    """Run the due times of JOB in a stretch of the past that have not run. They wait behind all other work.

    On a terminal it shows how many there are and asks, unless --yes is given; then it waits until all have ended.
    Exit 1 if some failed.
    """
    zone = (await show_job(site, job=job)).timezone
    begin, end = read_time(begins, "from", zone), read_time(ends, "to", zone)
    planned = await preview_backfill(site, job=job, begin=begin, end=end, per_minute=per_minute)
    if not as_json:
        _print(site, planned)
    if planned.to_run and not is_sure and is_terminal() and not is_agreed(f"Run {planned.to_run}?"):
        click.echo("Nothing was started.", err=True)
        return FAILED
    started = await start_backfill(site, job=job, begin=begin, end=end, per_minute=per_minute)
    ended: Sequence[RunView] = ()
    if started.run_ids and not is_detached:
        ended = await _follow(site, started.run_ids)
    states = dict(Counter(run.state for run in ended))
    if as_json:
        print_json({**msgspec.to_builtins(started), "states": states})
    elif states:
        click.echo(", ".join(f"{count} {state}" for state, count in states.items()))
    return FAILED if any(run.state in FAILURES for run in ended) else 0


def _print(site: Site, planned: BackfillPreview) -> None:
    now = site.clock.now()
    click.echo(f"{planned.job}: {planned.due} due times, {planned.already_ran} ran already, {planned.to_run} to run")
    if planned.to_run:
        click.echo(f"  {moment(planned.first, now)} to {moment(planned.last, now)}; starts spread over {planned.takes}")


async def _follow(site: Site, run_ids: Sequence[str]) -> Sequence[RunView]:
    """Wait until every run has ended."""
    for line in (await show_run(site, run=run_ids[0])).waits_for:
        click.echo(f"The first one waits: {plain(line)}", err=True)
    try:
        with click.progressbar(
            length=len(run_ids), label="runs", file=sys.stderr, hidden=not sys.stderr.isatty()
        ) as bar:
            while True:
                found = (await backfill_progress(site, run_ids)).items
                done = sum(run.state not in LIVE for run in found)
                bar.update(done - bar.pos)
                if done == len(found):
                    return found
                await site.clock.wait(asyncio.Event(), until=site.clock.now() + _LOOK_EVERY)
    except asyncio.CancelledError:
        click.echo("\nThe runs go on by themselves. See them: rota runs --cause backfill", err=True)
        raise
