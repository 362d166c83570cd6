"""``rota hint``: advice on timing, given and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click

from rota.cli.arguments import job_argument
from rota.cli.command import Group
from rota.cli.shown import brief, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.table import print_table
from rota.cli.times import read_time_or_none
from rota.operations.hints import HINT_LIFE, HintKind, HintView, list_hints, revert_hint, set_hint


@click.group(
    "hint",
    cls=Group,
    examples=('rota hint set report --every 5m --for 1h --because "the queue is long"', "rota hint list"),
)
def command() -> None:
    """Show, give and take back advice on when jobs run."""


@command.command("list", examples=("rota hint list", "rota hint list report --json"))
@job_argument(is_required=False)
@store_command("hint.list")
async def list_all(site: Site, *, job: str | None, as_json: bool) -> None:
    """Show the hints that count now, of JOB or of all jobs."""
    found = (await list_hints(site, job=job)).items
    if as_json:
        print_json(found)
    elif found:
        _print(found, site.clock.now())
    else:
        click.echo("No hint counts now.")


_SET = (
    'rota hint set report --every 5m --for 1h --because "the queue is long"',
    'rota hint set report --at 2026-12-01T09:00 --for 2d --because "the release"',
    'rota hint set report --pause-until 2026-12-01T09:00 --because "maintenance"',
)


@command.command("set", examples=_SET)
@job_argument()
@click.option("--every", metavar="DURATION", help="Run so often.")
@click.option("--at", metavar="TIME", help="Run once at this time.")
@click.option("--pause-until", metavar="TIME", help="Do not run before this time.")
@click.option("--for", "ttl", default=HINT_LIFE, show_default=True, metavar="DURATION", help="How long it counts.")
@click.option("--because", required=True, metavar="TEXT", help="Why.")
@store_command("hint.set")
async def set_one(  # noqa: PLR0913 - a hint of each kind
    site: Site,
    *,
    job: str,
    every: str | None,
    at: str | None,
    pause_until: str | None,
    ttl: str,
    because: str,
    as_json: bool,
) -> None:
    """Advise JOB to run every so often, once at a time, or not before one. Takes the place of one of its kind."""
    if sum(one is not None for one in (every, at, pause_until)) != 1:
        raise click.UsageError("Give one of --every, --at and --pause-until.")
    hint = await set_hint(
        site,
        job=job,
        every=every,
        at=read_time_or_none(at, "at"),
        pause_until=read_time_or_none(pause_until, "pause_until"),
        ttl=ttl,
        reason=because,
    )
    if as_json:
        print_json(hint)
    else:
        _print((hint,), site.clock.now())


@command.command("revert", examples=("rota hint revert report", "rota hint revert report --kind pause"))
@job_argument()
@click.option("--kind", type=click.Choice([kind.value for kind in HintKind]), help="Only those of this kind.")
@store_command("hint.revert")
async def revert(site: Site, *, job: str, kind: str | None, as_json: bool) -> None:
    """Take back the hints of JOB. Its next time is decided again at once."""
    gone = (await revert_hint(site, job=job, kind=None if kind is None else HintKind(kind))).items
    if as_json:
        print_json(gone)
        return
    for hint in gone:
        click.echo(f"Took back: {_advice(hint, site.clock.now())} ({hint.reason})")


def _print(found: Sequence[HintView], now: datetime) -> None:
    rows = [
        (
            one.job,
            _advice(one, now),
            one.author,
            one.reason,
            brief(one.expires_at, now),
            f"{brief(one.next_run_at, now)}, {one.source}",
        )
        for one in found
    ]
    print_table(("job", "advice", "by", "because", "counts until", "next run"), rows)


def _advice(hint: HintView, now: datetime) -> str:
    if hint.interval is not None:
        return f"every {hint.interval}"
    return f"{'not before' if hint.kind is HintKind.PAUSE else 'once at'} {brief(hint.at, now)}"
