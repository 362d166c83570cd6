"""The command line. It translates and never decides; each command's module is loaded when it is called."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn

import click

from rota import __version__

# By topic: name → module, and the line that `rota --help` shows without loading it.
_TOPICS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Begin": {
        "init": ("init", "Write a first fleet file."),
        "up": ("up", "Start the engine, the API and the page."),
        "status": ("status", "Say whether anything is wrong now, and what comes next."),
        "doctor": ("doctor", "Look for what is wrong here, and say what to do about it."),
    },
    "Jobs": {
        "job": ("job", "Add, preview, list, show, edit, pause, resume, accept, remove and run jobs."),
        "hint": ("hint", "Show, give and take back advice on when jobs run."),
        "next": ("next_times", "Show the next due times of a schedule, a job, or all jobs."),
        "explain": ("explain", "Say in plain words when a schedule runs, clock changes included."),
        "simulate": ("simulate", "Show what the coming days will look like."),
        "backfill": ("backfill", "Run due times of the past after all."),
        "agent": ("agent", "Show the agents and how their jobs stand."),
    },
    "Runs": {
        "runs": ("runs", "Show the latest runs."),
        "run": ("run", "Show, cancel or retry runs."),
        "timeline": ("timeline", "Show runs past and due times to come, a line for each job."),
        "logs": ("logs", "Print the output of a run, live with -f."),
        "why": ("why", "Say why a run happened, or why a job did not run."),
        "events": ("events", "Show what happened, live with -f."),
    },
    "Fleet files": {
        "check": ("check", "Say everything that is wrong with a fleet file."),
        "diff": ("diff", "Show what applying a fleet file would change."),
        "apply": ("apply", "Make the jobs those of a fleet file."),
        "schema": ("schema", "Print the JSON Schema of the fleet file, for editors."),
    },
    "Upkeep": {
        "pool": ("pool", "Show and change how many runs may be under way at once."),
        "worker": ("worker", "Start one more worker on PostgreSQL, or list them."),
        "login": ("login", "Print a link that lets a browser in."),
        "settings": ("settings", "Show how this Rota is set up, and where each setting comes from."),
        "token": ("token", "Make, show and revoke tokens for the API and the page."),
        "audit": ("audit", "Show who changed what."),
        "db": ("db", "Migrate, check and vacuum the database."),
        "completion": ("completion", "Make a shell complete commands, names and ids."),
    },
}
_COMMANDS = {name: module for topic in _TOPICS.values() for name, (module, _) in topic.items()}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"{__name__}.{_COMMANDS[cmd_name]}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = get_close_matches(args[0], _COMMANDS, n=1)
        if args[0] not in _COMMANDS and near:
            ctx.fail(f'There is no command "{args[0]}". Did you mean "{near[0]}"?')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for topic, commands in _TOPICS.items():
            with formatter.section(topic):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()], col_max=12)


_OUTPUT_IS_GONE = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO)

_EPILOG = """\b
Examples:
  rota init && rota up
  rota job add tick --every 1m -- /bin/sh -c 'echo tick'
  rota runs --failed --since 1d
  rota next "0 9 * * 1-5" --timezone Europe/Berlin -n 5

Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted.
"""


@click.group(
    cls=_LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "-V", "--version", message="rota %(version)s")
@click.pass_context
def rota(context: click.Context) -> None:
    """The duty roster for AI agents: wakes them on time, watches them work, records what happened and why."""
    context.color = _wants_colour(os.environ)


def _wants_colour(environment: Mapping[str, str]) -> bool | None:
    """What the environment says about colour; none leaves it to whether there is a terminal."""
    if environment.get("NO_COLOR"):
        return False
    return True if environment.get("CLICOLOR_FORCE", "0") not in ("", "0") else None


def main() -> None:
    """The console script. Exit codes: 0 done, 1 failed, 2 the input cannot be accepted."""
    # Names and zones are not ASCII everywhere; a bare terminal must not turn that into a crash.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = rota(standalone_mode=False)
        if sys.stdout is not None:
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
    words = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    if "--json" in words:
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
