"""Simulating: what the coming days will look like. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

from msgspec import Meta

from rota.errors import NotFoundError, ScheduleError
from rota.ledger.site import Site
from rota.operations.inputs import Instant, Name
from rota.operations.simulation.course import Course, subject
from rota.operations.simulation.habits import Habit, habits_of
from rota.operations.simulation.tally import Tally
from rota.operations.simulation.views import Simulation
from rota.operations.thinking import think
from rota.ports.records import JobRecord, SlotRecord
from rota.ports.store import Transaction

Days = Annotated[int, Meta(ge=1, le=366)]
MOST = 200_000
_BATCH = 1_000
_FARTHEST = timedelta(days=20 * 366)


async def simulate(
    site: Site, *, days: Days = 7, agent: Name | None = None, begin: Instant | None = None
) -> Simulation:
    """What the coming days will look like if every run takes as long as usual; with an agent, for its jobs alone."""
    now = site.clock.now()
    start = _checked(now, begin)
    records = [record for record in await _jobs(site, agent) if record.is_enabled and not record.is_proposed]
    slots = await site.store.read(lambda tx: tx.slots())
    habits = await habits_of(site, records)
    # It takes a while, in which others have the loop.
    end = start + timedelta(days=days)
    return await think(lambda: _simulated(now, start, end, (records, habits, slots)))


def _checked(now: datetime, begin: datetime | None) -> datetime:
    if begin is not None and not now <= begin <= now + _FARTHEST:
        raise ScheduleError(
            field="begin",
            value=begin.isoformat(),
            expected="a time to come, within 20 years",
            example=(now + timedelta(days=1)).isoformat(timespec="minutes"),
        )
    return now if begin is None else begin.astimezone(UTC)


async def _jobs(site: Site, agent: str | None) -> list[JobRecord]:
    if agent is not None:
        owned = await site.store.read(lambda tx: tx.jobs_of_agent(agent=agent))
        if not owned:
            raise NotFoundError(f'No job belongs to an agent "{agent}". See them all: rota agent list')
        return owned
    found: list[JobRecord] = []

    async def body(tx: Transaction) -> list[JobRecord]:
        return await tx.jobs(after=found[-1].name if found else "", most=_BATCH)

    while batch := await site.store.read(body):
        found += batch
    return found


def _simulated(
    now: datetime, begin: datetime, end: datetime, given: tuple[Sequence[JobRecord], dict[str, Habit], list[SlotRecord]]
) -> Simulation:
    records, habits, slots = given
    subjects = [subject(now, record, habits.get(record.id, Habit())) for record in records]
    tally = Tally(subjects, slots, begin, end)
    complete_until = end
    for count, occurrence in enumerate(Course(now, subjects).until(end)):
        if count == MOST:
            complete_until = max(begin, occurrence.at)
            break
        if occurrence.at >= begin:
            tally.add(occurrence)
    return tally.simulation(now, complete_until)
