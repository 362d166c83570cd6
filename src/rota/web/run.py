"""The run: what became of it, what it writes, why it happened, and what belongs to it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from rota.core.run import LIVE, Priority
from rota.errors import NotFoundError
from rota.operations.families import show_family
from rota.operations.jobs import JobDetail, show_job
from rota.operations.runs import show_run
from rota.operations.views import RunDetail
from rota.web.told import environment_of, order_of
from rota.web.visit import Context, Visit

# A page is to be looked at; the whole of something long is in the API.
_MOST = 12_000


class Piece(NamedTuple):
    """A text that may be long: its beginning, and how much is left out."""

    title: str
    text: str
    left_out: int
    name: str


async def show(visit: Visit) -> Context:
    run = await show_run(visit.site, run=visit.values["run"])
    job = await _job(visit, run)
    words = job.definition if job else {}
    return {
        "run": run,
        "job": job,
        "family": await show_family(visit.site, run=run.id),
        "is_live": run.state in LIVE,
        "priority": Priority(run.priority).name.lower(),
        "order": order_of(words) if job else (),
        "environment": environment_of(run, words) if job else (),
        "pieces": _pieces(run),
    }


async def _job(visit: Visit, run: RunDetail) -> JobDetail | None:
    """The job as it is now; none if it was removed, and another of its name is another job."""
    try:
        return await show_job(visit.site, job=run.job_id)
    except NotFoundError:
        return None


def _pieces(run: RunDetail) -> tuple[Piece, ...]:
    """What went in and what came out, as far as there is any."""
    result = None if run.result is None else msgspec.json.format(msgspec.json.encode(run.result), indent=2).decode()
    is_told_twice = result is not None and run.response is not None and _is_same(run)
    texts = (
        ("Result", result, "result"),
        ("Response", None if is_told_twice else run.response, "response"),
        ("Input", run.input, "input"),
    )
    return tuple(_piece(title, text, name) for title, text, name in texts if text)


def _piece(title: str, text: str, name: str) -> Piece:
    return Piece(title, text[:_MOST], max(0, len(text) - _MOST), name)


def _is_same(run: RunDetail) -> bool:
    """Whether the response is the result as it came."""
    try:
        return bool(msgspec.json.decode(run.response or "") == run.result)
    except msgspec.DecodeError:
        return False
