"""One job: what it is, when it is next and why, how it has fared, and who it works with."""

from __future__ import annotations

from rota.config.yaml_text import to_yaml
from rota.operations.chains import show_chain
from rota.operations.coming import coming_times_of_job
from rota.operations.hints import list_hints
from rota.operations.history import show_history
from rota.operations.jobs import show_job
from rota.operations.runs import list_runs
from rota.web.charts import bar_chart, coming_year, past_year
from rota.web.graph import draw_chain
from rota.web.visit import Context, Visit

_RUNS, _TIMES = 15, 8


async def show(visit: Visit) -> Context:
    job = await show_job(visit.site, job=visit.values["job"])
    history = await show_history(visit.site, job=job.id)
    return {
        "job": job,
        "definition": to_yaml(job.definition),
        "hints": (await list_hints(visit.site, job=job.id)).items,
        "runs": (await list_runs(visit.site, job=job.id, limit=_RUNS)).items,
        "coming": (await coming_times_of_job(visit.site, job=job.id, count=_TIMES)).items,
        "history": history,
        "durations": bar_chart(tuple(reversed(history.runs))),
        "past": past_year(visit.now, history, job.timezone),
        "planned": coming_year(visit.now, history, job.timezone),
        "chain": draw_chain(await show_chain(visit.site, job=job.id)),
    }
