"""What comes: the next due times of one job, and of all of them together."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

import msgspec

from rota.core.job import JobState
from rota.ledger.site import Site
from rota.operations.foreseeing import foreseen_times
from rota.operations.inputs import Count, Instant, Name
from rota.operations.jobs import find_job, may_see
from rota.operations.views import Page
from rota.ports.records import JobRecord, definition_of, job_state
from rota.ports.store import Transaction


class ComingTime(msgspec.Struct, frozen=True):
    """A due time to come, as things stand, and where it comes from."""

    at: Instant
    job: str
    source: str
    timezone: str


async def coming_times_of_job(site: Site, *, job: Name, count: Count = 10) -> Page[ComingTime]:
    """The next due times of a job, as if every run took no time."""
    record, now = await find_job(site, job), site.clock.now()
    return Page(tuple(islice(_times(now, record), count)))


async def list_coming(site: Site, *, count: Count = 10) -> Page[ComingTime]:
    """The next due times of all jobs together."""
    now = site.clock.now()

    async def body(tx: Transaction) -> list[JobRecord]:
        # Whatever comes among the first times of all comes from the jobs that are due first.
        return await tx.coming_jobs(most=count)

    records = [one for one in await site.store.read(body) if may_see(site.caller, one.agent, one.id)]
    return Page(first_coming(now, records, count))


def first_coming(now: datetime, records: Iterable[JobRecord], count: int) -> tuple[ComingTime, ...]:
    """The first due times of some jobs together."""
    merged = heapq.merge(*(_times(now, record) for record in records), key=lambda one: (one.at, one.job))
    return tuple(islice(merged, count))


def _times(now: datetime, record: JobRecord) -> Iterator[ComingTime]:
    state: JobState = job_state(record)
    zone = definition_of(record.definition).timing.zone
    for at, source in foreseen_times(now, state):
        yield ComingTime(at, record.name, source, zone)
