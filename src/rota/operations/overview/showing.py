"""Showing the overview."""

from __future__ import annotations

from rota.core.run import Priority
from rota.ledger.site import Site
from rota.operations.coming import first_coming
from rota.operations.limits import limit_view
from rota.operations.overview.facts import Facts, read_facts
from rota.operations.overview.problems import problems_of
from rota.operations.overview.views import Overview, QueueDepth
from rota.operations.views import worker_view

_SHOWN = 50
_COMING = 10


async def show_overview(site: Site) -> Overview:
    """Whether anything is wrong now, the worst first; then what is under way, what waits, and what comes next."""
    now = site.clock.now()
    facts = await site.store.read(lambda tx: read_facts(tx, now))
    return overview(facts)


def overview(facts: Facts) -> Overview:
    """What the facts come to."""
    problems = problems_of(facts)
    jobs, paused, failing = facts.counts
    return Overview(
        problems=tuple(problems[:_SHOWN]),
        left_out=max(0, len(problems) - _SHOWN),
        # Every run under way holds one place in its pool.
        running=sum(slot.used for slot in facts.slots if slot.scope == "pool"),
        queue=tuple(_depth(facts, priority) for priority in Priority),
        slots=tuple(limit_view(slot) for slot in facts.slots if slot.scope != "key"),
        workers=tuple(worker_view(worker) for worker in facts.workers),
        coming=first_coming(facts.now, facts.coming, _COMING),
        jobs=jobs,
        paused=paused,
        failing=failing,
    )


def _depth(facts: Facts, priority: Priority) -> QueueDepth:
    depth = sum(count for _, found, count in facts.depths if found == priority)
    return QueueDepth(priority.name.lower(), depth)
