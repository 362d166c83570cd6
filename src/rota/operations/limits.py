"""Limits: how many runs may be under way at once, in a pool, for an agent, and in all."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from rota.core.definition import check_name
from rota.errors import NotFoundError, ScheduleError
from rota.ledger.site import Site
from rota.operations.auditing import Change, put_on_record
from rota.operations.inputs import Name
from rota.operations.views import Page
from rota.ports.records import SlotRecord
from rota.ports.store import Transaction

LARGEST = 100_000
Size = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]


class LimitScope(StrEnum):
    POOL = "pool"
    AGENT = "agent"


class LimitView(msgspec.Struct, frozen=True):
    """A pool or an agent, how many runs it may have under way, and how many it has."""

    scope: str
    name: str
    size: int | None
    used: int


async def list_limits(site: Site) -> Page[LimitView]:
    """Every limit that has a size or is in use; keys, which hold one run each, are left out."""
    slots = await site.store.read(lambda tx: tx.slots())
    return Page(tuple(limit_view(slot) for slot in slots if slot.scope != "key"))


async def set_limit(site: Site, *, name: Name, size: Size, scope: LimitScope = LimitScope.POOL) -> LimitView:
    """Change a limit at once. Runs under way go on; if there are more of them than the new size, none is added."""
    check_name("name", name)
    if not 0 <= size <= LARGEST:
        raise ScheduleError(field="size", value=str(size), expected=f"a number from 0 to {LARGEST}", example="4")
    now = site.clock.now()

    async def body(tx: Transaction) -> LimitView:
        if scope == "agent" and not any((slot.scope, slot.name) == (scope, name) for slot in await tx.slots()):
            raise NotFoundError(f'No job belongs to an agent "{name}". See them all: rota pool list')
        before = next((slot.size for slot in await tx.slots() if (slot.scope, slot.name) == (scope, name)), None)
        await tx.size_slot(scope=scope, name=name, size=size)
        await tx.ring()
        fields = ({"scope": scope, "size": before}, {"scope": scope, "size": size})
        change = Change(operation="pool.set", subject=name, event="pool.set", before=fields[0], after=fields[1])
        await put_on_record(tx, now, site, change)
        return next(limit_view(slot) for slot in await tx.slots() if (slot.scope, slot.name) == (scope, name))

    return await site.store.write(body)


def limit_view(slot: SlotRecord) -> LimitView:
    return LimitView(slot.scope, slot.name, slot.size, slot.used)
