"""The options that define a job, each for a word of the fleet file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from rota.cli.completing import complete_pools
from rota.cli.schedule_input import by_options
from rota.core.catchup import CatchUp
from rota.core.liveness import OnSilence
from rota.core.overlap import Overlap
from rota.core.quiet import QuietPolicy

_Command = TypeVar("_Command", bound=Callable[..., object])


class Setting(NamedTuple):
    """An option that becomes a word of the fleet file as it is."""

    flag: str
    path: tuple[str, ...]
    help: str
    metavar: str | None = "DURATION"
    kind: Any = None
    is_multiple: bool = False

    @property
    def name(self) -> str:
        return f"set_{'_'.join(self.path)}"


def _words(words: Any) -> click.Choice[str]:  # noqa: ANN401 - an enumeration of texts
    return click.Choice([word.value for word in words])


SETTINGS = (
    Setting("--timezone", ("timezone",), "An IANA zone. Default: this machine's.", "ZONE"),
    Setting("--description", ("description",), "What it is for.", "TEXT"),
    Setting("--prompt", ("prompt",), "What the agent is told.", "TEXT"),
    Setting("--pool", ("pool",), "The pool whose slots its runs take.", "POOL"),
    Setting("--key", ("concurrency_key",), "Runs with the same key do not overlap.", "KEY"),
    Setting("--stdin", ("stdin",), "What the command reads.", "TEXT"),
    Setting("--timeout", ("timeout",), "How long a run may take."),
    Setting("--queue-timeout", ("queue_timeout",), "How long a run may wait."),
    Setting("--silence-after", ("silence_after",), "Without any sign for so long, a run counts as silent."),
    Setting("--on-silence", ("on_silence",), "What becomes of a silent run.", None, _words(OnSilence)),
    Setting("--overlap", ("overlap",), "While a run is live. Default: skip.", None, _words(Overlap)),
    Setting("--start-within", ("start_within",), "How late an occurrence may start."),
    Setting("--catch-up", ("catch_up",), "What becomes of missed due times.", None, _words(CatchUp)),
    Setting("--retry", ("retry", "max"), "New attempts after a failure.", "COUNT", click.IntRange(0, 100)),
    Setting("--retry-first", ("retry", "first"), "The wait before the first new attempt."),
    Setting("--pause-after", ("pause_after",), "Pause after so many failures in a row.", "COUNT", click.IntRange(1)),
    Setting("--quiet", ("quiet",), 'Quiet hours, e.g. "22:00-07:00", sat.', "HOURS", None, is_multiple=True),
    Setting("--quiet-policy", ("quiet_policy",), "What quiet hours do.", None, _words(QuietPolicy)),
    Setting("--from", ("from",), "Not before.", "TIME"),
    Setting("--until", ("until",), "Not after.", "TIME"),
    Setting("--max-runs", ("max_runs",), "End after so many.", "COUNT", click.IntRange(1)),
    Setting("--stagger", ("stagger",), "Spread by name."),
    Setting("--jitter", ("jitter",), "Per cent of an interval that chance may add, 0-10.", "PER CENT", float),
    Setting("--min-interval", ("min_interval",), "Never more often than this."),
    Setting("--max-interval", ("max_interval",), "Never less often than this."),
)


def job_options(command: _Command) -> _Command:
    """Everything that can be said of a job on the command line."""
    decorators: list[Callable[[_Command], _Command]] = [
        click.argument("argv", nargs=-1, type=click.UNPROCESSED),
        by_options,
        click.option("--schedule", metavar="LINE", help='Any schedule as one line, e.g. "after build on success".'),
        click.option("--manual", is_flag=True, help="Only run by hand."),
        click.option("--shell", is_flag=True, help="Let /bin/sh read the command."),
        click.option("--cwd", type=click.Path(), help="Where the command runs."),
        click.option(
            "--env", multiple=True, metavar="NAME=VALUE", help="A variable; env:NAME and file:PATH are secrets."
        ),
        click.option("--url", help="Send a request instead of running a command."),
        click.option("--method", metavar="METHOD", help="The method of the request. Default: GET."),
        click.option("--header", multiple=True, metavar="NAME: VALUE", help="A header of the request."),
        click.option("--body", metavar="TEXT", help="The body of the request."),
        click.option("--expect", metavar="STATUS,…", help="The statuses that are a success. Default: 200-299."),
        click.option("--python", metavar="MODULE:NAME", help="Call a Python function instead."),
        *(_option(setting) for setting in SETTINGS),
        click.option("--backoff", metavar="WAITS", help='After failures: none, multiply, ladder, or "30s,1m,5m".'),
        click.option(
            "--from-file",
            "source",
            type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
            help="A file with one job in the words of the fleet file, - for standard input. Options go before it.",
        ),
    ]
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def _option(setting: Setting) -> Callable[[_Command], _Command]:
    flags = (setting.flag, "--tz") if setting.flag == "--timezone" else (setting.flag,)
    complete = complete_pools if setting.flag == "--pool" else None
    return click.option(
        *flags,
        setting.name,
        metavar=setting.metavar,
        type=setting.kind,
        multiple=setting.is_multiple,
        help=setting.help,
        shell_complete=complete,
    )
