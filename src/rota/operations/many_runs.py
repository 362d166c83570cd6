"""Many runs at once: ended, or asked for again. What cannot be done to one does not keep the others from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated

import msgspec

from rota.core.admission import Skip
from rota.core.run import LIVE
from rota.errors import ConflictError, NotFoundError, StoreUnavailableError
from rota.ledger.plans import hold
from rota.ledger.requests import Requested, Wish, request_runs
from rota.ledger.site import Site
from rota.operations.auditing import put_on_record
from rota.operations.inputs import Name, Text
from rota.operations.runs import cancel_held, find_run, has_ended, has_not_ended, is_orphan, retried
from rota.ports.records import RunRecord
from rota.ports.store import Transaction

MOST = 1_000
# So many share a transaction: short enough that nothing due waits for it.
_TOGETHER = 100

RunNames = Annotated[tuple[Name, ...], msgspec.Meta(min_length=1, max_length=MOST)]


class RefusedRun(msgspec.Struct, frozen=True):
    """A run to which it could not be done, and why."""

    run_id: str
    why: str


class ManyRuns(msgspec.Struct, frozen=True, kw_only=True):
    """What became of many runs: those that it was done to, the runs made by that, and those left as they are."""

    done: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    refused: tuple[RefusedRun, ...] = ()


_Do = Callable[[Transaction, list[str]], Awaitable[ManyRuns]]


async def cancel_many(site: Site, *, runs: RunNames, reason: Text = "by_hand") -> ManyRuns:
    """End runs with everything they have started: at once those that wait; those that run are told to."""
    now = site.clock.now()

    async def body(tx: Transaction, ids: list[str]) -> ManyRuns:
        held = await tx.lock_runs(ids=sorted(ids))
        live = [run for run in held if run.state in LIVE]
        if live:
            await cancel_held(tx, now, site, live, reason)
        refused = [RefusedRun(run.id, has_ended(run)) for run in held if run.state not in LIVE]
        return ManyRuns(done=tuple(run.id for run in live), refused=tuple(refused))

    return await _each(site, runs, body)


async def retry_many(site: Site, *, runs: RunNames) -> ManyRuns:
    """Ask for the work of runs once more, each with the same input."""
    now = site.clock.now()

    async def body(tx: Transaction, ids: list[str]) -> ManyRuns:
        found = await tx.runs_by_id(ids=ids)
        jobs = await hold(tx, [run.job_id for run in found])
        refusals = {run.id: has_not_ended(run) for run in found if run.state in LIVE}
        refusals |= {run.id: is_orphan(run) for run in found if run.job_id not in jobs}
        wanted = [run for run in found if run.id not in refusals]
        new_ids = site.entropy.ids("run", now, len(wanted))
        wishes = [Wish(new, jobs[run.job_id], run.input) for new, run in zip(new_ids, wanted, strict=True)]
        requested = await request_runs(tx, now, site, wishes) if wishes else []
        if requested:
            changes = [retried(run, one.run_id) for run, one in zip(wanted, requested, strict=True)]
            await put_on_record(tx, now, site, *changes)
        return _retried(wanted, requested, refusals)

    return await _each(site, runs, body)


def _retried(wanted: list[RunRecord], requested: list[Requested], refusals: dict[str, str]) -> ManyRuns:
    pairs = list(zip(wanted, requested, strict=True))
    skipped = {
        run.id: f"{one.run_id} was skipped: {one.admission.reason}"
        for run, one in pairs
        if isinstance(one.admission, Skip)
    }
    return ManyRuns(
        done=tuple(run.id for run, _ in pairs if run.id not in skipped),
        made=tuple(one.run_id for run, one in pairs if run.id not in skipped),
        refused=tuple(RefusedRun(run_id, why) for run_id, why in (refusals | skipped).items()),
    )


async def _each(site: Site, names: tuple[str, ...], do: _Do) -> ManyRuns:
    """Do it to so many at a time. If the database goes away in between, the rest is refused, not forgotten."""
    ids, unknown = await _known(site, names)
    whole = ManyRuns(refused=tuple(unknown))
    for some in _batches(ids):
        try:
            part = await site.store.write(lambda tx, some=some: do(tx, some))  # type: ignore[misc]
        except StoreUnavailableError as error:
            if not whole.done:
                raise
            part = ManyRuns(refused=tuple(RefusedRun(run_id, str(error)) for run_id in some))
        whole = _joined(whole, part, some)
    return whole


def _joined(whole: ManyRuns, part: ManyRuns, asked: list[str]) -> ManyRuns:
    """Both together. What the part does not speak of has gone since it was asked for."""
    told = {*part.done, *(one.run_id for one in part.refused)}
    gone = tuple(RefusedRun(run_id, f'There is no run "{run_id}" any more.') for run_id in asked if run_id not in told)
    return ManyRuns(
        done=whole.done + part.done, made=whole.made + part.made, refused=whole.refused + part.refused + gone
    )


async def _known(site: Site, names: tuple[str, ...]) -> tuple[list[str], list[RefusedRun]]:
    """The ids of runs, each once; those that are no runs apart."""
    ids = {run_id: run_id for (run_id,) in await site.store.read(lambda tx: tx.known_runs(ids=names))}
    unknown = []
    for name in dict.fromkeys(names):
        try:
            ids.setdefault(name, name if name in ids else (await find_run(site, name)).id)
        except (NotFoundError, ConflictError) as error:
            unknown.append(RefusedRun(name, str(error)))
    return list(dict.fromkeys(ids.values())), unknown


def _batches(ids: list[str]) -> Iterator[list[str]]:
    return (ids[first : first + _TOGETHER] for first in range(0, len(ids), _TOGETHER))
