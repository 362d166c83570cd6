"""The editor: a new job, or what one is, changed with its next times in view."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from rota.config.yaml_text import to_yaml
from rota.operations.agents import list_agents
from rota.operations.jobs import show_job
from rota.ports.caller import Role
from rota.web.job_form import METHODS, Form, form_of
from rota.web.visit import Context, Visit

_EMPTY = Form(fields={})


async def show_new(visit: Visit) -> Context:
    """A form that is empty but for what the address says."""
    given = {"name": visit.text("name") or "", "agent": visit.text("agent") or ""}
    return {"job": None, "form": _EMPTY, "given": given, **await _frame(visit)}


async def show_edit(visit: Visit) -> Context:
    """The definition of a job in the form, or as it stands in the file that it comes from."""
    job = await show_job(visit.site, job=visit.values["job"])
    form = form_of(job.definition, job.schedule, visit.now)
    return {"job": job, "form": form, "given": {}, "yaml": to_yaml(job.definition), **await _frame(visit)}


async def _frame(visit: Visit) -> Context:
    agents = [one.name for one in (await list_agents(visit.site)).items]
    is_proposal = not visit.may(Role.ADMIN)
    return {"agents": agents, "zones": _zones(), "methods": METHODS, "is_proposal": is_proposal}


@cache
def _zones() -> tuple[str, ...]:
    """The zones that people live in, and UTC."""
    return ("UTC", *sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/")))
