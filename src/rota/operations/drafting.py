"""Drafting: what a job would be if it were saved as it is written now. Nothing is saved, and no word is refused."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from rota.core.definition import Definition, check_definition
from rota.core.job import Timing
from rota.core.quiet import quiet_end
from rota.core.schedule import stagger_offset
from rota.core.words import in_words
from rota.core.zone import zone_named
from rota.errors import InputError, Problem
from rota.ledger.jobs import refuse_passed_time
from rota.ledger.site import Site
from rota.operations.inputs import FleetSource, Name, Words, Zone
from rota.operations.preview import DueTime, notes_of, times_when_saved
from rota.operations.thinking import think

if TYPE_CHECKING:
    from rota.config.drafts import Draft

_SHOWN = 5
# A longer text takes so long to read that others would notice.
_LONG = 50_000


class JobPreview(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it is written: its words, everything that is wrong with them, and if nothing is, when it would run."""

    definition: dict[str, Any]
    problems: tuple[Problem, ...]
    in_words: str = ""
    warnings: tuple[str, ...] = ()
    next_times: tuple[DueTime, ...] = ()


async def preview_job(
    site: Site,
    *,
    text: FleetSource = "",
    definition: Words | None = None,
    name: Name = "job",
    agent: Name | None = None,
    timezone: Zone = "UTC",
) -> JobPreview:
    """What a job would be and when it would run, from YAML, from words that are laid over it, or from both."""
    now = site.clock.now()

    def work() -> JobPreview:
        # What reads the fleet file takes a while to load, and most commands never need it.
        from rota.config.drafts import read_draft  # noqa: PLC0415

        return _shown(now, read_draft(text, definition or {}, name=name, agent=agent, zone=timezone, now=now))

    return work() if len(text) <= _LONG else await think(work)


def _shown(now: datetime, draft: Draft) -> JobPreview:
    from rota.config.drafts import plain_words  # noqa: PLC0415

    words = plain_words(draft.words)
    if draft.definition is None:
        return JobPreview(definition=words, problems=draft.problems)
    try:
        warnings = check_definition(draft.definition)
        refuse_passed_time(now, draft.definition)
    except InputError as error:
        return JobPreview(definition=words, problems=(draft.problem(error),))
    return JobPreview(
        definition=words,
        problems=(),
        in_words=in_words(draft.definition.timing.schedule),
        warnings=warnings,
        next_times=_due_times(now, draft.definition),
    )


def _due_times(now: datetime, definition: Definition) -> tuple[DueTime, ...]:
    timing = definition.timing
    instants = times_when_saved(now, definition, _SHOWN)
    where = zone_named(timing.zone)
    offset = stagger_offset(definition.name, timing.stagger) if timing.stagger else timedelta()
    notes = notes_of(timing.schedule, timing.zone, now=now, last=instants[-1] if instants else None)
    return tuple(
        DueTime(at, at.astimezone(where), "; ".join(filter(None, (notes.get(at - offset), _quiet(at, timing)))))
        for at in instants
    )


def _quiet(at: datetime, timing: Timing) -> str:
    """That a due time lies in quiet hours: those that are not moved are skipped."""
    end = quiet_end(at, timing.quiet, timing.zone)
    return "" if end is None else f"quiet until {end.astimezone(zone_named(timing.zone)):%a %H:%M}: skipped"
