"""``rota events``: what happened, and what happens."""

from __future__ import annotations

from collections.abc import Callable

import click

from rota.cli.command import Command
from rota.cli.pages import count_option
from rota.cli.plain import one_line
from rota.cli.shown import COLOURS, print_json, print_line
from rota.cli.store_command import Site, store_command
from rota.operations.events import EventView, list_events
from rota.operations.following import follow_events

_EXAMPLES = ("rota events", "rota events -f", "rota events -n 100 --json", "rota events --after evt_0006440b3a3c8c00.0")
# More than happens in the moment that the stream goes back.
_REMEMBERED = 10_000


@click.command("events", cls=Command, examples=_EXAMPLES)
@click.option("-f", "--follow", "is_followed", is_flag=True, help="Go on until Ctrl-C.")
@click.option("--after", metavar="EVENT", help="Only those after this one. Default: the latest.")
@count_option(20)
@store_command("event.list", "event.follow")
async def command(site: Site, *, is_followed: bool, after: str | None, most: int, as_json: bool) -> None:
    """Show what happened, the oldest first. With -f, JSON is an object on each line."""
    if is_followed:
        await _follow(site, after, most, print_line if as_json else _print)
        return
    found = (await list_events(site, after=after, limit=most)).items
    if as_json:
        print_json(found)
        return
    for event in found:
        _print(event)


async def _follow(site: Site, after: str | None, most: int, say: Callable[[EventView], None]) -> None:
    """What was, then what comes; each once, though the stream goes a moment back."""
    latest = (await list_events(site, limit=max(most, _REMEMBERED))).items
    shown = latest[-most:] if after is None else (await list_events(site, after=after, limit=most)).items
    known = [event.id for event in latest]
    told = {*(known if after is None else known[: known.index(after) + 1] if after in known else ())}
    told |= {event.id for event in shown}
    for event in shown:
        say(event)
    async for event in follow_events(site, after=shown[-1].id if shown else after):
        if event.id not in told:
            say(event)


def _print(event: EventView) -> None:
    state = click.style(event.state, fg=COLOURS.get(event.state)) if event.state else ""
    words = [one_line(event.job or ""), event.run_id or "", state, one_line(event.reason or "")]
    rest = " ".join(word for word in (*words, f"by {one_line(event.by)}" if event.by else "") if word)
    click.echo(f"{event.at.astimezone():%Y-%m-%d %H:%M:%S}  {event.event:18}  {rest}".rstrip())
