"""Fire: due jobs become runs, or rows that say why not, and their plans move on. One transaction for a whole batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from rota.core.catchup import spread
from rota.core.decision import Decision
from rota.core.definition import Definition
from rota.core.firing import Firing, NewRun, Passed, fire, was_held_up
from rota.core.overlap import Overlap, Start
from rota.core.run import LIVE, Cause, RunState
from rota.core.schedule import Every, Wall
from rota.core.settlement import EndReason, Outcome
from rota.ledger.claimed import ClaimedRun, starts_at_claim
from rota.ledger.events import inserted, started, tell
from rota.ledger.limits import Limits, take_slots
from rota.ledger.plans import ends_plainly, hold, hold_due
from rota.ledger.record import end_waiting
from rota.ledger.rows import Row, decided, fired_plan, moved_plan, queue_row, run_row
from rota.ledger.site import Site
from rota.ports.records import (
    JobRecord,
    WaitingRecord,
    definition_of,
    encode,
    instant_or_none,
    job_state,
    live_runs,
    micros,
    micros_or_none,
)
from rota.ports.store import Transaction


class FirePass(NamedTuple):
    """What one pass did: the runs that this worker starts at once, whether some wait, and when to fire again."""

    started: tuple[ClaimedRun, ...]
    is_queued: bool
    next_wake: datetime | None
    passed: tuple[tuple[RunState, int], ...] = ()
    """Due times that came to nothing, by what became of them."""


class _Due(NamedTuple):
    record: JobRecord
    definition: Definition
    waiting: Sequence[WaitingRecord]
    planned: Decision | None
    firing: Firing
    columns: Row | None = None
    """The decision as columns, where it is shared."""


async def fire_due(
    tx: Transaction, now: datetime, site: Site, *, workers: int = 1, on_crowd: Callable[[], None] = lambda: None
) -> FirePass:
    """Fire one batch of due jobs. ``on_crowd`` hears early that more may be due than one batch holds."""
    records = await hold_due(tx, now=micros(now), most=site.settings.fire_batch)
    if not records:
        return FirePass((), is_queued=False, next_wake=await _next_wake(tx))
    is_crowd = len(records) == site.settings.fire_batch
    if is_crowd:
        on_crowd()
    is_queue_empty = await tx.is_queue_empty() is None
    waiting = {} if is_queue_empty else await _waiting(tx, records)
    if any(row.cause == Cause.RETRY for rows in waiting.values() for row in rows):
        records, waiting = await _supersede(tx, now, records, waiting, site)
    firings = _Firings(now, site)
    dues = [firings.of(record, waiting.get(record.id, ())) for record in records]
    batch = _Batch(now, site, await _limits(tx, dues, workers) if is_queue_empty else Limits(()))
    for due in dues:
        batch.add(due)
    await batch.write(tx)
    next_wake = now if is_crowd else await _next_wake(tx)
    passed = tuple((row.state, row.count) for due in dues for row in due.firing.passed)
    return FirePass(batch.started, bool(batch.queued), next_wake, passed)


async def _next_wake(tx: Transaction) -> datetime | None:
    (wake_at,) = await tx.next_wake()
    return instant_or_none(wake_at)


async def _limits(tx: Transaction, dues: Sequence[_Due], workers: int) -> Limits:
    """Where there is room to spare, places are taken at the end, so that passes go on side by side.

    Else they are held from here on. Plans come before limits, as everywhere: one order for whoever needs both.
    """
    seen = Limits(await tx.slots(), workers=workers)
    wanted = (due.definition for due in dues for _ in due.firing.runs)
    return seen if seen.has_to_spare(wanted) else Limits(await tx.lock_slots(), workers=workers)


async def _waiting(tx: Transaction, records: Sequence[JobRecord]) -> dict[str, list[WaitingRecord]]:
    rows: dict[str, list[WaitingRecord]] = {}
    for row in await tx.queue_of_jobs(ids=[record.id for record in records]):
        rows.setdefault(row.job_id, []).append(row)
    return rows


async def _supersede(
    tx: Transaction,
    now: datetime,
    records: Sequence[JobRecord],
    waiting: dict[str, list[WaitingRecord]],
    site: Site,
) -> tuple[list[JobRecord], dict[str, list[WaitingRecord]]]:
    """A newer scheduled run takes the place of a waiting retry, whose failure counts before the run is decided on."""
    retries = [row for rows in waiting.values() for row in rows if row.cause == Cause.RETRY]
    outcome = Outcome(state=RunState.CANCELLED, reason=EndReason.SUPERSEDED)
    await end_waiting(tx, now, retries, outcome, site)
    fresh = await hold(tx, (record.id for record in records))
    due = [record for record in fresh.values() if record.next_run_at is not None and record.next_run_at <= micros(now)]
    return due, await _waiting(tx, due)


class _Firings:
    """The firings of one pass. Thousands of jobs share a few schedules: those alike share one answer."""

    def __init__(self, now: datetime, site: Site) -> None:
        self._now = now
        self._site = site
        self._shared: dict[Row, tuple[Firing, Row]] = {}

    def of(self, record: JobRecord, waiting: Sequence[WaitingRecord]) -> _Due:
        definition = definition_of(record.definition)
        likeness = None if waiting else _likeness(record, definition)
        if likeness is None:
            return self._fire(record, definition, waiting)
        shared = self._shared.get(likeness)
        if shared is None:
            due = self._fire(record, definition, waiting)
            if _is_shareable(self._now, due.firing):
                self._shared[likeness] = (due.firing, decided(due.firing.decision))
            return due
        return _Due(record, definition, waiting, None, *shared)

    def _fire(self, record: JobRecord, definition: Definition, waiting: Sequence[WaitingRecord]) -> _Due:
        share = self._site.entropy.share() if isinstance(definition.timing.schedule, Every) else 0.0
        live = live_runs(record, waiting)
        state = job_state(record)
        firing = fire(self._now, state, late=definition.late, overlap=definition.overlap, live=live, share=share)
        return _Due(record, definition, waiting, state.planned, firing)


def _likeness(record: JobRecord, definition: Definition) -> Row | None:
    """All that the firing of a plain job depends on; none for a job with something of its own to consider."""
    timing = definition.timing
    is_plain = (
        isinstance(timing.schedule, Wall)
        and record.hints == "[]"
        and record.paused_until is None
        and record.live_state not in LIVE
        and not timing.stagger
        and timing.max_runs is None
    )
    if not is_plain:
        return None
    return (
        # Equal parts of definitions are one object, and comparing objects is cheaper.
        id(timing),
        id(definition.late),
        id(definition.overlap),
        record.is_enabled,
        record.is_proposed,
        record.next_run_at,
        record.source,
        record.match_at,
        record.fired_until,
        record.failure_count,
        record.scheduled_at if record.fired_until is None else None,
    )


def _is_shareable(now: datetime, firing: Firing) -> bool:
    return bool(firing.runs) and not firing.passed and not any(was_held_up(now, run) for run in firing.runs)


class _Batch:
    """Collects what one pass writes, then writes it in a handful of statements."""

    def __init__(self, now: datetime, site: Site, limits: Limits) -> None:
        self._now = now
        self._site = site
        self._limits = limits
        self._dues: list[_Due] = []
        self._moved: list[Row] = []
        self._fired: list[Row] = []
        self._runs: list[Row] = []
        self._direct: list[tuple[str, _Due, NewRun]] = []
        self._folds: list[Row] = []
        self._replaced: list[WaitingRecord] = []
        self._cancelled: list[str] = []
        self._ids: list[str] = []
        self.queued: list[Row] = []
        self.started: tuple[ClaimedRun, ...] = ()

    def add(self, due: _Due) -> None:
        self._dues.append(due)

    async def write(self, tx: Transaction) -> None:
        begun = [(due, run) for due in self._dues for run in due.firing.runs]
        passed = sum(len(due.firing.passed) for due in self._dues)
        self._ids = list(reversed(self._site.entropy.ids("run", self._now, len(begun) + passed)))
        starts = self._start_times(begun)
        for due in self._dues:
            self._collect(due, starts)
        await self._write_direct(tx)
        if self._runs:
            await tx.insert_runs(new=self._runs)
        if self._folds:
            await tx.extend_folds(fold=self._folds, now=micros(self._now))
        if self.queued:
            await tx.enqueue(new=self.queued)
            await tx.ring()
        if self._fired:
            await tx.fire_plans(fired=self._fired)
        if self._moved:
            await tx.move_plans(moved=self._moved)
        await self._write_replaced(tx)
        begun_now = started((due.record.name, run_id) for run_id, due, _ in self._direct)
        await tell(tx, self._now, self._site, [*inserted(self._runs), *begun_now])
        if self._direct:
            await take_slots(tx, self._limits)

    def _start_times(self, begun: Sequence[tuple[_Due, NewRun]]) -> dict[int, datetime]:
        """After an outage a batch is spread; a run is known by its identity here."""
        late = [run for _, run in begun if was_held_up(self._now, run)]
        settings = self._site.settings
        shares = [self._site.entropy.share() for _ in late]
        times = spread(self._now, shares, threshold=settings.jitter_threshold, max_jitter=settings.max_jitter)
        return {id(run): at for run, at in zip(late, times, strict=True) if at is not None}

    def _collect(self, due: _Due, starts: dict[int, datetime]) -> None:
        record, firing = due.record, due.firing
        live_run, last_fold = record.live_run, record.last_fold
        for event in _in_order(firing):
            if isinstance(event, Passed):
                last_fold = self._pass(due, event, last_fold)
            else:
                live_run, last_fold = self._begin(due, event, starts.get(id(event)), live_run), None
        is_plain = bool(firing.runs) and not firing.passed and record.hints == "[]"
        if is_plain and live_run is not None:
            columns = due.columns or decided(firing.decision)
            self._fired.append(fired_plan(record, columns, firing, live_run))
        else:
            self._moved.append(
                moved_plan(
                    record,
                    None if firing.decision is due.planned else firing.decision,
                    firing.state,
                    live_run=live_run,
                    pause_note=record.pause_note,
                    last_error=record.last_error,
                    last_fold=last_fold,
                )
            )

    def _begin(self, due: _Due, run: NewRun, start_after: datetime | None, live_run: str | None) -> str | None:
        """Start a run, or let it wait; the run that then has the job's turn."""
        run_id = self._ids.pop()
        if run.start is Start.REPLACE:
            self._replace(due, live_run)
        if run.start is Start.NOW and start_after is None and self._limits.take(due.definition):
            self._direct.append((run_id, due, run))
            return run_id
        self._enqueue(run_id, due, run, start_after)
        return run_id if run.start is Start.NOW else live_run

    def _pass(self, due: _Due, row: Passed, last_fold: str | None) -> str:
        """One row for consecutive times with the same fate, over all passes."""
        fate = f"{row.state}|{row.reason}"
        run_id = self._ids.pop()
        if last_fold is not None and last_fold.partition("|")[2] == fate:
            self._folds.append((last_fold.partition("|")[0], micros(row.last_at), row.count))
            return last_fold
        self._runs.append(
            run_row(
                run_id,
                due.record,
                now=self._now,
                cause=Cause.SCHEDULE,
                trace_id=self._site.entropy.hex(32),
                state=row.state,
                due_at=micros(row.first_at),
                last_due_at=micros(row.last_at),
                folded=row.count,
                source=row.source,
                trail=self._trail(due, row.first_at, row.trail),
                reason=row.reason,
            )
        )
        return f"{run_id}|{fate}"

    def _enqueue(self, run_id: str, due: _Due, run: NewRun, start_after: datetime | None) -> None:
        at = start_after or run.due.due_at
        self._runs.append(
            run_row(
                run_id,
                due.record,
                now=self._now,
                cause=run.cause,
                trace_id=self._site.entropy.hex(32),
                due_at=micros(run.due.due_at),
                start_after=micros_or_none(start_after),
                source=run.due.source,
                trail=self._trail(due, run.due.due_at, run.due.trail),
            )
        )
        self.queued.append(queue_row(run_id, due.record, cause=run.cause, start_after=at))

    def _trail(self, due: _Due, at: datetime, trail: tuple[object, ...]) -> str:
        """The trail stays text on its way from the plan to the run."""
        return due.record.trail if due.record.next_run_at == micros(at) else encode(trail)

    def _replace(self, due: _Due, live_run: str | None) -> None:
        """Of the runs that wait only the newest stays; the one that runs, perhaps since just now, is told to end."""
        self._replaced.extend(due.waiting)
        if live_run is not None:
            self._cancelled.append(live_run)

    async def _write_direct(self, tx: Transaction) -> None:
        if not self._direct:
            return
        now = micros(self._now)
        ids = encode([run_id for run_id, _, _ in self._direct])
        (token,) = await tx.insert_lease(worker=self._site.worker, now=now, run_ids=ids)
        traces = self._site.entropy.hex(32 * len(self._direct))
        rows, started = [], []
        for index, (run_id, due, run) in enumerate(self._direct):
            trace_id = traces[32 * index : 32 * index + 32]
            definition = due.definition
            is_started = starts_at_claim(definition)
            rows.append(
                (
                    run_id,
                    due.record.id,
                    due.record.name,
                    trace_id,
                    definition.agent,
                    run.cause,
                    definition.pool,
                    definition.concurrency_key,
                    micros(run.due.due_at),
                    now if is_started else None,
                    int(ends_plainly(due.record, definition)),
                    run.due.source,
                    self._trail(due, run.due.due_at, run.due.trail),
                )
            )
            started.append(
                ClaimedRun(
                    run_id,
                    due.record.id,
                    due.record.name,
                    definition,
                    token,
                    run.cause,
                    1,
                    run.due.due_at,
                    trace_id,
                    is_started,
                )
            )
        await tx.insert_started_runs(new=rows, now=now, worker=self._site.worker, token=token)
        self.started = tuple(started)

    async def _write_replaced(self, tx: Transaction) -> None:
        if self._replaced:
            outcome = Outcome(state=RunState.CANCELLED, reason=Overlap.REPLACE)
            await end_waiting(tx, self._now, self._replaced, outcome, self._site)
        if self._cancelled:
            await tx.ask_cancel(ids=self._cancelled, cancel=encode({"by": "overlap", "reason": Overlap.REPLACE}))
            await tx.ring()


def _in_order(firing: Firing) -> Sequence[Passed | NewRun]:
    """Runs and rows by their time: a run between two rows keeps them apart."""
    if not firing.passed:
        return firing.runs
    return sorted(
        (*firing.passed, *firing.runs), key=lambda one: one.first_at if isinstance(one, Passed) else one.due.due_at
    )
