"""Following a run: its output as it comes, and its end."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import click
import msgspec

from rota.cli.store_command import plain
from rota.core.run import LIVE, RunState
from rota.ledger.site import Site
from rota.operations import runs
from rota.ports.records import OutputRecord, RunRecord

_LOOK_EVERY = timedelta(milliseconds=150)
_EXITS = {RunState.SUCCEEDED: 0, RunState.SKIPPED: 0, RunState.TIMED_OUT: 124, RunState.CANCELLED: 130}


async def follow(site: Site, run_id: str, *, as_json: bool = False, is_quiet: bool = False) -> int:
    """Print output until the run has ended; the exit code that fits its outcome."""
    after = 0
    while True:
        run = await runs.find_run(site, run_id)
        after = await show_output(site, run_id, after=after, as_json=as_json)
        if run.state not in LIVE:
            break
        await site.clock.wait(asyncio.Event(), until=site.clock.now() + _LOOK_EVERY)
    if not is_quiet:
        reason = f": {run.reason}" if run.reason else ""
        click.echo(f"{run.id} {run.state}{reason}", err=True)
    return exit_code(run)


async def show_output(site: Site, run_id: str, *, after: int, as_json: bool) -> int:
    """Print what came after a sequence number; the last one printed."""
    while chunks := await runs.read_output(site, run_id, after=after):
        for chunk in chunks:
            _print(chunk, as_json=as_json)
        after = chunks[-1].sequence
    return after


def exit_code(run: RunRecord) -> int:
    """The code of the run's own process where it has one."""
    if run.exit_code:
        return run.exit_code if run.exit_code > 0 else 128 - run.exit_code
    return _EXITS.get(RunState(run.state), 1)


def _print(chunk: OutputRecord, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(chunk).decode())
    else:
        click.echo(plain(chunk.text), nl=False, err=chunk.stream == "stderr")
