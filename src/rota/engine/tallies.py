"""Tallies: runs that go stay counted, by the day on which they were put on record, in the zone of their job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rota.core.zone import wall_time, zone_named
from rota.ports.glances import OldRecord
from rota.ports.records import definition_of, recorded_at
from rota.ports.store import Transaction

_SECOND = 1e6
_Key = tuple[str, str, str]


async def keep_count(tx: Transaction, gone: Sequence[OldRecord]) -> None:
    """Count runs that are about to be deleted. Nobody can ask any more about those of a job that is gone itself."""
    definitions = await tx.definitions(ids=sorted({run.job_id for run in gone}))
    zones = {job_id: definition_of(text).timing.zone for job_id, text in definitions}
    if tallies := tally(gone, zones):
        await tx.add_to_tallies(gone=[(*key, *sums) for key, sums in sorted(tallies.items())])


def tally(gone: Sequence[OldRecord], zones: Mapping[str, str]) -> dict[_Key, tuple[int, float]]:
    """How many runs of each job and state there were on each day, and how many seconds they took together."""
    tallies: dict[_Key, tuple[int, float]] = {}
    for run in gone:
        if run.job_id not in zones:
            continue
        day = wall_time(recorded_at(run.id), zone_named(zones[run.job_id])).date()
        key = (run.job_id, day.isoformat(), run.state)
        count, seconds = tallies.get(key, (0, 0.0))
        tallies[key] = (count + run.count, seconds + max(0, run.length) / _SECOND)
    return tallies
