"""The database itself: its tables, its damage, its unused space, and rows that contradict each other."""

from __future__ import annotations

import msgspec

from rota.ledger.site import Site
from rota.operations.auditing import Change, put_on_record
from rota.ports.store import Store, Transaction


class Faults(msgspec.Struct, frozen=True):
    """What is wrong, a sentence each."""

    faults: tuple[str, ...]


class Migrated(msgspec.Struct, frozen=True):
    """The migrations that were applied now."""

    applied: tuple[str, ...]


class Vacuumed(msgspec.Struct, frozen=True):
    is_done: bool


async def check_database(site: Site) -> Faults:
    """Look for damage, and for rows that contradict each other."""
    return Faults((*await site.store.damage(), *await contradictions(site.store)))


async def migrate_database(site: Site) -> Migrated:
    """Bring the tables up to date."""
    return Migrated(await site.store.migrate())


async def vacuum_database(site: Site) -> Vacuumed:
    """Give unused space back."""
    await site.store.vacuum()
    now = site.clock.now()
    change = Change(operation="db.vacuum", subject=site.store.name, event="db.vacuumed")
    await site.store.write(lambda tx: put_on_record(tx, now, site, change))
    return Vacuumed(is_done=True)


async def contradictions(store: Store) -> list[str]:
    """What cannot be true at once, a sentence each."""

    async def body(tx: Transaction) -> list[str]:
        return [
            *(f"{run_id} waits in the queue, but its state is {state}." for run_id, state in await tx.misplaced_runs()),
            *(f"{run_id} is queued, but not in the queue." for (run_id,) in await tx.forgotten_runs()),
            *(f"{run_id} is running, but nobody holds it." for (run_id,) in await tx.unheld_runs()),
            *(
                f"The {scope} {name} counts {used} runs, but {running} are running."
                for scope, name, used, running in await tx.miscounted_slots()
            ),
        ]

    return await store.read(body)
