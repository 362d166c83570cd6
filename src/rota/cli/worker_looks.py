"""``rota worker snapshots`` and ``rota worker heartbeats``: how machines fare, and what runs show of themselves."""

from __future__ import annotations

import click

from rota.cli.command import Command
from rota.cli.pages import count_option
from rota.cli.shown import brief, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.table import Cell, print_table
from rota.cli.times import read_past
from rota.operations.workers import HeartbeatView, list_heartbeats, list_snapshots

_COLOURS = {"working": "green", "silent": "yellow", "dead": "red"}
_EXAMPLES = ("rota worker snapshots", "rota worker snapshots --worker wrk_0006 --since 2h --json")


@click.command("snapshots", cls=Command, examples=_EXAMPLES)
@click.option("--worker", metavar="WORKER", help="Only those of a worker, by its id.")
@click.option("--since", metavar="TIME|AGO", help="Only those taken since, e.g. 2026-11-18T09:00 or 2h.")
@count_option(20)
@store_command("worker.snapshots")
async def snapshots(site: Site, *, worker: str | None, since: str | None, most: int, as_json: bool) -> None:
    """Show how the machines of the workers fared, the latest first. Each worker looks once a minute."""
    now = site.clock.now()
    found = (await list_snapshots(site, worker=worker, since=read_past(since, "since", now), limit=most)).items
    if as_json:
        print_json(found)
        return
    rows = [
        (
            brief(one.taken_at, now),
            one.worker,
            f"{one.cpu_percent:.0f}%",
            f"{one.memory_mb:,.0f} MB",
            f"{one.load:.2f}",
            str(one.running),
            str(one.active_agents),
            str(one.tmux_sessions),
        )
        for one in found
    ]
    if rows:
        print_table(("taken", "worker", "cpu", "memory", "load", "running", "agents", "tmux"), rows)
    else:
        click.echo("No snapshot has been taken. Workers take them: rota worker list")


@click.command("heartbeats", cls=Command, examples=("rota worker heartbeats", "rota worker heartbeats --json"))
@store_command("worker.heartbeats")
async def heartbeats(site: Site, *, as_json: bool) -> None:
    """Show what the runs under way show of themselves: whether they work, and the last line that they wrote."""
    found = (await list_heartbeats(site)).items
    if as_json:
        print_json(found)
        return
    now = site.clock.now()
    rows = [
        (
            one.run_id,
            one.job,
            Cell(one.status, _COLOURS.get(one.status)),
            brief(one.last_seen_at, now),
            one.worker,
            _last_line(one),
        )
        for one in found
    ]
    if rows:
        print_table(("run", "job", "status", "seen", "worker", "wrote last"), rows)
    else:
        click.echo("No run under way has been looked at yet.")


def _last_line(one: HeartbeatView) -> str:
    lines = [line for line in one.context.splitlines() if line.strip()]
    return lines[-1] if lines else ""
