"""Record: what ended is settled, in one transaction for a whole batch, guarded by the fencing tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from rota.core.run import LIVE, RunState
from rota.core.settlement import Outcome
from rota.core.usage import Usage
from rota.ledger.claimed import ClaimedRun
from rota.ledger.events import Event, tell
from rota.ledger.limits import freed
from rota.ledger.rows import Row
from rota.ledger.settling import Ending, Settling
from rota.ledger.site import Site
from rota.ports.records import WaitingRecord, micros
from rota.ports.store import Transaction


class Ended(NamedTuple):
    """A claimed run and how it ended."""

    run: ClaimedRun
    outcome: Outcome
    result: str | None = None
    response: str | None = None


class Recorded(NamedTuple):
    """Which results were accepted: the others came with a token that no longer counts. And whether runs now wait."""

    accepted: frozenset[str]
    is_queued: bool


async def record_ended(
    tx: Transaction, now: datetime, ended: Sequence[Ended], site: Site, *, done_tokens: Sequence[int] = ()
) -> Recorded:
    """Settle runs of this worker. ``done_tokens`` are leases of which nothing is left."""
    plain = await _record_plain(tx, now, [end for end in ended if _is_plain(end)])
    rest = [end for end in ended if end.run.id not in plain]
    await tell(tx, now, site, [_succeeded(end.run) for end in ended if end.run.id in plain])
    settling = Settling(now, site)
    endings = await _held_endings(tx, rest) if rest else []
    await settling.settle(tx, endings)
    await settling.write(tx)
    accepted = plain | {ending.run.id for ending in endings}
    await _free(tx, [end.run for end in ended if end.run.id in accepted])
    if done_tokens:
        await tx.delete_leases(gone=[(token,) for token in done_tokens])
    return Recorded(accepted, settling.is_queued)


async def end_waiting(
    tx: Transaction, now: datetime, waiting: Sequence[WaitingRecord], outcome: Outcome, site: Site
) -> None:
    """Settle runs that never started, all with the same outcome."""
    await tx.leave_queue(gone=[row.key for row in waiting])
    runs = await tx.lock_runs(ids=[row.run_id for row in waiting])
    settling = Settling(now, site)
    await settling.settle(tx, [Ending(run, outcome) for run in runs if run.state in LIVE])
    await settling.write(tx)


def _succeeded(run: ClaimedRun) -> Event:
    return Event("run.succeeded", run.job, run.id, RunState.SUCCEEDED)


def _is_plain(end: Ended) -> bool:
    """A success that its run's own row can hold; whether the plan takes part is for the database to say."""
    return end.outcome.state is RunState.SUCCEEDED and not end.outcome.reason and end.outcome.usage == Usage()


async def _record_plain(tx: Transaction, now: datetime, ended: Sequence[Ended]) -> frozenset[str]:
    """Successes that change nothing but their own row; those of which the database thinks otherwise are left."""
    if not ended:
        return frozenset()
    tokens = {end.run.id: end.run.token for end in ended}
    count = await tx.end_plain_runs(ended=[_plain_row(end) for end in ended], now=micros(now))
    if count == len(tokens):
        return frozenset(tokens)
    runs = await tx.runs_by_id(ids=sorted(tokens)) if count else []
    return frozenset(run.id for run in runs if (run.token, run.ended_at) == (tokens[run.id], micros(now)))


def _plain_row(end: Ended) -> Row:
    run, outcome = end.run, end.outcome
    return (
        run.id,
        run.token,
        outcome.exit_code,
        outcome.http_status,
        end.result,
        end.response,
    )


async def _held_endings(tx: Transaction, ended: Sequence[Ended]) -> list[Ending]:
    """The endings whose token still counts."""
    runs = {run.id: run for run in await tx.lock_runs(ids=[end.run.id for end in ended])}
    return [
        Ending(run, end.outcome, end.result, end.response)
        for end in ended
        if (run := runs.get(end.run.id)) is not None and run.state == RunState.RUNNING and run.token == end.run.token
    ]


async def _free(tx: Transaction, runs: Sequence[ClaimedRun]) -> None:
    if not runs:
        return
    await tx.free_slots(freed=freed(runs))
    if any(run.concurrency_key is not None for run in runs):
        await tx.drop_unused_keys()
