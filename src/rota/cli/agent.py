"""``rota agent``: who owns jobs, and how they fare."""

from __future__ import annotations

import click

from rota.cli.arguments import agent_argument
from rota.cli.command import Group
from rota.cli.shown import COLOURS, brief, moment, planned_at, print_json, show_fields
from rota.cli.store_command import Site, store_command
from rota.cli.table import Cell, print_table
from rota.operations.agents import AgentDetail, AgentView, list_agents, show_agent


@click.group("agent", cls=Group, examples=("rota agent list", "rota agent show coder"))
def command() -> None:
    """Show the agents and how their jobs stand."""


@command.command("list", examples=("rota agent list", "rota agent list --json"))
@store_command("agent.list")
async def list_all(site: Site, *, as_json: bool) -> None:
    """Show every agent: those of fleet files, and those that jobs name."""
    found = (await list_agents(site)).items
    if as_json:
        print_json(found)
    elif found:
        now = site.clock.now()
        titles = ("name", "jobs", "failing", "paused", "running", "next", "description")
        print_table(titles, ((*_row(one), brief(one.next_run_at, now), one.description) for one in found))
    else:
        click.echo("No agents. A job names one: rota job add … --agent coder; or a fleet file: rota init")


def _row(one: AgentView) -> tuple[Cell, ...]:
    limit = "" if one.max_concurrent is None else f" of {one.max_concurrent}"
    failing = Cell(str(one.failing), "red" if one.failing else None)
    return Cell(one.name), Cell(str(one.jobs)), failing, Cell(str(one.paused)), Cell(f"{one.running}{limit}")


@command.command("show", examples=("rota agent show coder", "rota agent show coder --json"))
@agent_argument()
@store_command("agent.show")
async def show(site: Site, *, agent: str, as_json: bool) -> None:
    """Show one agent with its jobs."""
    one = await show_agent(site, agent=agent)
    if as_json:
        print_json(one)
    else:
        _print(site, one)


def _print(site: Site, one: AgentDetail) -> None:
    now = site.clock.now()
    limit = "" if one.max_concurrent is None else f" of {one.max_concurrent}"
    show_fields(
        {
            "name": one.name,
            "description": one.description,
            "file": f"{one.file}:{one.line}" if one.file else None,
            "timezone": one.timezone,
            "running": f"{one.running}{limit}",
            "last run": moment(one.last_run_at, now) if one.last_run_at else None,
            "next": moment(one.next_run_at, now) if one.next_run_at else None,
        }
    )
    if one.jobs_of_agent:
        click.echo()
        rows = [
            (job.name, Cell(job.status, COLOURS.get(job.status)), job.schedule, brief(planned_at(job), now))
            for job in one.jobs_of_agent
        ]
        print_table(("job", "status", "schedule", "next"), rows)
