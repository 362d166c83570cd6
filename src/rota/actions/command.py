"""A child process in a session of its own, with everything it starts."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rota.actions.secrets import UnresolvedSecretError, resolve_all
from rota.actions.tree import GRACE, Tree, new_mark, prepare_child
from rota.core.definition import CommandAction
from rota.core.run import RunState
from rota.core.settlement import Outcome
from rota.ports.action import Output, Result, Started, Work

# What a child may know of its surroundings; none of our own secrets is among it.
_INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "SSH_AUTH_SOCK"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
_READ = 64 * 1024
# How long a pipe may stay open after the child itself is gone, before what holds it is ended.
_LINGER = 0.5


class Command:
    """Runs a command."""

    def __init__(self, *, grace: float = GRACE) -> None:
        self._grace = grace

    async def preflight(self, work: Work) -> str | None:
        action = _action(work)
        if action.cwd is not None and not await asyncio.to_thread(Path(action.cwd).is_dir):
            return f"The directory {action.cwd} does not exist; create it or change the job's cwd."
        try:
            environment = _environment(work, action)
        except UnresolvedSecretError as error:
            return str(error)
        program = _argv(action)[0]
        if _find_program(program, action, environment) is None:
            return f"The program {program} was not found or may not be executed; install it or fix the job's command."
        return None

    async def perform(self, work: Work, output: Output, started: Started) -> Result:
        action = _action(work)
        with _input_file(work) as input_path:
            environment = _environment(work, action) | ({"ROTA_INPUT": str(input_path)} if input_path else {})
            if not await started():
                return Result(Outcome(state=RunState.CANCELLED, reason="fenced"))
            child = _Child(work, action, environment, output, self._grace)
            return await _see_through(asyncio.create_task(child.run()), child.stop, child.hurry)


async def _see_through(task: asyncio.Task[Result], stop: asyncio.Event, hurry: asyncio.Event) -> Result:
    """Cancelling asks the task to stop, and once more, to hurry; the task itself always comes to its end."""
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            (hurry if stop.is_set() else stop).set()
    result = task.result()
    if stop.is_set():
        raise asyncio.CancelledError
    return result


class _Child:
    """One child process, from its start until its whole tree is gone."""

    def __init__(
        self, work: Work, action: CommandAction, environment: Mapping[str, str], output: Output, grace: float
    ) -> None:
        self.stop, self.hurry = asyncio.Event(), asyncio.Event()
        self._work = work
        self._action = action
        self._environment = environment
        self._output = output
        self._grace = grace
        self._taken = 0

    async def run(self) -> Result:
        mark = new_mark()
        try:
            transport, streams = await _spawn(self._action, self._environment, mark)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = f"{_argv(self._action)[0]} could not be started: {getattr(error, 'strerror', None) or error}"
            return Result(Outcome(state=RunState.FAILED, reason="spawn", error=reason))
        try:
            is_gone = await self._attend(transport.get_pid(), streams, mark)
        finally:
            transport.close()
        return Result(_outcome(transport.get_returncode(), self._output, is_gone=is_gone))

    async def _attend(self, pid: int, streams: _Streams, mark: int | None) -> bool:
        """Whether the whole tree is gone, at last."""
        tree = Tree(pid, run_id=self._work.run_id, token=str(self._work.token), mark=mark)
        feeding = asyncio.create_task(_feed(streams.stdin, self._action.stdin or ""))
        readers = [
            asyncio.create_task(self._pump(stream, name))
            for name, stream in (("stdout", streams.stdout), ("stderr", streams.stderr))
            if stream is not None
        ]
        try:
            await _first(streams.exited.wait(), self.stop.wait())
            if not self.stop.is_set():
                await _first(asyncio.wait(readers, timeout=_LINGER), self.stop.wait())
        finally:
            # Also on cancellation and timeout: the run is not over before its tree is gone.
            is_gone = await tree.end(grace=self._grace, hurry=self.hurry)
            await self._drain(readers, is_gone=is_gone)
            for task in (*readers, feeding):
                task.cancel()
            await asyncio.gather(*readers, feeding, return_exceptions=True)
        if is_gone:
            await streams.exited.wait()
        return is_gone

    async def _drain(self, readers: Sequence[asyncio.Task[None]], *, is_gone: bool) -> None:
        """Take what the pipes still hold: all of it, unless someone outside the tree keeps them open."""
        taken = -1
        while taken != self._taken and not all(reader.done() for reader in readers):
            taken = self._taken
            await asyncio.wait(readers, timeout=_LINGER)
            if not is_gone:
                return

    async def _pump(self, stream: asyncio.StreamReader, name: str) -> None:
        while data := await stream.read(_READ):
            self._taken += len(data)
            await self._output.write(name, data)
        await self._output.write(name, b"")


async def _first(*awaitables: Coroutine[Any, Any, object]) -> None:
    """Wait for whichever comes first."""
    tasks = [asyncio.create_task(awaitable) for awaitable in awaitables]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


class _Streams(asyncio.subprocess.SubprocessStreamProtocol):
    """Tells when the child itself has exited; asyncio's ``wait`` also waits for whoever else holds its pipes."""

    def __init__(self) -> None:
        super().__init__(limit=_READ, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


async def _spawn(
    action: CommandAction, environment: Mapping[str, str], mark: int | None
) -> tuple[asyncio.SubprocessTransport, _Streams]:
    return await asyncio.get_running_loop().subprocess_exec(
        _Streams,
        *_argv(action),
        stdin=subprocess.PIPE if action.stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=action.cwd,
        env=dict(environment),
        start_new_session=True,
        # Two system calls, which the child keeps over its exec: its orphans stay its own while it lives.
        preexec_fn=partial(prepare_child, mark),
    )


async def _feed(stdin: asyncio.StreamWriter | None, text: str) -> None:
    if stdin is None:
        return
    try:
        stdin.write(text.encode("utf-8", "surrogateescape"))
        await stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass
    stdin.close()


def _outcome(code: int | None, output: Output, *, is_gone: bool) -> Outcome:
    if code == 0:
        return Outcome(state=RunState.SUCCEEDED, exit_code=0, output=output.tail())
    error = "it could not be ended" if code is None else _ending(code)
    if not is_gone:
        error += "; some of its processes could not be ended"
    return Outcome(state=RunState.FAILED, reason="exit", error=error, exit_code=code, output=output.tail())


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        # Most real-time signals have no name.
        return f"ended by signal {-code}"


def _action(work: Work) -> CommandAction:
    action = work.definition.action
    if not isinstance(action, CommandAction):
        raise TypeError(f"{work.job} is no command")
    return action


def _argv(action: CommandAction) -> tuple[str, ...]:
    return ("/bin/sh", "-c", " ".join(action.argv)) if action.shell else action.argv


def _environment(work: Work, action: CommandAction) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    inherited |= {name: value for name, value in os.environ.items() if name.startswith("LC_")}
    own, _ = resolve_all(action.env)
    prompt = {"ROTA_PROMPT": work.definition.prompt} if work.definition.prompt is not None else {}
    return {**inherited, **own, **prompt, **work.identity, **work.credentials}


def _find_program(program: str, action: CommandAction, environment: Mapping[str, str]) -> str | None:
    if "/" in program and not program.startswith("/"):
        program = str(Path(action.cwd or Path.cwd()) / program)
    return shutil.which(program, path=environment.get("PATH", os.defpath))


@contextmanager
def _input_file(work: Work) -> Iterator[Path | None]:
    """The input as a file that only the child's user can read, gone with the run."""
    if work.input is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="rota-input-") as folder:
        path = Path(folder) / "input"
        path.touch(mode=0o600)
        path.write_text(work.input, "utf-8")
        yield path
