"""The doors: a fleet file of 10,000 jobs applied and listed by the command line. Usage: ./test --bench"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from places import POSTGRES, SQLITE, places, verdict
from tests.config.test_hostile_input import BOMBS, read_bytes

ROTA = str(Path(sys.executable).with_name("rota"))
JOBS, AGENTS, LISTINGS = 10_000, 100, 5
APPLY, LIST, REFUSE = 5.0, 1.0, 1.0


def main() -> None:
    is_met = []
    with places() as urls, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rota.yaml"
        for name in (SQLITE, POSTGRES):
            _rota(urls[name], "db", "migrate")
            for what, minutes in (("new", 5), ("all of them edited", 7), ("none of them changed", 7)):
                file.write_text(_fleet(minutes))
                took = _rota(urls[name], "apply", str(file), "--yes", "--json")
                text = f"{name}: {JOBS:,} jobs applied from a file, {what}: {took:.2f} s (under {APPLY:.0f})"
                is_met.append(verdict(is_met=took < APPLY, text=text))
            listing = median(_rota(urls[name], "job", "list") for _ in range(LISTINGS))
            text = f"{name}: rota job list of {JOBS:,} jobs: {listing:.2f} s (under {LIST:.0f})"
            is_met.append(verdict(is_met=listing < LIST, text=text))
            assert len(json.loads(_output(urls[name], "job", "list", "--json"))) == JOBS
    name, slowest = max(((name, _read(text)) for name, text in BOMBS.items()), key=lambda one: one[1])
    text = f"the slowest of {len(BOMBS)} hostile files ({name}) is refused in {slowest:.2f} s (under {REFUSE:.0f})"
    is_met.append(verdict(is_met=slowest < REFUSE, text=text))
    sys.exit(not all(is_met))


def _read(text: str) -> float:
    begun = time.perf_counter()
    read_bytes(text.encode())
    return time.perf_counter() - begun


def _fleet(minutes: int) -> str:
    """Agents with a hundred schedules each, as a person would write them."""
    lines = ["fleet: {name: large, timezone: Europe/Berlin}", "defaults: {timeout: 30m}", "agents:"]
    for agent in range(AGENTS):
        lines += [f"  agent{agent:03}:", "    command: ['true']", "    schedules:"]
        for number in range(JOBS // AGENTS):
            hour = f"{(agent + number) % 24:02}:{(number + minutes) % 60:02}"
            when = f"daily: '{hour}'" if number % 2 else f"cron: '*/{minutes} {number % 24} * * *'"
            lines += [f"      job{number:03}:", f"        {when}", "        retry: {max: 2}"]
    return "\n".join(lines) + "\n"


def _rota(database: str, *words: str) -> float:
    begun = time.perf_counter()
    _output(database, *words)
    return time.perf_counter() - begun


def _output(database: str, *words: str) -> bytes:
    command: Sequence[str] = (ROTA, *words)
    return subprocess.run(command, env={**os.environ, "ROTA_DB": database}, stdout=subprocess.PIPE, check=True).stdout


if __name__ == "__main__":
    main()
