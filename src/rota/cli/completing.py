"""What the shell offers when TAB is pressed: names from the store. It never fails and never says anything."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rota.ledger.site import Site

_Names = Callable[["Site", str], Coroutine[Any, Any, list[str]]]
_MOST = 200
# Longer than this nobody waits for a TAB.
_PATIENCE = 2.0


def complete_jobs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's own
    return _offered(context, incomplete, _jobs)


def complete_runs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    return _offered(context, incomplete, _runs)


def complete_runs_and_jobs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    return _offered(context, incomplete, _runs if incomplete.startswith("run_") else _jobs)


def complete_agents(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    return _offered(context, incomplete, _agents)


def complete_pools(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    return _offered(context, incomplete, _pools)


def _offered(context: click.Context, incomplete: str, names: _Names) -> list[str]:
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        try:
            found = asyncio.run(_asked(context.params.get("db"), incomplete, names))
        except Exception:  # noqa: BLE001 - whatever is wrong, a TAB is not the place to hear of it
            return []
    return [name for name in found if name.startswith(incomplete)]


async def _asked(db: str | None, incomplete: str, names: _Names) -> list[str]:
    from rota.app import default_database, is_postgres  # noqa: PLC0415
    from rota.cli.store_command import within_store  # noqa: PLC0415

    database = db or default_database()
    # Asking must not make a database.
    if not is_postgres(database) and not await asyncio.to_thread(Path(database).is_file):
        return []
    async with asyncio.timeout(_PATIENCE):
        found: list[str] = await within_store(lambda site: names(site, incomplete), database)
    return found


async def _jobs(site: Site, incomplete: str) -> list[str]:
    from rota.operations.jobs import list_jobs  # noqa: PLC0415

    return [job.name for job in (await list_jobs(site, contains=incomplete or None, limit=_MOST)).items]


async def _runs(site: Site, incomplete: str) -> list[str]:  # noqa: ARG001 - they share one signature
    from rota.operations.runs import list_runs  # noqa: PLC0415

    return [run.id for run in (await list_runs(site, limit=_MOST)).items]


async def _agents(site: Site, incomplete: str) -> list[str]:  # noqa: ARG001
    from rota.operations.agents import list_agents  # noqa: PLC0415

    return [agent.name for agent in (await list_agents(site)).items]


async def _pools(site: Site, incomplete: str) -> list[str]:  # noqa: ARG001
    from rota.operations.limits import list_limits  # noqa: PLC0415

    return [limit.name for limit in (await list_limits(site)).items if limit.scope == "pool"]
