"""The doctor looks at the database: its version, its tables, damage, contradictions, and its clock."""

from __future__ import annotations

import re
from datetime import timedelta

from rota.ledger.site import Site
from rota.operations.database import contradictions
from rota.operations.health.findings import Findings, failure, found, ok, warning
from rota.ports.records import instant
from rota.ports.store import Store, Transaction

_LEAST = {"sqlite": (3, 51, 3), "postgres": (14,)}
_WORDS = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
_CURES = {
    "sqlite": "Install a newer library: pip install --upgrade apsw",
    "postgres": "Move to a newer PostgreSQL: pg_upgrade, or a new server and rota db copy",
}
_SKEW, _WIDE_SKEW = timedelta(seconds=1), timedelta(seconds=30)


async def check_version(store: Store) -> Findings:
    """Whether the database is new enough."""
    return judge_version(store.name, await store.version())


def judge_version(name: str, version: str) -> Findings:
    """Whether a version is new enough. One that cannot be read is left alone."""
    check, numbers = "database_version", tuple(map(int, re.findall(r"\d+", version)[:3]))
    if not numbers or name not in _LEAST:
        return ()
    words, least = f"{_WORDS[name]} {version}", ".".join(map(str, _LEAST[name]))
    if numbers < _LEAST[name]:
        return (failure(check, f"This is {words}, but Rota needs {least} or newer.", _CURES[name]),)
    return ok(check, f"{words} is new enough.")


async def check_tables(store: Store) -> Findings:
    """Whether every table can be read."""

    async def body(tx: Transaction) -> None:
        await tx.jobs(after="", most=1)
        await tx.runs(before="run_z", most=1)
        await tx.chain_parents()
        await tx.queue_depths()
        await tx.slots()
        await tx.workers(most=1)
        await tx.leases_of(worker="")
        await tx.output(run_id="", after=0, most=1)
        await tx.find_key(key="")
        await tx.heartbeats()
        await tx.snapshots(since=0, most=1)
        await tx.tallies_of(job_id="", since="")
        await tx.events(after="", most=1)
        await tx.fleets()
        await tx.agents()
        await tx.tokens()
        await tx.signing_key(name="")
        await tx.audit(before="", subject=None, like=None, most=1)

    try:
        await store.read(body)
    except Exception as error:  # noqa: BLE001 - each database says it in an error of its own
        cure = "Bring them up to date: rota db migrate"
        return (failure("tables", f"A table cannot be read: {str(error).rstrip('.')}.", cure),)
    return ok("tables", "Every table is there and up to date.")


async def check_damage(store: Store) -> Findings:
    cure = "Stop the engine, keep this database as it is, and bring back the latest copy: rota backup"
    faults = [
        failure("damage", f"The database is damaged: {fault.rstrip('.')}.", cure) for fault in await store.damage()
    ]
    return found("damage", faults, well="The database finds no damage in itself.")


async def check_contradictions(store: Store) -> Findings:
    cure = "Restart the engine, which sorts out what others left: rota up. Then look again: rota db check"
    faults = [failure("contradictions", fault, cure) for fault in await contradictions(store)]
    return found("contradictions", faults, well="No rows contradict each other.")


async def check_clock(site: Site) -> Findings:
    """How far this clock is from the database's; what the length of the question can explain does not count."""
    asked = site.clock.now()
    (answer,) = await site.store.read(lambda tx: tx.database_time())
    answered = site.clock.now()
    # This clock may follow the database's already.
    difference = instant(answer) - (asked + (answered - asked) / 2) + site.clock.offset
    apart = abs(difference) - (answered - asked) / 2
    message = f"The clocks of this machine and of the database are {apart.total_seconds():.1f} seconds apart."
    cure = "Let both machines set their clocks by the network: timedatectl set-ntp true"
    if apart > _WIDE_SKEW:
        return (failure("clock", message, cure),)
    if apart > _SKEW:
        return (warning("clock", message, cure),)
    return ok("clock", "The clocks of this machine and of the database agree.")
