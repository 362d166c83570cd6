"""The audit: who changed what, from what to what, through which door; and the event that tells of it."""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from rota.ledger.events import Event, tell
from rota.ledger.site import Site
from rota.operations.inputs import Cursor, Instant, Limit, Name
from rota.operations.views import Page
from rota.ports.records import AuditRecord, encode, instant, micros
from rota.ports.store import Transaction

_LAST = "adt_z"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change as it is put on record. ``event`` is what others hear of it."""

    operation: str
    subject: str
    event: str
    before: object = None
    after: object = None
    job: str | None = None
    run_id: str | None = None
    reason: str | None = None


class AuditView(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    at: Instant
    caller: str
    door: str
    operation: str
    subject: str
    before: object
    after: object


async def put_on_record(tx: Transaction, now: datetime, site: Site, *changes: Change) -> None:
    """Note changes in the transaction that makes them."""
    ids = site.entropy.ids("adt", now, len(changes))
    caller = (site.caller.name, site.caller.door)
    await tx.insert_audit(
        new=[
            (audit_id, micros(now), *caller, one.operation, one.subject, _text(one.before), _text(one.after))
            for audit_id, one in zip(ids, changes, strict=True)
        ]
    )
    events = [Event(one.event, one.job, one.run_id, None, one.reason, site.caller.name) for one in changes]
    await tell(tx, now, site, events)


async def list_audit(
    site: Site,
    *,
    subject: Name | None = None,
    contains: Name | None = None,
    after: Cursor | None = None,
    limit: Limit = 100,
) -> Page[AuditView]:
    """Changes, the latest first: of one subject, or of all whose name contains a text."""
    pattern = None if contains is None else f"%{_escaped(contains.lower())}%"
    before = after or _LAST
    rows = await site.store.read(lambda tx: tx.audit(before=before, subject=subject, like=pattern, most=limit + 1))
    shown = tuple(_view(row) for row in rows[:limit])
    return Page(shown, shown[-1].id if len(rows) > limit else None)


def _escaped(text: str) -> str:
    """A text in which nothing stands for any other text."""
    return re.sub(r"([!%_])", r"!\1", text)


def _text(value: object) -> str | None:
    return None if value is None else encode(value)


def _view(row: AuditRecord) -> AuditView:
    return AuditView(
        id=row.id,
        at=instant(row.at),
        caller=row.caller,
        door=row.door,
        operation=row.operation,
        subject=row.subject,
        before=_value(row.before),
        after=_value(row.after),
    )


def _value(text: str | None) -> object:
    return None if text is None else msgspec.json.decode(text)
