"""Hints: advice on timing by hand, shown, given and taken back."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from rota.core.duration import format_duration, parse_duration
from rota.core.hint import AnyHint, IntervalHint, OneShotHint, PauseHint, active_hints, check_hint
from rota.core.job import takes_hints
from rota.errors import ConflictError, NotFoundError, ScheduleError
from rota.ledger.jobs import replan
from rota.ledger.plans import hold_one
from rota.ledger.site import Site
from rota.operations.auditing import Change, put_on_record
from rota.operations.inputs import Duration, Instant, Name, Text
from rota.operations.jobs import find_job, may_see
from rota.operations.views import Page
from rota.ports.records import JobRecord, definition_of, encode, hints_of, instant_or_none
from rota.ports.store import Transaction

HINT_LIFE = "1h"
_BATCH = 1_000


class HintKind(StrEnum):
    INTERVAL = "interval"
    ONESHOT = "oneshot"
    PAUSE = "pause"


class HintView(msgspec.Struct, frozen=True, kw_only=True):
    """A hint that counts now, and what it makes of the job's next time."""

    job: str
    kind: HintKind
    interval: str | None = None
    """How often to run, such as ``5m``."""
    at: Instant | None = None
    """When to run once, or before which not to run."""
    author: str
    reason: str
    expires_at: Instant
    next_run_at: Instant | None
    source: str


async def list_hints(site: Site, *, job: Name | None = None) -> Page[HintView]:
    """The hints that count now, of one job or of all."""
    now = site.clock.now()
    records = [await find_job(site, job)] if job is not None else await _all_jobs(site)
    return Page(tuple(view for record in records for view in _views(now, record)))


async def set_hint(
    site: Site,
    *,
    job: Name,
    every: Duration | None = None,
    at: Instant | None = None,
    pause_until: Instant | None = None,
    ttl: Duration = HINT_LIFE,
    reason: Text,
) -> HintView:
    """Advise a job to run every so often, once at a time, or not before one. It takes the place of one of its kind."""
    record, now = await find_job(site, job), site.clock.now()
    hint = _made(now, site.caller.name, every=every, at=at, pause_until=pause_until, ttl=ttl, reason=reason)
    if not takes_hints(definition_of(record.definition).timing):
        raise ConflictError(f"{record.name} takes no hints: only intervals, cron and calendar do.")

    async def body(tx: Transaction) -> HintView:
        fresh = await hold_one(tx, record.id)
        kept = [one for one in active_hints(hints_of(fresh.hints), now) if type(one) is not type(hint)]
        await tx.set_hints(job_id=record.id, hints=encode((*kept, hint)))
        await replan(tx, now, site, [record.id])
        view = next(view for view in _views(now, await hold_one(tx, record.id)) if view.kind == _kind(hint))
        before = [msgspec.to_builtins(one) for one in _views(now, fresh) if one.kind == view.kind] or None
        change = _change("hint.set", "hint.set", fresh, before=before, after=msgspec.to_builtins(view), reason=reason)
        await put_on_record(tx, now, site, change)
        return view

    return await site.store.write(body)


async def revert_hint(site: Site, *, job: Name, kind: HintKind | None = None) -> Page[HintView]:
    """Take back a job's hints, or those of one kind; what was taken back. The next time is decided again at once."""
    record, now = await find_job(site, job), site.clock.now()

    async def body(tx: Transaction) -> tuple[HintView, ...]:
        fresh = await hold_one(tx, record.id)
        gone = tuple(view for view in _views(now, fresh) if kind is None or view.kind == kind)
        if not gone:
            raise NotFoundError(f"{record.name} has no {kind or ''} hint to take back.".replace("  ", " "))
        kept = [one for one in hints_of(fresh.hints) if kind is not None and _kind(one) != kind]
        await tx.set_hints(job_id=record.id, hints=encode(kept))
        await replan(tx, now, site, [record.id])
        before = [msgspec.to_builtins(view) for view in gone]
        await put_on_record(tx, now, site, _change("hint.revert", "hint.reverted", fresh, before=before))
        return gone

    return Page(await site.store.write(body))


async def _all_jobs(site: Site) -> list[JobRecord]:
    async def body(tx: Transaction) -> list[JobRecord]:
        found: list[JobRecord] = []
        last = ""
        while batch := await tx.jobs(after=last, most=_BATCH):
            found += [record for record in batch if record.hints != "[]"]
            last = batch[-1].name
        return found

    return [one for one in await site.store.read(body) if may_see(site.caller, one.agent, one.id)]


def _made(
    now: datetime,
    author: str,
    *,
    every: str | None,
    at: datetime | None,
    pause_until: datetime | None,
    ttl: str,
    reason: str,
) -> AnyHint:
    if sum(one is not None for one in (every, at, pause_until)) != 1:
        raise ScheduleError(field="hint", value="", expected="one of every, at and pause_until", example="every: 5m")
    expires_at = now + parse_duration(ttl, field="ttl")
    hint: AnyHint
    if every is not None:
        interval = parse_duration(every, field="every")
        hint = IntervalHint(interval=interval, expires_at=expires_at, author=author, reason=reason)
    elif at is not None:
        hint = OneShotHint(run_at=at, expires_at=expires_at, author=author, reason=reason)
    else:
        end = pause_until or now
        hint = PauseHint(pause_until=end, expires_at=max(end, expires_at), author=author, reason=reason)
    check_hint(hint, now=now)
    if at is not None and at <= now:
        example = (now + timedelta(minutes=10)).isoformat(timespec="minutes")
        raise ScheduleError(field="at", value=at.isoformat(), expected="a time to come", example=example)
    return hint


def _kind(hint: AnyHint) -> HintKind:
    return HintKind(str(hint.__struct_config__.tag))


def _views(now: datetime, record: JobRecord) -> tuple[HintView, ...]:
    return tuple(
        HintView(
            job=record.name,
            kind=_kind(hint),
            interval=format_duration(hint.interval) if isinstance(hint, IntervalHint) else None,
            at=getattr(hint, "run_at", None) or getattr(hint, "pause_until", None),
            author=hint.author,
            reason=hint.reason,
            expires_at=hint.expires_at,
            next_run_at=instant_or_none(record.next_run_at),
            source=record.source,
        )
        for hint in active_hints(hints_of(record.hints), now)
    )


def _change(operation: str, event: str, record: JobRecord, **fields: object) -> Change:
    return Change(operation=operation, subject=record.name, event=event, job=record.name, **fields)  # type: ignore[arg-type]
