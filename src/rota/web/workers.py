"""Workers: who does the work, how their machines fare, and what the runs under way show of themselves."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rota.core.run import RunState
from rota.operations.limits import list_limits
from rota.operations.runs import list_runs
from rota.operations.views import RunView, WorkerView
from rota.operations.workers import HeartbeatView, SnapshotView, list_heartbeats, list_snapshots, list_workers
from rota.web.sparklines import Sparkline, sparkline
from rota.web.visit import Context, Visit

_SHOWN = 20
_GONE = 10
_RUNS = 200


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A run under way. One that has just begun has not been looked at yet."""

    run: RunView
    sign: HeartbeatView | None


class Station(msgspec.Struct, frozen=True, kw_only=True):
    """A worker with its runs and its machine."""

    worker: WorkerView
    runs: tuple[Work, ...]
    sparklines: tuple[Sparkline, ...]

    @property
    def status(self) -> str:
        """What it says of itself at each beat; what its runs show is newer."""
        return "busy" if self.runs else self.worker.status


async def show(visit: Visit) -> Context:
    workers = (await list_workers(visit.site)).items
    here = [one for one in workers if one.ended_at is None]
    signs = {one.run_id: one for one in (await list_heartbeats(visit.site)).items}
    running = (await list_runs(visit.site, state=(RunState.RUNNING,), limit=_RUNS)).items
    runs = [Work(run=one, sign=signs.get(one.id)) for one in running]
    limits = (await list_limits(visit.site)).items
    return {
        "stations": [await _station(visit, one, runs) for one in here[:_SHOWN]],
        "left_out": len(here[_SHOWN:]),
        "gone": [one for one in workers if one.ended_at is not None][:_GONE],
        "pools": [one for one in limits if one.scope != "agent"],
    }


async def _station(visit: Visit, worker: WorkerView, runs: Sequence[Work]) -> Station:
    seen = (await list_snapshots(visit.site, worker=worker.id)).items
    return Station(
        worker=worker,
        runs=tuple(one for one in runs if one.run.worker == worker.id),
        sparklines=_sparklines(seen[::-1]),
    )


def _sparklines(seen: Sequence[SnapshotView]) -> tuple[Sparkline, ...]:
    return (
        sparkline("CPU", [one.cpu_percent for one in seen], unit="%", least_top=100),
        sparkline("Memory", [one.memory_mb for one in seen], unit="MB"),
        sparkline("Load", [one.load for one in seen], least_top=1),
        sparkline("Running", [one.running for one in seen], least_top=1),
    )
