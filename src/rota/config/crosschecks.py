"""What is wrong between jobs, though each of them is right: names, chains, pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rota.config.findings import Findings, Wording
from rota.config.suggestions import nearest
from rota.config.tree import Spot
from rota.core.action import POOL_SIZES
from rota.core.chain import MAX_DEPTH, MAX_FAN_OUT, After
from rota.core.definition import Definition


class Found(NamedTuple):
    """A job as it was found: its definition, the name it had, where it stands, and where each of its values does."""

    definition: Definition
    renamed_from: str | None
    path: str
    spot: Spot
    locate: Callable[[str], tuple[str, Spot]]


def check_between(jobs: Sequence[Found], pools: Mapping[str, int], findings: Findings) -> None:
    """Check every job against the others."""
    by_name: dict[str, Found] = {}
    for job in jobs:
        first = by_name.setdefault(job.definition.name, job)
        if first is not job:
            words = (
                f'There are two jobs named "{job.definition.name}"; the first is {first.path}.',
                "Rename one of them.",
            )
            findings.add(words, path=job.path, spot=job.spot)
    _check_renames(jobs, by_name, findings)
    _check_chains(by_name, findings)
    _check_pools(jobs, pools, findings)


def _check_renames(jobs: Sequence[Found], by_name: Mapping[str, Found], findings: Findings) -> None:
    taken: dict[str, Found] = {}
    for job in jobs:
        old = job.renamed_from
        if old is None:
            continue
        first = taken.setdefault(old, job)
        if old in by_name:
            words = f'The job "{old}" is still in this file.', "Remove renamed_from, or the old job."
            _add_at(job, "renamed_from", words, findings)
        elif first is not job:
            words = f'{first.path} has the history of "{old}" already.', "Remove one of the two renamed_from."
            _add_at(job, "renamed_from", words, findings)


def _check_chains(by_name: Mapping[str, Found], findings: Findings) -> None:
    parents = {name: parent for name, job in by_name.items() if (parent := _parent(job.definition)) is not None}
    names = tuple(by_name)
    for name, parent in parents.items():
        if parent not in by_name:
            near = nearest(parent, names) if len(names) <= 1_000 else None
            cure = f'Did you mean "{near}"?' if near else "It may live elsewhere; if not, the job never runs."
            path, spot = by_name[name].locate("after")
            findings.warn(f'There is no job "{parent}" in this file.', cure, path=path, spot=spot)
    _check_fan_out(parents, by_name, findings)
    _check_depth(parents, by_name, findings)


def _parent(definition: Definition) -> str | None:
    schedule = definition.timing.schedule
    return schedule.job if isinstance(schedule, After) else None


def _check_fan_out(parents: Mapping[str, str], by_name: Mapping[str, Found], findings: Findings) -> None:
    counts = Counter(parents.values())
    seen: Counter[str] = Counter()
    for name, parent in parents.items():
        seen[parent] += 1
        if seen[parent] == MAX_FAN_OUT + 1:
            words = (
                f'{counts[parent]} jobs run after "{parent}"; at most {MAX_FAN_OUT} can.',
                "Chain some of them to one of the others.",
            )
            _add_at(by_name[name], "after", words, findings)


def _check_depth(parents: Mapping[str, str], by_name: Mapping[str, Found], findings: Findings) -> None:
    """Every job has at most one parent, so each walk ends at a root, at a known job, or where it has been before."""
    depths: dict[str, int] = {}
    for start in parents:
        walk: dict[str, None] = {}
        name = start
        while name in parents and name not in depths and name not in walk:
            walk[name] = None
            name = parents[name]
        if name in walk:
            _refuse_cycle(tuple(walk)[tuple(walk).index(name) :], by_name, findings)
            depths.update(dict.fromkeys(walk, 0))
            continue
        depth = depths.get(name, 0)
        for job in reversed(walk):
            depth += 1
            depths[job] = depth
            if depth == MAX_DEPTH + 1:
                _warn_of_depth(by_name[job], findings)


def _refuse_cycle(cycle: tuple[str, ...], by_name: Mapping[str, Found], findings: Findings) -> None:
    way = " → ".join([*cycle, cycle[0]] if len(cycle) < 10 else [*cycle[:9], "…", cycle[0]])
    words = f"These jobs wait for each other: {way}.", "Give one of them a schedule of its own."
    _add_at(by_name[cycle[0]], "after", words, findings)


def _warn_of_depth(job: Found, findings: Findings) -> None:
    path, spot = job.locate("after")
    words = f"More than {MAX_DEPTH} jobs stand before this one in its chain; it never runs by it."
    findings.warn(words, "Shorten the chain.", path=path, spot=spot)


def _add_at(job: Found, field: str, words: Wording, findings: Findings) -> None:
    path, spot = job.locate(field)
    findings.add(words, path=path, spot=spot)


def _check_pools(jobs: Sequence[Found], pools: Mapping[str, int], findings: Findings) -> None:
    known = (*pools, *(name for name in POOL_SIZES if name not in pools))
    for job in jobs:
        pool = job.definition.pool
        if pool not in known:
            near = nearest(pool, known)
            meant = f'Did you mean "{near}"? Otherwise add' if near else "Add"
            path, spot = job.locate("pool")
            cure = f"{meant} pools: {{{pool}: 1}}, or set its size with rota pool set."
            findings.warn(f'There is no pool "{pool}" in this file.', cure, path=path, spot=spot)
