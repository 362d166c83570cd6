"""From what the store says to what is wrong: each problem with its cure, the worst first. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain

from rota.core.duration import format_duration
from rota.operations.overview.facts import Facts, LongWait
from rota.operations.overview.views import ProblemKind, ProblemView, Severity
from rota.ports.glances import FailingRecord, SilentRecord
from rota.ports.records import WorkerRecord, definition_of, instant, instant_or_none, micros

_STREAKS = ("failures in a row", "took its worker down")
_RANKS = {kind: rank for rank, kind in enumerate(ProblemKind)}
_MINUTE = timedelta(minutes=1)


def problems_of(facts: Facts) -> list[ProblemView]:
    """Everything that is wrong, the worst first."""
    found = chain(
        _stalled(facts),
        _dead_workers(facts),
        _late(facts),
        _missed(facts),
        _failing(facts),
        _silent(facts),
        _held(facts),
        _waiting(facts),
    )
    return sorted(found, key=lambda one: (one.severity is Severity.WARN, _RANKS[one.kind]))


def _stalled(facts: Facts) -> Iterator[ProblemView]:
    waiting = sum(depth for *_, depth in facts.depths)
    if facts.has_live_worker or not (waiting or facts.next_wake):
        return
    is_due = waiting > 0 or (facts.next_wake is not None and facts.next_wake <= facts.now)
    seen = [worker.beat_at for worker in (*facts.workers, *facts.lost)]
    parts = ["No worker is alive"]
    if waiting:
        parts.append(f"{waiting} {'run waits' if waiting == 1 else 'runs wait'}")
    if facts.next_wake is not None:
        parts.append(f"the next due time {'was' if facts.next_wake <= facts.now else 'is'} {_at(facts.next_wake)}")
    yield ProblemView(
        kind=ProblemKind.STALLED,
        severity=Severity.BAD if is_due else Severity.WARN,
        since=instant(max(seen)) if seen else None,
        message=f"{'; '.join(parts)}.",
        cure="Start a worker.",
        command="rota up",
    )


def _dead_workers(facts: Facts) -> Iterator[ProblemView]:
    for worker in facts.workers:
        if instant(worker.lease_until) <= facts.now:
            yield ProblemView(
                kind=ProblemKind.WORKER_DEAD,
                severity=Severity.BAD,
                worker=worker.id,
                since=instant(worker.beat_at),
                message=f"{_worker(worker)} and what it held is not resolved.",
                cure="A worker that is alive resolves it within seconds.",
                command="rota worker list" if facts.has_live_worker else "rota up",
            )
    for worker in facts.lost:
        yield ProblemView(
            kind=ProblemKind.WORKER_DEAD,
            severity=Severity.WARN,
            worker=worker.id,
            since=instant(worker.beat_at),
            message=f"{_worker(worker)} and what it held was resolved {_at(instant(worker.ended_at or 0))}.",
            cure="See which runs were lost with it, and look for why it died.",
            command="rota runs --state lost --since 1d",
        )


def _worker(worker: WorkerRecord) -> str:
    return f"Nothing was heard of {worker.id} (process {worker.pid} on {worker.host}) since {_time(worker.beat_at)},"


def _late(facts: Facts) -> Iterator[ProblemView]:
    # Without a worker everything is late, which is said once.
    for one in facts.late if facts.has_live_worker else ():
        yield ProblemView(
            kind=ProblemKind.LATE,
            severity=Severity.BAD,
            job=one.job,
            since=instant(one.next_run_at),
            message=f"{one.job} was due at {_time(one.next_run_at)}, and nobody has fired it.",
            cure="Look for errors in the log of the engine, then restart it.",
            command="rota doctor",
        )


def _missed(facts: Facts) -> Iterator[ProblemView]:
    for one in facts.missed:
        mark = facts.missed_runs.get(one.run_id)
        if mark is None:
            continue
        count, reason = mark.folded or 1, f" ({mark.reason})" if mark.reason else ""
        what = "the due time" if count == 1 else f"{count:,} due times, the first"
        yield ProblemView(
            kind=ProblemKind.MISSED,
            severity=Severity.WARN,
            job=one.job,
            run_id=mark.id,
            since=instant_or_none(mark.due_at),
            message=f"{one.job} missed {what} of {_time(mark.due_at or mark.requested_at)}{reason}.",
            cure="Run it now, or let it catch up by itself the next time: catch_up: latest",
            command=f"rota job run {one.job}",
        )


def _failing(facts: Facts) -> Iterator[ProblemView]:
    for one in facts.failing:
        if one.paused_until is None or one.paused_until <= micros(facts.now):
            if one.failure_count:
                yield _keeps_failing(one)
        elif any(streak in (one.pause_note or "") for streak in _STREAKS):
            yield _paused_by_streak(one)


def _keeps_failing(one: FailingRecord) -> ProblemView:
    """From the failure on that somebody is to hear of, it is bad."""
    is_bad = one.failure_count >= definition_of(one.definition).settle.notify_after
    times = "once" if one.failure_count == 1 else f"{one.failure_count} times in a row"
    error = f", at last: {one.last_error}" if one.last_error else ""
    return ProblemView(
        kind=ProblemKind.FAILING,
        severity=Severity.BAD if is_bad else Severity.WARN,
        job=one.job,
        run_id=one.run_id,
        since=instant_or_none(one.ended_at),
        message=f"{one.job} has failed {times}{error}".rstrip(".") + ".",
        cure="See its failures, and the output of the last one.",
        command=f"rota runs {one.job} --failed",
    )


def _paused_by_streak(one: FailingRecord) -> ProblemView:
    return ProblemView(
        kind=ProblemKind.STREAK_PAUSED,
        severity=Severity.BAD,
        job=one.job,
        run_id=one.run_id,
        since=instant_or_none(one.ended_at),
        message=f"{one.job} is paused: {one.pause_note}.",
        cure=f"See why it failed: rota runs {one.job} --failed. When that is cured, let it go on.",
        command=f"rota job resume {one.job}",
    )


def _silent(facts: Facts) -> Iterator[ProblemView]:
    for one in facts.silent:
        yield ProblemView(
            kind=ProblemKind.SILENT,
            severity=Severity.WARN,
            job=one.job,
            run_id=one.run_id,
            worker=one.worker,
            since=instant_or_none(one.written_at or one.started_at),
            message=f"{one.run_id} of {one.job} shows no sign of life{_last_words(one)}.",
            cure=f"It may wait for input: read its output, and if nothing comes, end it: rota run cancel {one.run_id}",
            command=f"rota logs {one.run_id}",
        )


def _last_words(one: SilentRecord) -> str:
    return "; it has written nothing" if one.written_at is None else f"; it last wrote at {_time(one.written_at)}"


def _held(facts: Facts) -> Iterator[ProblemView]:
    for one in facts.held:
        yield ProblemView(
            kind=ProblemKind.HELD,
            severity=Severity.WARN,
            job=one.job,
            run_id=one.run_id,
            since=instant(one.since),
            message=f"{one.run_id} of {one.job} waits for a person's approval.",
            cure="Look at what it would do, then approve or cancel it.",
            command=f"rota run show {one.run_id}",
        )


def _waiting(facts: Facts) -> Iterator[ProblemView]:
    """One for each job: a crowd of its runs waits for the same."""
    crowds: dict[str, list[LongWait]] = {}
    for one in facts.waiting:
        crowds.setdefault(one.job, []).append(one)
    for job, crowd in crowds.items():
        first = min(crowd, key=lambda one: one.since)
        others, have = (f" and {len(crowd) - 1} more", "have") if len(crowd) > 1 else ("", "has")
        why = "; ".join(first.why) or "nothing that could be told"
        waited = format_duration((facts.now - first.since) // _MINUTE * _MINUTE)
        yield ProblemView(
            kind=ProblemKind.WAITING,
            severity=Severity.WARN,
            job=job,
            run_id=first.run_id,
            since=first.since,
            message=f"{first.run_id}{others} of {job} {have} waited {waited}, for this: {why}".rstrip(".") + ".",
            cure=f"Make room for it, or end it: rota run cancel {first.run_id}",
            command=f"rota why {first.run_id}",
        )


def _time(at: int) -> str:
    return instant(at).isoformat(timespec="seconds")


def _at(at: datetime) -> str:
    return f"at {at.isoformat(timespec='seconds')}"
