"""Events: what happened, told in the transaction in which it happened, all of it in one row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from rota.ledger.rows import Row, RunRow
from rota.ledger.site import Site
from rota.ports.records import micros
from rota.ports.store import Transaction


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One thing that happened, named ``noun.past_verb``."""

    event: str
    job: str | None = None
    run_id: str | None = None
    state: str | None = None
    reason: str | None = None
    by: str | None = None


_JOB, _STATE, _REASON = (RunRow.__struct_fields__.index(name) for name in ("job", "state", "reason"))
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(tuple[Event, ...])


async def tell(tx: Transaction, now: datetime, site: Site, events: Sequence[Event]) -> None:
    """Put events on record."""
    if events:
        (event_id,) = site.entropy.ids("evt", now, 1)
        await tx.insert_events(id=event_id, now=micros(now), entries=_encoder.encode(events).decode())


def started(runs: Iterable[tuple[str, str]]) -> list[Event]:
    """Runs, by job and id, that have begun."""
    return [Event("run.started", job, run_id, "running") for job, run_id in runs]


def inserted(rows: Iterable[Row]) -> list[Event]:
    """Runs, as rows of ``insert_runs``, that wait or never began."""
    return [Event(f"run.{row[_STATE]}", row[_JOB], row[0], row[_STATE], row[_REASON]) for row in rows]


def events_of(entries: str) -> tuple[Event, ...]:
    return _decoder.decode(entries)
