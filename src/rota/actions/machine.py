"""The machine this process runs on."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import psutil

from rota.actions.tree import cpu_by_run, end_named
from rota.ports.machine import Vitals


class LocalMachine:
    def __init__(self) -> None:
        self.host = socket.gethostname()
        self.boot_id = _boot_id()
        self.pid = os.getpid()
        self.started_at = _started_at(psutil.Process())

    def is_alive(self, pid: int, started_at: int) -> bool:
        try:
            process = psutil.Process(pid)
            return _started_at(process) == started_at and process.status() != psutil.STATUS_ZOMBIE
        except (psutil.Error, OSError):
            return False

    def end_leftovers(self, run_id: str, token: int) -> int:
        return end_named(run_id, str(token))

    def cpu_by_run(self) -> dict[str, float]:
        return cpu_by_run()

    def vitals(self) -> Vitals:
        names = [process.info["name"] or "" for process in psutil.process_iter(["name"])]
        return Vitals(
            cpu_percent=float(psutil.cpu_percent(interval=None)),
            memory_mb=psutil.virtual_memory().used / 1024**2,
            load=os.getloadavg()[0],
            tmux_sessions=sum(name.startswith("tmux: server") for name in names),
        )


def _boot_id() -> str:
    if sys.platform == "linux":
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return str(int(psutil.boot_time()))


def _started_at(process: psutil.Process) -> int:
    """Microseconds since the boot where the system tells: a wall clock may be set while a process lives."""
    if sys.platform == "linux":
        # The name, in parentheses, may itself hold spaces and parentheses.
        fields = Path(f"/proc/{process.pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return int(fields[19]) * 1_000_000 // os.sysconf("SC_CLK_TCK")
    return int(process.create_time() * 1_000_000)
