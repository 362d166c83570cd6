"""``rota audit``: who changed what."""

from __future__ import annotations

import click
import msgspec

from rota.cli.command import Command
from rota.cli.completing import complete_jobs
from rota.cli.pages import count_option, gather
from rota.cli.shown import brief, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.table import print_table
from rota.operations.auditing import AuditView, list_audit

_EXAMPLES = ("rota audit", "rota audit report -n 5", "rota audit --json")


@click.command("audit", cls=Command, examples=_EXAMPLES)
@click.argument("subject", required=False, shell_complete=complete_jobs)
@click.option("--contains", metavar="TEXT", help="Only subjects whose name has this in it.")
@click.option("--after", metavar="ID", help="Only those before this one, as a list goes on.")
@count_option(20)
@click.option("--all", "is_all", is_flag=True, help="All there are.")
@store_command("audit.list")
async def command(
    site: Site, *, subject: str | None, contains: str | None, after: str | None, most: int, is_all: bool, as_json: bool
) -> None:
    """Show who changed what, the latest first: of everything, or of SUBJECT, such as a job."""
    found = await gather(
        lambda cursor, limit: list_audit(site, subject=subject, contains=contains, after=cursor, limit=limit),
        most=None if is_all else most,
        after=after,
    )
    if as_json:
        print_json(found)
    elif found:
        now = site.clock.now()
        titles = ("when", "who", "door", "what", "subject", "change")
        print_table(titles, ((brief(one.at, now), *_row(one)) for one in found))
    else:
        wanted = subject or contains
        click.echo("Nothing was changed yet." if wanted is None else f"Nothing is on record for {wanted}.")


def _row(one: AuditView) -> tuple[str, ...]:
    return one.caller, one.door, one.operation, one.subject, _change(one)


def _change(one: AuditView) -> str:
    """What was there, and what came instead."""
    if isinstance(one.before, dict) and isinstance(one.after, dict):
        names = [name for name in {**one.before, **one.after} if one.before.get(name) != one.after.get(name)]
        return ", ".join(f"{name}: {_text(one.before.get(name))} → {_text(one.after.get(name))}" for name in names)
    if one.before is not None and one.after is not None:
        return f"{_text(one.before)} → {_text(one.after)}"
    return _text(one.after if one.after is not None else one.before)


def _text(value: object) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
