"""The audit: who changed what, through which door, and what became of it."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from rota.operations.auditing import AuditView, list_audit
from rota.web.differences import Difference, differences
from rota.web.visit import Context, Visit

_SHOWN = 50
_OF_JOBS = frozenset({"job", "hint", "backfill"})


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A change as the page shows it: with where its subject is found, and what differs."""

    change: AuditView
    address: str | None
    differs: tuple[Difference, ...]


async def show(visit: Visit) -> Context:
    found = await list_audit(
        visit.site,
        subject=visit.text("subject"),
        contains=visit.text("contains"),
        after=visit.text("after"),
        limit=_SHOWN,
    )
    return {"entries": [_entry(one) for one in found.items], "next": found.next}


def _entry(change: AuditView) -> Entry:
    return Entry(change=change, address=_address(change), differs=differences(change.before, change.after))


def _address(change: AuditView) -> str | None:
    """The page of what was changed, if it has one."""
    noun, _, verb = change.operation.partition(".")
    piece = quote(change.subject, safe="")
    if noun in _OF_JOBS and verb != "remove":
        return f"/jobs/{piece}"
    if noun == "run":
        return f"/runs/{piece}"
    if noun == "pool":
        return "/workers"
    return "/settings" if noun in ("token", "fleet") else None
