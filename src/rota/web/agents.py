"""Agents: who owns jobs, how many of their runs may be under way, and how they fare."""

from __future__ import annotations

from rota.operations.agents import list_agents, show_agent
from rota.operations.outcomes import MOST, list_outcomes
from rota.web.visit import Context, Visit


async def show(visit: Visit) -> Context:
    """All of them; those with something wrong are seen by their signs, the order stays that of the names."""
    found = await list_agents(visit.site)
    wanted = (visit.text("contains") or "").lower()
    return {"agents": [one for one in found.items if wanted in one.name.lower()]}


async def show_one(visit: Visit) -> Context:
    agent = await show_agent(visit.site, agent=visit.values["agent"])
    names = tuple(one.name for one in agent.jobs_of_agent[:MOST])
    strips = (await list_outcomes(visit.site, job=names)).items if names else ()
    return {"agent": agent, "outcomes": {one.job: one.runs for one in strips}}
