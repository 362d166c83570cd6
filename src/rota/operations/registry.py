"""Every operation there is, by the name that all doors know it by, and who may ask for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rota.operations import (
    agents,
    auditing,
    backfilling,
    chains,
    coming,
    counting,
    database,
    drafting,
    events,
    explaining,
    families,
    fleets,
    following,
    hints,
    history,
    jobs,
    limits,
    many_runs,
    outcomes,
    output,
    preview,
    runs,
    sessions,
    settings,
    starting,
    timeline,
    tokens,
    workers,
)
from rota.operations.health import doctor
from rota.operations.overview import showing
from rota.operations.simulation import simulating
from rota.ports.caller import Role


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """Its signature, after the site, is what may be asked; its first line of documentation says what it does."""

    name: str
    call: Callable[..., Any]
    role: Role
    is_for_runs: bool = False
    """Whether a run may ask with its own token, for what belongs to its job and agent."""
    is_stream: bool = False
    """Whether it gives one thing after the other, as they come."""


def _read(name: str, call: Callable[..., Any], *, is_for_runs: bool = False) -> Operation:
    return Operation(name=name, call=call, role=Role.READ, is_for_runs=is_for_runs)


def _operate(name: str, call: Callable[..., Any], *, is_for_runs: bool = False) -> Operation:
    return Operation(name=name, call=call, role=Role.OPERATE, is_for_runs=is_for_runs)


def _admin(name: str, call: Callable[..., Any], *, is_for_runs: bool = False) -> Operation:
    return Operation(name=name, call=call, role=Role.ADMIN, is_for_runs=is_for_runs)


def _follow(name: str, call: Callable[..., Any], *, is_for_runs: bool = False) -> Operation:
    return Operation(name=name, call=call, role=Role.READ, is_for_runs=is_for_runs, is_stream=True)


_ALL = (
    _read("overview.show", showing.show_overview),
    _read("timeline.show", timeline.show_timeline),
    _read("job.list", jobs.list_jobs, is_for_runs=True),
    _read("job.show", jobs.show_job, is_for_runs=True),
    _read("job.preview", drafting.preview_job),
    _admin("job.add", jobs.add_job),
    _operate("job.propose", jobs.propose_job, is_for_runs=True),
    _admin("job.edit", jobs.edit_job),
    _operate("job.pause", jobs.pause_job),
    _operate("job.resume", jobs.resume_job),
    _operate("job.enable", jobs.enable_job),
    _operate("job.disable", jobs.disable_job),
    _admin("job.accept", jobs.accept_job),
    _admin("job.remove", jobs.remove_job),
    _operate("job.run", jobs.run_job, is_for_runs=True),
    _read("job.next", coming.coming_times_of_job, is_for_runs=True),
    _read("job.why", explaining.explain_job, is_for_runs=True),
    _read("job.history", history.show_history),
    _read("job.outcomes", outcomes.list_outcomes),
    _read("job.chain", chains.show_chain, is_for_runs=True),
    _read("run.list", runs.list_runs, is_for_runs=True),
    _read("run.count", counting.count_runs, is_for_runs=True),
    _read("run.show", runs.show_run, is_for_runs=True),
    _read("run.why", explaining.explain_run, is_for_runs=True),
    _read("run.family", families.show_family, is_for_runs=True),
    _read("run.output", output.read_output, is_for_runs=True),
    _follow("run.follow", following.follow_run, is_for_runs=True),
    _operate("run.cancel", runs.cancel_run),
    _operate("run.retry", runs.retry_run),
    _operate("run.cancel_many", many_runs.cancel_many),
    _operate("run.retry_many", many_runs.retry_many),
    _read("event.list", events.list_events),
    _follow("event.follow", following.follow_events),
    _read("schedule.preview", preview.preview_schedule),
    _read("fleet.next", coming.list_coming, is_for_runs=True),
    _read("fleet.check", fleets.check_fleet),
    _read("fleet.diff", fleets.diff_fleet),
    _admin("fleet.apply", fleets.apply_file),
    _read("fleet.schema", fleets.fleet_schema),
    _read("fleet.example", starting.example_fleet),
    _read("fleet.simulate", simulating.simulate),
    _read("backfill.preview", backfilling.preview_backfill),
    _operate("backfill.start", backfilling.start_backfill),
    _read("hint.list", hints.list_hints),
    _operate("hint.set", hints.set_hint),
    _operate("hint.revert", hints.revert_hint),
    _read("agent.list", agents.list_agents, is_for_runs=True),
    _read("agent.show", agents.show_agent, is_for_runs=True),
    _read("pool.list", limits.list_limits),
    _operate("pool.set", limits.set_limit),
    _read("worker.list", workers.list_workers),
    _read("settings.show", settings.show_settings),
    _read("worker.snapshots", workers.list_snapshots),
    _read("worker.heartbeats", workers.list_heartbeats),
    _operate("doctor.check", doctor.check_up),
    _operate("db.check", database.check_database),
    _admin("db.migrate", database.migrate_database),
    _admin("db.vacuum", database.vacuum_database),
    _admin("token.create", tokens.create_token),
    _admin("token.list", tokens.list_tokens),
    _admin("token.revoke", tokens.revoke_token),
    _admin("token.link", sessions.make_login_link),
    _read("audit.list", auditing.list_audit),
)
OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in _ALL}
