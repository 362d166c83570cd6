"""A workbench for tests: work to do, a shelf that keeps output as a store does, and eyes for processes."""

# ruff: noqa: ANN401 - what is given goes to the structs, which check it

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import psutil

from rota.actions.command import Command
from rota.actions.output import LIMIT, Chunk, RunOutput, Trim
from rota.actions.secrets import secrets_of
from rota.app import SystemClock
from rota.core.definition import Action, CommandAction, define
from rota.core.job import Timing
from rota.core.schedule import Manual
from rota.ports.action import Result, Work

IS_LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
MEGABYTE = 1024 * 1024
# Long enough for a grandchild to be told; short enough for those that do not listen.
GRACE = 0.3


def unique() -> str:
    return os.urandom(13).hex()


def make_work(action: Action, **given: Any) -> Work:
    agent = given.pop("agent", None)
    facts = {"run_id": f"run_{unique()}", "job": "nightly", "attempt": 1, "token": 7, "trace_id": os.urandom(16).hex()}
    definition = define("nightly", Timing(schedule=Manual()), action, agent=agent)
    return Work(definition=definition, **(facts | given))


def command(*argv: str, **given: Any) -> Work:
    names = ("input", "token", "run_id", "agent", "attempt", "trace_id")
    facts = {name: given.pop(name) for name in names if name in given}
    return make_work(CommandAction(argv=argv, **given), **facts)


def script(text: str, **given: Any) -> Work:
    return command(text, shell=True, **given)  # noqa: S604 - what is tested


class Shelf:
    """Keeps output as the store does: a sequence is taken once, and a trim leaves the place of the mark."""

    def __init__(self) -> None:
        self.chunks: dict[int, Chunk] = {}
        self.order: list[int] = []

    async def keep(self, chunks: Sequence[Chunk], trim: Trim | None) -> None:
        for chunk in chunks:
            assert chunk.sequence not in self.chunks
            self.chunks[chunk.sequence] = chunk
            self.order.append(chunk.sequence)
        if trim is not None:
            for sequence in [number for number in self.chunks if trim.head + 1 < number < trim.tail]:
                del self.chunks[sequence]

    def text(self, *streams: str) -> str:
        rows = (self.chunks[sequence] for sequence in sorted(self.chunks))
        return "".join(row.text for row in rows if row.stream in (streams or (row.stream,)))


async def yes() -> bool:
    return True


async def perform(work: Work, shelf: Shelf | None = None, **given: Any) -> tuple[Result, Shelf]:
    """Do the work to its end, with everything kept."""
    shelf = shelf or Shelf()
    output = make_output(work, shelf, limit=given.pop("limit", LIMIT))
    try:
        result = await Command(grace=GRACE).perform(work, output, yes)
    finally:
        await output.finish()
    return result, shelf


def make_output(work: Work, shelf: Shelf, *, limit: int = LIMIT) -> RunOutput:
    return RunOutput(work.run_id, shelf.keep, SystemClock(), secrets=secrets_of(work.definition.action), limit=limit)


async def until(fact: Callable[[], object], *, seconds: float = 15) -> None:
    """Wait for a fact; that it never comes is an error."""
    with anyio.fail_after(seconds):
        while not fact():  # noqa: ASYNC110 - the facts are other processes
            await anyio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def survivors(tag: str) -> list[str]:
    """The command lines of living processes that hold a tag."""
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if tag in line and process.pid != os.getpid():
            found.append(line)
    return found


def zombies() -> list[int]:
    """Children of this process that nobody has buried."""
    return [child.pid for child in psutil.Process().children() if child.status() == psutil.STATUS_ZOMBIE]


def pids_in(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []
