"""Work: claimed runs are done by their actions, the only side effect of the engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from rota.core.action import ActionKind
from rota.core.definition import action_kind
from rota.core.duration import format_duration
from rota.core.run import RunState
from rota.core.settlement import EndReason, Outcome
from rota.errors import StoreUnavailableError
from rota.ledger.claimed import ClaimedRun
from rota.ledger.record import Ended
from rota.ledger.site import Site
from rota.log import log
from rota.ports.action import Action, Output, Result, Work
from rota.ports.records import micros
from rota.ports.store import Transaction

_WITH_CHILD = frozenset({ActionKind.COMMAND, ActionKind.AGENT, ActionKind.TMUX})
_START_AGAIN = timedelta(seconds=1)
MakeOutput = Callable[[Work], "KeptOutput"]
Credentials = Callable[[ClaimedRun], Mapping[str, str]]


class KeptOutput(Output, Protocol):
    """Output that is kept to the end."""

    @property
    def written_at(self) -> datetime | None:
        """When something was last written."""
        ...

    async def finish(self) -> None: ...


class Held(NamedTuple):
    """A run under way, and what it has shown of itself."""

    run: ClaimedRun
    started_at: datetime
    output: KeptOutput

    @property
    def output_at(self) -> datetime | None:
        return self.output.written_at

    def tail(self) -> str:
        return self.output.tail()


class Workbench:
    """The runs that this worker holds, and how each of them is ended.

    Runs are taken by slots: tasks that do one run after the other. There is always one more slot than runs that make
    theirs wait, so that no run waits for another, and a crowd of runs that take no time needs two slots, not thousands.
    """

    def __init__(
        self,
        site: Site,
        actions: Mapping[ActionKind, Action],
        make_output: MakeOutput,
        on_ended: Callable[[Ended], None],
        credentials: Credentials,
    ) -> None:
        self._site = site
        self._actions = actions
        self._make_output = make_output
        self._on_ended = on_ended
        self._credentials = credentials
        self._waiting: dict[str, ClaimedRun] = {}
        self._slots: set[asyncio.Task[None]] = set()
        self._has_spare = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._endings: dict[str, Outcome] = {}
        self._held: dict[str, Held] = {}

    @property
    def held(self) -> tuple[Held, ...]:
        """The runs whose work is under way."""
        return tuple(self._held.values())

    @property
    def run_ids(self) -> tuple[str, ...]:
        return (*self._tasks, *self._waiting)

    def start(self, runs: Iterable[ClaimedRun]) -> None:
        self._waiting.update((run.id, run) for run in runs)
        self._open_slot()

    def end(self, run_id: str, outcome: Outcome) -> None:
        """Ask for the end of a run, with what its outcome is to be."""
        if (waiting := self._waiting.pop(run_id, None)) is not None:
            self._on_ended(Ended(waiting, outcome))
        task = self._tasks.get(run_id)
        if task is not None and run_id not in self._endings:
            self._endings[run_id] = outcome
            task.cancel()

    def end_all(self, outcome: Outcome) -> None:
        for run_id in self.run_ids:
            self.end(run_id, outcome)

    def hurry(self) -> None:
        """Give no more time to those that are ending."""
        for task in [self._tasks[run_id] for run_id in self._endings if run_id in self._tasks]:
            task.cancel()

    async def drained(self) -> None:
        """Wait until nothing runs any more."""
        while self._slots:
            await asyncio.wait(tuple(self._slots))

    def _open_slot(self) -> None:
        if self._has_spare or not self._waiting:
            return
        self._has_spare = True
        slot = asyncio.create_task(self._slot())
        self._slots.add(slot)
        slot.add_done_callback(self._slots.discard)

    async def _slot(self) -> None:
        self._has_spare = False
        task = asyncio.current_task()
        while self._waiting and task is not None:
            run = self._waiting.pop(next(iter(self._waiting)))
            self._open_slot()
            self._tasks[run.id] = task
            self._on_ended(await self._attend(run, task))

    async def _attend(self, run: ClaimedRun, slot: asyncio.Task[None]) -> Ended:
        try:
            return await self._do(run)
        except asyncio.CancelledError:
            outcome = self._endings.get(run.id)
            if outcome is None and slot.cancelling():
                raise
            if outcome is None:
                return Ended(
                    run, Outcome(state=RunState.FAILED, reason="internal", error="the action cancelled itself")
                )
            # The run was cancelled, perhaps twice, not the slot.
            while slot.cancelling():
                slot.uncancel()
            return Ended(run, outcome)
        finally:
            self._tasks.pop(run.id, None)
            self._endings.pop(run.id, None)

    async def _do(self, run: ClaimedRun) -> Ended:
        kind = action_kind(run.definition.action)
        work = Work(
            run_id=run.id,
            job=run.job,
            definition=run.definition,
            attempt=run.attempt,
            token=run.token,
            trace_id=run.trace_id,
            due_at=run.due_at,
            input=run.input,
            credentials=self._credentials(run) if kind in _WITH_CHILD else {},
        )
        action = self._actions.get(kind)
        if action is None:
            return Ended(run, _permanent(f"This worker cannot do actions of type {kind}."))
        output = self._make_output(work)
        self._held[run.id] = Held(run, self._site.clock.now(), output)
        timer = asyncio.create_task(self._expire(run)) if run.definition.timeout is not None else None
        try:
            result = await self._perform(run, work, action, output)
        finally:
            if timer is not None:
                timer.cancel()
            del self._held[run.id]
            if output.written_at is not None:
                await asyncio.shield(output.finish())
        return Ended(run, result.outcome, result.result, result.response)

    async def _perform(self, run: ClaimedRun, work: Work, action: Action, output: Output) -> Result:
        try:
            if (fault := await action.preflight(work)) is not None:
                return Result(_permanent(fault))
            return await action.perform(work, output, lambda: self._started(run))
        except Exception as error:  # noqa: BLE001 - a fault of an action fails its run, not the engine
            log("action.failed", level=logging.ERROR, error=error, run_id=run.id, job=run.job)
            text = f"{type(error).__name__}: {error}"
            return Result(Outcome(state=RunState.FAILED, reason="internal", error=text))

    async def _expire(self, run: ClaimedRun) -> None:
        timeout = run.definition.timeout or timedelta()
        await self._site.clock.wait(asyncio.Event(), until=self._site.clock.now() + timeout)
        error, output = f"it took longer than {format_duration(timeout)}", self._held[run.id].tail()
        self.end(run.id, Outcome(state=RunState.TIMED_OUT, reason="timeout", error=error, output=output))

    async def _started(self, run: ClaimedRun) -> bool:
        if run.is_started:
            return True
        now = micros(self._site.clock.now())

        async def body(tx: Transaction) -> Sequence[tuple[str]]:
            return await tx.start_runs(ids=[run.id], token=run.token, now=now)

        while True:
            try:
                return bool(await self._site.store.write(body))
            except StoreUnavailableError as error:
                # Nothing has begun, so there is nothing to fail; a timeout, a cancel or the lease ends the wait.
                log("start.delayed", level=logging.WARNING, run_id=run.id, job=run.job, reason=str(error))
                await self._site.clock.wait(asyncio.Event(), until=self._site.clock.now() + _START_AGAIN)


def _permanent(fault: str) -> Outcome:
    return Outcome(state=RunState.PERMANENT_FAILURE, reason="preflight", error=fault)


def shutdown_outcome() -> Outcome:
    return Outcome(state=RunState.CANCELLED, reason=EndReason.SHUTDOWN)
