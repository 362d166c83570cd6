"""Ten thousand jobs are read in well under two seconds, and the room opens quickly."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.config.surroundings import load

JOBS = 10_000


def fleet_of(count: int) -> str:
    jobs = "".join(
        f'  job-{n}:\n    cron: "{n % 60} {n % 24} * * *"\n    command: [./run.sh, --n, "{n}"]\n'
        f"    env: {{A: b, C: d}}\n"
        f"    timeout: {n % 50 + 1}m\n"
        for n in range(count)
    )
    return f"defaults: {{retry: {{max: 2}}, quiet: ['22:00-07:00', sat]}}\njobs:\n{jobs}"


def agent_of(count: int) -> str:
    schedules = "".join(f"      s{n}: {{every: {n % 50 + 1}m, prompt: Do it.}}\n" for n in range(count))
    return f"agents:\n  coder:\n    command: ./agent.sh --all\n    env: {{A: b}}\n    schedules:\n{schedules}"


def chain_of(count: int) -> str:
    jobs = "".join(f"  job-{n}: {{after: job-{n + 1}, command: [x]}}\n" for n in range(count))
    return f"jobs:\n{jobs}  job-{count}: {{manual: true, command: [x]}}\n"


@pytest.mark.parametrize("make", [fleet_of, agent_of, chain_of])
def test_ten_thousand_jobs_are_read(make: object) -> None:
    text = make(JOBS)  # type: ignore[operator]
    assert len(load(text).jobs) >= JOBS


def test_the_time_grows_with_the_number_of_jobs_and_not_with_its_square() -> None:
    def seconds(count: int) -> float:
        text = fleet_of(count)
        start = time.process_time()
        load(text)
        return time.process_time() - start

    seconds(100)
    assert seconds(8_000) < 20 * min(seconds(1_000) for _ in range(3))


def test_the_room_takes_no_other_room_with_it() -> None:
    code = "import rota.config.fleet, sys; print(*(name for name in sys.modules if name.startswith('rota.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in done.stdout.split()}
    assert rooms == {"config", "core", "errors"}
