"""The command line. It translates and never decides; each command's module is loaded when it is called."""

from __future__ import annotations

import errno
import json
import os
import sys
from importlib import import_module
from typing import NoReturn

import click

from rota import __version__

# name → module, and the line that `rota --help` shows without loading it.
_COMMANDS = {
    "up": ("rota.cli.up", "Start the engine."),
    "job": ("rota.cli.job", "Add, list, show, pause, resume, remove and run jobs."),
    "runs": ("rota.cli.runs", "Show the latest runs."),
    "run": ("rota.cli.run", "Show, cancel or retry one run."),
    "logs": ("rota.cli.logs", "Print the output of a run, live with -f."),
    "pool": ("rota.cli.pool", "Show and change how many runs may be under way at once."),
    "worker": ("rota.cli.worker", "Start one more worker on PostgreSQL, or list them."),
    "db": ("rota.cli.db", "Migrate, check and vacuum the database."),
    "why": ("rota.cli.why", "Say why a run happened, or why a job did not run."),
    "next": ("rota.cli.next_times", "Show the next due times of a schedule."),
    "explain": ("rota.cli.explain", "Say in plain words when a schedule runs, clock changes included."),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(_COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


_OUTPUT_IS_GONE = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO)

_EPILOG = """\b
Examples:
  rota job add tick --every 1s -- /bin/sh -c 'echo tick'
  rota up
  rota next "0 9 * * 1-5" --timezone Europe/Berlin -n 5
  rota explain "30 2 * * *" --timezone America/New_York
"""


@click.group(
    cls=_LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "-V", "--version", message="rota %(version)s")
def rota() -> None:
    """The duty roster for AI agents: wakes them on time, watches them work, records what happened and why."""


def main() -> None:
    """The console script. Exit codes: 0 done, 1 failed, 2 the input cannot be accepted."""
    # Names and zones are not ASCII everywhere; a bare terminal must not turn that into a crash.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = rota(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code or 0)
    except click.ClickException as error:
        _show(error)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except OSError as error:
        if error.errno not in _OUTPUT_IS_GONE:
            raise
        _leave_output(error)


def _show(error: click.ClickException) -> None:
    """An error in the form that was asked for; the options may be what is wrong, so they are looked for by hand."""
    if "--json" in sys.argv:
        click.echo(json.dumps({"error": {"message": error.format_message()}}, ensure_ascii=False), err=True)
    else:
        error.show()


def _leave_output(error: OSError) -> NoReturn:
    """Whoever reads may have left, which is no news; a full disk is."""
    # What is still buffered would fail again at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno != errno.EPIPE:
        click.echo(f"Error: cannot write the output: {error.strerror}", err=True)
    sys.exit(1)
