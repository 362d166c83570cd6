"""Events: what happened, in order, from the transactions in which it happened."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import partial

import msgspec

from rota.errors import ScheduleError
from rota.ledger.events import events_of
from rota.ledger.site import Site
from rota.operations.inputs import Cursor, Instant, Limit
from rota.operations.views import Page
from rota.ports.records import EventRecord, instant, micros
from rota.ports.store import Transaction

_LAST = "evt_z"
# Transactions that go on side by side may commit in another order than that of their ids, but not by more than this.
OVERLAP = timedelta(seconds=3)
_BATCH, _PAGES = 1_000, 50
_ID = re.compile(r"evt_[0-9a-f]{14,40}(\.[0-9]{1,6})?", re.ASCII)


def event_id(at: datetime) -> str:
    """The id that an event of this moment would begin with: what happens later comes after it."""
    return f"evt_{micros(at):014x}"


class EventView(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened. Ids sort by time, and an event keeps its id."""

    id: str
    at: Instant
    event: str
    job: str | None
    run_id: str | None
    state: str | None
    reason: str | None
    by: str | None


async def list_events(site: Site, *, after: Cursor | None = None, limit: Limit = 100) -> Page[EventView]:
    """Events after one, in order; without ``after`` the latest ones. ``next`` goes on from the last one given."""
    if after is None:
        rows = await site.store.read(lambda tx: tx.latest_events(before=_LAST, most=limit))
        found = [view for row in reversed(rows) for view in _views(row)][-limit:]
    else:
        _time_of(after)
        rows = await site.store.read(lambda tx: tx.events(after=_just_before(after), most=limit + 1))
        place = _place(after)
        found = [view for row in rows for view in _views(row) if _place(view.id) > place][:limit]
    seen = tuple(view for view in found if _is_visible(site, view))
    return Page(seen, found[-1].id if found else after)


class EventReader:
    """Reads on from where it stopped, and gives every event once, also one that was committed out of order.

    One that resumes after an event also gives those of the moments before it again: whoever needs each only once
    knows them by their ids.
    """

    def __init__(self, site: Site, *, after: str | None = None) -> None:
        self._site = site
        self._after = after
        self._since = None if after is None else _time_of(after)
        self._seen: dict[str, datetime] = {}

    async def read(self) -> list[EventView]:
        """What is new since the last time; nothing at the first time, unless it resumes."""
        is_first = self._since is None
        since = self._since or self._site.clock.now()
        fresh = await self._unseen(since)
        for row in fresh:
            self._seen[row.id] = instant(row.at)
        self._since = max([since, *(instant(row.at) for row in fresh)])
        self._seen = {key: at for key, at in self._seen.items() if at >= self._since - 2 * OVERLAP}
        return [] if is_first else [view for row in fresh for view in _views(row) if view.id != self._after]

    async def _unseen(self, since: datetime) -> list[EventRecord]:
        fresh: list[EventRecord] = []
        last = event_id(since - OVERLAP)
        for _ in range(_PAGES):
            rows = await self._site.store.read(partial(_events, after=last))
            fresh += [row for row in rows if row.id not in self._seen]
            if len(rows) < _BATCH:
                break
            last = rows[-1].id
        return fresh


async def _events(tx: Transaction, *, after: str) -> list[EventRecord]:
    return await tx.events(after=after, most=_BATCH)


def _is_visible(site: Site, view: EventView) -> bool:
    """A run hears of its own events only."""
    return not site.caller.is_run or view.run_id == site.caller.run_id


def _place(event_id: str) -> tuple[str, int]:
    row_id, _, index = event_id.partition(".")
    return row_id, int(index) if index.isascii() and index.isdigit() else -1


def _just_before(event_id: str) -> str:
    """A row has several events, so the row of this one is read again."""
    row_id, _ = _place(event_id)
    return f"{row_id[:-1]}{chr(ord(row_id[-1]) - 1)}"


def _time_of(event_id: str) -> datetime:
    if not _ID.fullmatch(event_id):
        example = "evt_06440b3a3c8c000000a1b2c3d4.0"
        raise ScheduleError(field="after", value=event_id, expected="the id of an event", example=example)
    return instant(int(event_id[4:18], 16))


def _views(row: EventRecord) -> list[EventView]:
    at = instant(row.at)
    return [
        EventView(
            id=f"{row.id}.{index}",
            at=at,
            event=one.event,
            job=one.job,
            run_id=one.run_id,
            state=one.state,
            reason=one.reason,
            by=one.by,
        )
        for index, one in enumerate(events_of(row.entries))
    ]
