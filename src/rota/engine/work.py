"""Work: claimed runs are done by their actions, the only side effect of the engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from rota.core.action import ActionKind
from rota.core.definition import action_kind
from rota.core.run import RunState
from rota.core.settlement import EndReason, Outcome
from rota.ledger.claimed import ClaimedRun
from rota.ledger.record import Ended
from rota.ledger.site import Site
from rota.log import log
from rota.ports.action import Action, Output, Result, Work
from rota.ports.records import micros
from rota.ports.store import Transaction

MakeOutput = Callable[[Work], "KeptOutput"]


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
    """The runs that this worker holds, each a task, and how each of them is ended."""

    def __init__(
        self,
        site: Site,
        actions: Mapping[ActionKind, Action],
        make_output: MakeOutput,
        on_ended: Callable[[Ended], None],
    ) -> None:
        self._site = site
        self._actions = actions
        self._make_output = make_output
        self._on_ended = on_ended
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._endings: dict[str, Outcome] = {}
        self._held: dict[str, Held] = {}

    @property
    def held(self) -> tuple[Held, ...]:
        """The runs whose work is under way."""
        return tuple(self._held.values())

    @property
    def run_ids(self) -> tuple[str, ...]:
        return tuple(self._tasks)

    def start(self, runs: Iterable[ClaimedRun]) -> None:
        for run in runs:
            self._tasks[run.id] = asyncio.create_task(self._attend(run))

    def end(self, run_id: str, outcome: Outcome) -> None:
        """Ask for the end of a run, with what its outcome is to be."""
        task = self._tasks.get(run_id)
        if task is not None and run_id not in self._endings:
            self._endings[run_id] = outcome
            task.cancel()

    def end_all(self, outcome: Outcome) -> None:
        for run_id in self.run_ids:
            self.end(run_id, outcome)

    async def drained(self) -> None:
        """Wait until nothing runs any more."""
        while self._tasks:
            await asyncio.wait(tuple(self._tasks.values()))

    async def _attend(self, run: ClaimedRun) -> None:
        try:
            ended = await self._do(run)
        except asyncio.CancelledError:
            outcome = self._endings.get(run.id)
            if outcome is None:
                raise
            ended = Ended(run, outcome)
        finally:
            self._tasks.pop(run.id, None)
            self._endings.pop(run.id, None)
        self._on_ended(ended)

    async def _do(self, run: ClaimedRun) -> Ended:
        work = Work(
            run_id=run.id,
            job=run.job,
            definition=run.definition,
            attempt=run.attempt,
            token=run.token,
            trace_id=run.trace_id,
            due_at=run.due_at,
            input=run.input,
        )
        action = self._actions.get(action_kind(run.definition.action))
        if action is None:
            return Ended(
                run, _permanent(f"This worker cannot do actions of type {action_kind(run.definition.action)}.")
            )
        output = self._make_output(work)
        self._held[run.id] = Held(run, self._site.clock.now(), output)
        try:
            result = await self._perform(run, work, action, output)
        finally:
            del self._held[run.id]
            await asyncio.shield(output.finish())
        return Ended(run, result.outcome, result.result, result.response)

    async def _perform(self, run: ClaimedRun, work: Work, action: Action, output: Output) -> Result:
        if (fault := await action.preflight(work)) is not None:
            return Result(_permanent(fault))
        timeout = run.definition.timeout
        try:
            async with asyncio.timeout(timeout.total_seconds() if timeout else None):
                return await action.perform(work, output, lambda: self._started(run))
        except TimeoutError:
            error = f"it took longer than {timeout}"
            return Result(Outcome(state=RunState.TIMED_OUT, reason="timeout", error=error, output=output.tail()))
        except Exception as error:  # noqa: BLE001 - a fault of an action fails its run, not the engine
            log("action.failed", level=logging.ERROR, error=error, run_id=run.id, job=run.job)
            text = f"{type(error).__name__}: {error}"
            return Result(Outcome(state=RunState.FAILED, reason="internal", error=text))

    async def _started(self, run: ClaimedRun) -> bool:
        if run.is_started:
            return True
        now = micros(self._site.clock.now())

        async def body(tx: Transaction) -> Sequence[tuple[str]]:
            return await tx.start_runs(ids=[run.id], token=run.token, now=now)

        return bool(await self._site.store.write(body))


def _permanent(fault: str) -> Outcome:
    return Outcome(state=RunState.PERMANENT_FAILURE, reason="preflight", error=fault)


def shutdown_outcome() -> Outcome:
    return Outcome(state=RunState.CANCELLED, reason=EndReason.SHUTDOWN)
