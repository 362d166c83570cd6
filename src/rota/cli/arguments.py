"""Arguments that name something in the store, and know how to complete it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rota.app import PORT
from rota.cli.completing import complete_agents, complete_jobs, complete_pools, complete_runs, complete_runs_and_jobs

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def job_argument(*, is_required: bool = True) -> _Decorator:
    metavar = "JOB" if is_required else "[JOB]"
    return click.argument("job", metavar=metavar, required=is_required, shell_complete=complete_jobs)


def run_argument() -> _Decorator:
    return click.argument("run", metavar="RUN", shell_complete=complete_runs)


def runs_argument() -> _Decorator:
    return click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_runs)


def run_or_job_argument() -> _Decorator:
    return click.argument("name", metavar="RUN|JOB", shell_complete=complete_runs_and_jobs)


def agent_argument() -> _Decorator:
    return click.argument("agent", metavar="AGENT", shell_complete=complete_agents)


def pool_argument() -> _Decorator:
    return click.argument("name", metavar="NAME", shell_complete=complete_pools)


def agent_option(text: str) -> _Decorator:
    return click.option("--agent", metavar="AGENT", help=text, shell_complete=complete_agents)


def port_option(text: str, *, least: int) -> _Decorator:
    ports = click.IntRange(least, 65535)
    return click.option("--port", type=ports, default=PORT, envvar="ROTA_PORT", show_default=True, help=text)
