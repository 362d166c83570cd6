"""The doctor: what is wrong with a Rota and the machine it stands on, and what to do about it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from rota.ledger.site import Site
from rota.operations.health import database, machine
from rota.operations.health import jobs as definitions
from rota.operations.health import state as moving
from rota.operations.health.findings import Finding, Findings, Status, failure
from rota.operations.health.jobs import Patient, patients
from rota.operations.health.state import State, read_state
from rota.operations.premises import Premises

__all__ = ["Examination", "Finding", "Status", "check_up"]

_Look = Callable[[], Awaitable[Findings]]


class Examination(msgspec.Struct, frozen=True):
    """Everything that was looked at, well or not."""

    findings: tuple[Finding, ...]


async def check_up(site: Site, *, premises: Premises) -> Examination:
    """Look for everything that is known to go wrong, and say what to do about it."""
    environment = dict(os.environ)
    findings: list[Finding] = []
    for check, look in (_of_database(site) | _of_machine(site, premises, environment)).items():
        findings += await _look(check, look)
    try:
        state = await read_state(site)
    except Exception as error:  # noqa: BLE001 - what is wrong with the database was found above
        findings.append(_unseen("state", error))
        return Examination(tuple(findings))
    jobs = patients(state.records)
    for check, look in (_of_jobs(state, jobs, environment) | _of_state(site, state, jobs)).items():
        findings += await _look(check, look)
    findings += await _look("port", _aside(lambda: machine.check_port(premises, state.live)))
    return Examination(tuple(findings))


async def _look(check: str, look: _Look) -> Findings:
    try:
        return await look()
    except Exception as error:  # noqa: BLE001 - a doctor who stumbles still looks at the rest
        return (_unseen(check, error),)


def _unseen(check: str, error: Exception) -> Finding:
    return failure(check, f"This could not be looked at: {type(error).__name__}: {error}.", "Look again: rota doctor")


def _aside(look: Callable[[], Findings]) -> _Look:
    """In a thread, because files and processes make one wait."""
    return lambda: asyncio.to_thread(look)


def _of_database(site: Site) -> dict[str, _Look]:
    store = site.store
    return {
        "clock": lambda: database.check_clock(site),
        "database_version": lambda: database.check_version(store),
        "tables": lambda: database.check_tables(store),
        "damage": lambda: database.check_damage(store),
        "contradictions": lambda: database.check_contradictions(store),
    }


def _of_machine(site: Site, premises: Premises, environment: Mapping[str, str]) -> dict[str, _Look]:
    is_file = site.store.name == "sqlite"
    folder = Path(premises.database).absolute().parent if is_file else Path(premises.log_folder)
    return {
        "file_modes": _aside(lambda: machine.check_modes(premises, is_file=is_file)),
        "disk": _aside(lambda: machine.check_disk(folder)),
        "zone_data": _aside(machine.check_machine_zone),
        "environment": _aside(lambda: machine.check_environment(environment)),
    }


def _of_jobs(state: State, jobs: list[Patient], environment: Mapping[str, str]) -> dict[str, _Look]:
    return {
        "zones": _aside(lambda: definitions.check_job_zones(jobs)),
        "parents": _aside(lambda: definitions.check_parents(jobs, {record.name for record in state.records})),
        "folders": _aside(lambda: definitions.check_folders(jobs)),
        "programs": _aside(lambda: definitions.check_programs(jobs, environment)),
        "python": _aside(lambda: definitions.check_targets(jobs)),
        "secrets": _aside(lambda: definitions.check_secrets(jobs, environment)),
        "fleet_files": _aside(lambda: definitions.check_fleets(state.fleets)),
    }


def _of_state(site: Site, state: State, jobs: list[Patient]) -> dict[str, _Look]:
    return {
        "workers": _aside(lambda: moving.check_workers(state, jobs)),
        "dead_workers": _aside(lambda: moving.check_dead_workers(state)),
        "overdue": _aside(lambda: moving.check_overdue(state, jobs)),
        "long_runs": _aside(lambda: moving.check_long_runs(state)),
        "queue": lambda: moving.check_queue(site, state),
        "failing_jobs": _aside(lambda: moving.check_failing(state, jobs)),
        "agents": _aside(lambda: moving.check_agents(state)),
        "pools": _aside(lambda: moving.check_pools(state)),
    }
