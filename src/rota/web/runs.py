"""The runs: which of them, how many of what, and what is done to many at once."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import msgspec

from rota.core.run import Cause, Priority, RunState
from rota.errors import ConflictError, NotFoundError, ScheduleError
from rota.operations.counting import RunCounts, count_runs
from rota.operations.jobs import list_jobs
from rota.operations.many_runs import MOST
from rota.operations.runs import list_runs
from rota.operations.views import Page, RunView
from rota.web.rendering import iso
from rota.web.run_facets import SPANS, facets_of
from rota.web.visit import Context, Visit

_ROWS = 50
_MOST_NAMES = 20


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for, in the words of ``run.list``."""

    job: str | None
    agent: str | None
    state: tuple[RunState, ...]
    cause: Cause | None
    priority: int | None
    since: datetime | None
    until: datetime | None

    @property
    def filters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__struct_fields__}

    @property
    def query(self) -> str:
        """The same question to the API."""
        asked = {name: value for name, value in self.filters.items() if value not in (None, ())}
        plain = {name: iso(value) if isinstance(value, datetime) else value for name, value in asked.items()}
        return urlencode(plain, doseq=True)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What there is of it. Without counts, the job's name is not clear yet, and ``names`` are those that are near."""

    wanted: Wanted
    counts: RunCounts | None = None
    names: tuple[str, ...] = ()


async def show(visit: Visit) -> Context:
    found = await _found(visit, _wanted(visit))
    runs: Page[RunView] = Page(())
    if found.counts is not None:
        runs = await list_runs(visit.site, **found.wanted.filters, after=visit.text("after"), limit=_ROWS)
    return {
        "found": found,
        "runs": runs,
        "facets": () if found.counts is None else facets_of(visit, found.counts, job=found.wanted.job),
        "is_filtered": any(value for name, value in visit.query if name != "after"),
        "span": _span(visit, found.wanted),
        "command": _command(visit, found.wanted),
        "most": MOST,
    }


def _wanted(visit: Visit) -> Wanted:
    return Wanted(
        job=visit.text("job"),
        agent=visit.text("agent"),
        state=visit.all_chosen("state", RunState),
        cause=visit.chosen("cause", Cause),
        priority=_priority(visit.text("priority")),
        since=visit.instant("since"),
        until=visit.instant("until"),
    )


def _priority(text: str | None) -> int | None:
    known = {str(int(one)): int(one) for one in Priority}
    if text is not None and text not in known:
        raise ScheduleError(field="priority", value=text, expected=", ".join(known), example="1")
    return None if text is None else known[text]


async def _found(visit: Visit, wanted: Wanted) -> Found:
    """A name that is still being typed is no mistake: it may be a part of several, or of one."""
    try:
        return Found(wanted=wanted, counts=await count_runs(visit.site, **wanted.filters))
    except (NotFoundError, ConflictError):
        if wanted.job is None:
            raise
    near = await list_jobs(visit.site, contains=wanted.job, limit=_MOST_NAMES)
    names = tuple(job.name for job in near.items)
    if len(names) != 1:
        return Found(wanted=wanted, names=names)
    only = msgspec.structs.replace(wanted, job=names[0])
    return Found(wanted=only, counts=await count_runs(visit.site, **only.filters))


def _span(visit: Visit, wanted: Wanted) -> tuple[datetime | None, datetime | None]:
    """From when to when, where it was said as times; "the last hour" is none."""
    since = None if visit.text("since") in SPANS else wanted.since
    return since, wanted.until


def _command(visit: Visit, wanted: Wanted) -> str:
    """What lists the same on a command line."""
    words = ["rota", "runs", *([wanted.job] if wanted.job else [])]
    for state in wanted.state:
        words += ["--state", state.value]
    priority = None if wanted.priority is None else Priority(wanted.priority).name.lower()
    options = (("agent", wanted.agent), ("cause", wanted.cause), ("priority", priority))
    for name, value in (*options, ("since", visit.text("since")), ("until", visit.text("until"))):
        if value is not None:
            words += [f"--{name}", value]
    return shlex.join(words)
