"""Process trees that end for certain: the session, every descendant, and whatever carries the run's name or mark."""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import os
import resource
import signal
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

GRACE = 10.0
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_AGAIN = 0.05
# Where one that does not listen is given time, looking all the while would cost more than its work.
_LOOK_SELDOM = 0.4
# A look reads about every process there is: beside the event loop, and one at a time when many trees end together.
_looks = ThreadPoolExecutor(1, "rota-look")
_MARKS = 0x10000
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
# A limit on POSIX message queues: all descendants inherit it, hardly any program uses it, and none changes it.
_LIMIT = getattr(resource, "RLIMIT_MSGQUEUE", None)
_marks = itertools.count()


def become_subreaper() -> None:
    """Descendants whose parent dies come to this process instead of leaving its sight; kept over ``exec``."""
    if _libc is not None:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def hide_from_children() -> None:
    """Runs of the same user cannot read this process's memory and environment, and with it the database's password."""
    if _libc is not None:
        _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def new_mark() -> int | None:
    """What tells a run's orphans from other children of this process, even with a new session and environment."""
    if _LIMIT is None:
        return None
    hard = resource.getrlimit(_LIMIT)[1]
    top = 1 << 40 if hard == resource.RLIM_INFINITY else hard
    return top - 1 - next(_marks) % _MARKS if top > 2 * _MARKS else None


def prepare_child(mark: int | None) -> None:
    """Called between fork and exec, so it does as little as possible."""
    become_subreaper()
    if mark is not None and _LIMIT is not None:
        try:
            resource.setrlimit(_LIMIT, (mark, resource.getrlimit(_LIMIT)[1]))
        except (OSError, ValueError):
            return


def _terminate(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        _send(process, signal.SIGTERM)


class Tree:
    """Everything that a run has started. Made while the child's number is known to be its own."""

    def __init__(self, pid: int, *, run_id: str, token: str, mark: int | None = None) -> None:
        self._pid = pid
        self._root = _process(pid)
        self._run_id = run_id
        self._token = token
        self._mark = mark

    async def end(self, *, grace: float = GRACE, hurry: asyncio.Event | None = None) -> bool:
        """SIGTERM to the whole tree, SIGKILL to what is left, at once in a hurry; whether it is confirmed gone."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        signalled: set[psutil.Process] = set()
        wait = _LOOK_AGAIN
        while members := await loop.run_in_executor(_looks, self._look_again):
            if hurry is not None and hurry.is_set():
                deadline = min(deadline, loop.time())
            if loop.time() >= deadline:
                _kill_all(members, group=self._pid)
            else:
                _terminate(process for process in members if process not in signalled)
            signalled.update(members)
            if loop.time() >= deadline + max(grace, GRACE):
                return False
            await _pause(min(wait, max(_LOOK_AGAIN, deadline - loop.time())))
            wait = min(1.5 * wait, _LOOK_SELDOM)
        return True

    def _look_again(self) -> list[psutil.Process]:
        """The second look finds what was started, by something that then ended, during the first."""
        found = self.members() or self.members()
        if not found:
            self._bury_adopted()
        return found

    def members(self) -> list[psutil.Process]:
        """Everything alive that belongs to the run; zombies are dead, only not yet buried."""
        ways = (self._descendants(), self._session(), self._adopted(), _named(self._run_id, self._token))
        return _alive(process for way in ways for process in way)

    def _descendants(self) -> Iterable[psutil.Process]:
        return [] if self._root is None else _with_children(self._root)

    def _session(self) -> Iterable[psutil.Process]:
        """The child leads a session of its own, and its number is not given away while anyone is in it."""
        holder = _process(self._pid)
        if holder is not None and holder != self._root:
            return []
        members = (_process(other) for other in psutil.pids() if other != self._pid and _sid(other) == self._pid)
        return [process for process in members if process is not None]

    def _adopted(self) -> Iterable[psutil.Process]:
        """Orphans that have come to this process, with their children."""
        return [process for child in self._orphans() for process in _with_children(child)]

    def _orphans(self) -> list[psutil.Process]:
        children = psutil.Process().children()
        return [child for child in children if child.pid != self._pid and self._is_marked(child)]

    def _bury_adopted(self) -> None:
        """Once all are dead, none is left in between whose dead children would come to this process later."""
        for child in self._orphans():
            _bury(child)

    def _is_marked(self, process: psutil.Process) -> bool:
        if _LIMIT is None or self._mark is None:
            return _sid(process.pid) == self._pid
        try:
            return bool(process.rlimit(_LIMIT)[0] == self._mark)
        except (psutil.Error, OSError):
            return False


def end_named(run_id: str, token: str, *, patience: float = GRACE) -> int:
    """Kill whatever carries a run's name, and its descendants, as recovery does after a crash; how many there were."""
    seen: set[psutil.Process] = set()
    deadline = time.monotonic() + patience
    while members := _alive(one for named in _named(run_id, token) for one in _with_children(named)):
        seen.update(members)
        _kill_all(members)
        if time.monotonic() >= deadline:
            break
        time.sleep(_LOOK_AGAIN)
    return len(seen)


async def _pause(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    handle = loop.call_later(seconds, over.set_result, None)
    try:
        await over
    finally:
        handle.cancel()


def cpu_by_run() -> dict[str, float]:
    """Seconds of processor time that the living processes of each run have used."""
    used: dict[str, float] = {}
    for pid in psutil.pids():
        names = [entry[12:] for entry in _environment(pid) if entry.startswith(b"ROTA_RUN_ID=")]
        if names and (process := _process(pid)) is not None:
            run_id = names[0].decode("utf-8", "replace")
            used[run_id] = used.get(run_id, 0.0) + _cpu_time(process)
    return used


def _cpu_time(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _named(run_id: str, token: str) -> list[psutil.Process]:
    marks = (f"ROTA_RUN_ID={run_id}".encode(), f"ROTA_FENCING_TOKEN={token}".encode())
    found = []
    for pid in psutil.pids():
        environment = _environment(pid)
        if all(mark in environment for mark in marks) and (process := _process(pid)) is not None:
            found.append(process)
    return found


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _with_children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _sid(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that still run, each once, and never this process itself."""
    found = {process.pid: process for process in processes if process.pid != os.getpid()}
    return [process for process in found.values() if _is_alive(process)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running()) and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return False


def _bury(child: psutil.Process) -> None:
    try:
        os.waitpid(child.pid, os.WNOHANG)
    except ChildProcessError:
        return


def _kill_all(members: Iterable[psutil.Process], *, group: int | None = None) -> None:
    for process in members:
        try:
            if group is not None and os.getpgid(process.pid) == group:
                # One call for the whole group: nobody slips through by forking meanwhile.
                os.killpg(group, signal.SIGKILL)
        except OSError:
            pass
        _send(process, signal.SIGKILL)


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except (psutil.Error, OSError):
        return
