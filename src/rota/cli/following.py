"""Following a run: its output as it comes, and its end."""

from __future__ import annotations

import click

from rota.cli.plain import plain
from rota.cli.shown import print_line
from rota.cli.store_command import Site
from rota.core.run import RunState
from rota.operations.following import follow_run
from rota.operations.views import OutputView, RunView

_EXITS = {RunState.SUCCEEDED: 0, RunState.SKIPPED: 0, RunState.TIMED_OUT: 124, RunState.CANCELLED: 130}


async def follow(site: Site, run_id: str, *, after: int = 0, as_json: bool = False) -> int:
    """Print output until the run has ended, and how it did; the exit code that fits its outcome."""
    code = 1
    async for one in follow_run(site, run=run_id, after=after):
        if as_json:
            print_line(one)
        if isinstance(one, OutputView):
            if not as_json:
                print_output(one)
            continue
        code = exit_code(one)
        if not as_json:
            why = ", ".join(plain(text) for text in (one.reason, one.error) if text)
            click.echo(f"{one.id} {one.state}{f': {why}' if why else ''}", err=True)
    return code


def print_output(chunk: OutputView) -> None:
    """A piece of output, to the stream that it came from."""
    click.echo(plain(chunk.text), nl=False, err=chunk.stream == "stderr")


def exit_code(run: RunView) -> int:
    """The code of the run's own process where it has one."""
    if run.exit_code:
        return run.exit_code if run.exit_code > 0 else 128 - run.exit_code
    return _EXITS.get(RunState(run.state), 1)
