"""Workers: who does the work, how their machines fare, and what the runs under way show of themselves."""

from __future__ import annotations

import msgspec

from rota.ledger.site import Site
from rota.operations.inputs import Instant, Limit, Name
from rota.operations.views import Page, WorkerView, worker_view
from rota.ports.glances import HeartbeatRecord, SnapshotRecord
from rota.ports.records import instant, instant_or_none, micros
from rota.ports.store import Transaction

_MOST_HEARTBEATS = 1_000


class SnapshotView(msgspec.Struct, frozen=True, kw_only=True):
    """A machine as its worker saw it at one moment."""

    worker: str
    taken_at: Instant
    active_workers: int
    active_agents: int
    """Agents with a run under way at this worker."""
    running: int
    tmux_sessions: int
    cpu_percent: float
    memory_mb: float
    load: float


class HeartbeatView(msgspec.Struct, frozen=True, kw_only=True):
    """A run under way, as its worker last saw it."""

    worker: str
    run_id: str
    job: str
    agent: str | None
    status: str
    """``working``, ``quiet``, ``silent`` or ``dead``."""
    context: str
    """The last lines that it wrote."""
    last_seen_at: Instant
    started_at: Instant | None


async def list_workers(site: Site, *, limit: Limit = 50) -> Page[WorkerView]:
    """Workers, the latest first."""
    rows = await site.store.read(lambda tx: tx.workers(most=limit))
    return Page(tuple(worker_view(row) for row in rows))


async def list_snapshots(
    site: Site, *, worker: Name | None = None, since: Instant | None = None, limit: Limit = 120
) -> Page[SnapshotView]:
    """How the machines fared, of all workers or of one, the latest first. Each looks once a minute."""
    begin = 0 if since is None else micros(since)

    async def body(tx: Transaction) -> list[SnapshotRecord]:
        if worker is None:
            return await tx.snapshots(since=begin, most=limit)
        return await tx.snapshots_of_worker(worker=worker, since=begin, most=limit)

    return Page(tuple(_snapshot(row) for row in await site.store.read(body)))


async def list_heartbeats(site: Site) -> Page[HeartbeatView]:
    """What the runs under way show of themselves; a run that has just begun has not been looked at yet."""

    async def body(tx: Transaction) -> list[HeartbeatRecord]:
        leases = [(lease.worker, msgspec.json.decode(lease.run_ids, type=list[str])) for lease in await tx.leases()]
        held = [(worker, run_id) for worker, run_ids in leases for run_id in run_ids]
        return await tx.held_heartbeats(held=held, most=_MOST_HEARTBEATS) if held else []

    return Page(tuple(_heartbeat(row) for row in await site.store.read(body)))


def _snapshot(row: SnapshotRecord) -> SnapshotView:
    return SnapshotView(
        worker=row.worker,
        taken_at=instant(row.taken_at),
        active_workers=row.active_workers,
        active_agents=row.active_agents,
        running=row.running,
        tmux_sessions=row.tmux_sessions,
        cpu_percent=row.cpu_percent,
        memory_mb=row.memory_mb,
        load=row.load,
    )


def _heartbeat(row: HeartbeatRecord) -> HeartbeatView:
    return HeartbeatView(
        worker=row.worker,
        run_id=row.run_id,
        job=row.job,
        agent=row.agent,
        status=row.status,
        context=row.context,
        last_seen_at=instant(row.last_seen_at),
        started_at=instant_or_none(row.started_at),
    )
