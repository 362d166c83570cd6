"""Facets: by what runs can be told apart, how many there are of each, and the address that asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rota.core.run import FAILURES, Cause, Priority, RunState, priority
from rota.operations.counting import Facet as Count
from rota.operations.counting import RunCounts
from rota.web.rendering import said
from rota.web.visit import Visit

SPANS = ("1h", "6h", "1d", "7d", "30d")
_MOST = 8


class Choice(NamedTuple):
    """Something to choose, or to choose no more if it is chosen."""

    label: str
    address: str
    is_chosen: bool
    size: int | None = None


class Facet(NamedTuple):
    title: str
    choices: tuple[Choice, ...]


def facets_of(visit: Visit, counts: RunCounts, *, job: str | None) -> tuple[Facet, ...]:
    """Everything one can choose, as far as there is any of it. The job may be written shorter in the address."""
    facets = (
        Facet("Time", tuple(_one(visit, "since", span, label=f"last {span}") for span in SPANS)),
        Facet("State", _states(visit, _by_name(counts.states))),
        Facet("Cause", _ones(visit, "cause", [(one.name, said(one.name), one.count) for one in counts.causes])),
        Facet("Priority", _ones(visit, "priority", _priorities(counts.causes))),
        Facet("Agent", _ones(visit, "agent", [(one.name, one.name, one.count) for one in counts.agents][:_MOST])),
        Facet("Job", _jobs(visit, counts.jobs, job)),
    )
    return tuple(facet for facet in facets if facet.choices)


def _by_name(counts: Iterable[Count]) -> Mapping[str, int]:
    return {one.name: one.count for one in counts}


def _states(visit: Visit, counts: Mapping[str, int]) -> tuple[Choice, ...]:
    chosen = set(visit.texts("state"))
    failures = [state.value for state in RunState if state in FAILURES]
    every = Choice("failures of every kind", visit.link(state=None), chosen == set(failures), _sum(counts, failures))
    if not every.is_chosen:
        every = every._replace(address=visit.linked("state", failures))
    single = tuple(
        Choice(said(state), visit.toggled("state", state.value), state in chosen, counts.get(state, 0))
        for state in RunState
        if counts.get(state) or state in chosen
    )
    return (every, *single) if every.size or every.is_chosen else single


def _sum(counts: Mapping[str, int], names: Iterable[str]) -> int:
    return sum(counts.get(name, 0) for name in names)


def _priorities(causes: Iterable[Count]) -> list[tuple[str, str, int]]:
    """A priority is not kept with a run: its cause says it."""
    sums = dict.fromkeys(Priority, 0)
    for one in causes:
        sums[priority(Cause(one.name))] += one.count
    return [(str(int(level)), level.name.lower(), count) for level, count in sums.items() if count]


def _ones(visit: Visit, name: str, found: Iterable[tuple[str, str, int]]) -> tuple[Choice, ...]:
    choices = tuple(_one(visit, name, value, label=label, count=count) for value, label, count in found)
    chosen = visit.text(name)
    if chosen is None or any(choice.is_chosen for choice in choices):
        return choices
    return (_one(visit, name, chosen, label=said(chosen)), *choices)


def _jobs(visit: Visit, counts: Iterable[Count], chosen: str | None) -> tuple[Choice, ...]:
    if chosen is not None:
        count = _by_name(counts).get(chosen, 0)
        return (Choice(chosen, visit.link(job=None), is_chosen=True, size=count),)
    return _ones(visit, "job", [(one.name, one.name, one.count) for one in counts][:_MOST])


def _one(visit: Visit, name: str, value: str, *, label: str, count: int | None = None) -> Choice:
    is_chosen = visit.text(name) == value and not (name == "since" and visit.text("until"))
    changed: dict[str, str | None] = {name: None if is_chosen else value}
    return Choice(label, visit.link(**changed, **({"until": None} if name == "since" else {})), is_chosen, count)
