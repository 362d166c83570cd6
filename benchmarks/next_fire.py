"""Next due time: Rota beside croniter and APScheduler, in one run. Usage: ./test --bench"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import NamedTuple
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter

from rota.core import calendar as rota_calendar
from rota.core import cron
from rota.core.decision import Moment
from rota.core.governor import decide
from rota.core.job import JobState, Timing
from rota.core.schedule import Cron

ZONE = "Europe/Berlin"
NOW = datetime(2026, 11, 18, 7, 3, 12, tzinfo=UTC)
EXPRESSIONS = (
    "*/5 * * * *",
    "0 9 * * 1-5",
    "30 2 * * *",
    "15,45 8-18 * * 1-5",
    "17 4 1 * *",
    "0 3 L * *",
    "0 0 29 2 *",
)
REPEATS, ROUNDS = 2_000, 7


def microseconds(call: Callable[[], object], *, repeats: int = REPEATS) -> float:
    """The median over rounds of the mean time of a call."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        rounds.append((time.perf_counter() - start) / repeats * 1e6)
    return median(rounds)


def uncached(expression: str) -> Callable[[], object]:
    """A new minute each time, so that nothing but the parsed expression is remembered."""
    local = NOW
    step = timedelta(minutes=1)

    def call() -> object:
        nonlocal local
        local += step
        return cron.next_cron(expression, local, ZONE)

    return call


def from_text(expression: str) -> Callable[[], object]:
    """Parsing included, as the peers do when they are given a text."""

    def call() -> object:
        cron.parse_cron.cache_clear()
        return cron._next_match(expression, ZONE, NOW)  # noqa: SLF001 - the way past the memo

    return call


class Row(NamedTuple):
    expression: str
    cached: float
    uncached: float
    with_parse: float
    croniter: float
    apscheduler: float | None

    @property
    def fastest_peer(self) -> float:
        return min(filter(None, (self.croniter, self.apscheduler)))


HEADINGS = ("expression", "cached", "uncached", "with parse", "croniter", "APScheduler", "cached:peer", "uncached:peer")


def measure(expression: str) -> Row:
    local = NOW.astimezone(ZoneInfo(ZONE))
    cron.next_cron(expression, NOW, ZONE)
    return Row(
        expression,
        microseconds(lambda: cron.next_cron(expression, NOW, ZONE)),
        microseconds(uncached(expression)),
        microseconds(from_text(expression), repeats=500),
        microseconds(lambda: croniter(expression, local).get_next(datetime), repeats=200),
        apscheduler(expression, local),
    )


def show(row: Row) -> None:
    second = "refused" if row.apscheduler is None else f"{row.apscheduler:.1f}"
    ratios = [f"{row.fastest_peer / own:.1f}x" for own in (row.cached, row.uncached)]
    cells = (
        f"{row.cached:.2f}",
        f"{row.uncached:.1f}",
        f"{row.with_parse:.1f}",
        f"{row.croniter:.1f}",
        second,
        *ratios,
    )
    print(f"{row.expression:20}" + "".join(f"{cell:>14}" for cell in cells))


def main() -> None:
    print(f"next due time in {ZONE}, microseconds a call, median of {ROUNDS} rounds of {REPEATS}\n")
    print(f"{HEADINGS[0]:20}" + "".join(f"{heading:>14}" for heading in HEADINGS[1:]))
    rows = []
    for expression in EXPRESSIONS:
        rows.append(measure(expression))
        show(rows[-1])
    print()
    marks = (
        mark("worst cached next due time, microseconds", max(row.cached for row in rows), 2),
        mark("worst uncached next due time, microseconds", max(row.uncached for row in rows), 50),
        mark("rota --help, milliseconds", help_time() * 1e3, 150),
    )
    print(f"decide() at a fire, cached cron: {microseconds(decision()):.1f}")
    daily = rota_calendar.Daily(rota_calendar.parse_clock("09:00"))
    print(f"daily 09:00, cached: {microseconds(lambda: rota_calendar.next_calendar(daily, NOW, ZONE)):.2f}")
    sys.exit(not all(marks))


def mark(what: str, figure: float, limit: float) -> bool:
    """Print a figure beside its limit; whether it stays below."""
    print(f"{'ok    ' if figure < limit else 'MISSED'} {what}: {figure:.2f} (under {limit})")
    return figure < limit


def apscheduler(expression: str, local: datetime) -> float | None:
    try:
        trigger = CronTrigger.from_crontab(expression, timezone=ZONE)
    except ValueError:
        return None
    return microseconds(lambda: trigger.get_next_fire_time(None, local), repeats=200)


def decision() -> Callable[[], object]:
    timing = Timing(schedule=Cron("0 9 * * 1-5"), zone=ZONE)
    state = JobState(name="bench", timing=timing, created_at=NOW, scheduled_at=NOW)
    return lambda: decide(NOW, state, moment=Moment.FIRED)


def help_time() -> float:
    """The median wall time of the whole command."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([Path(sys.executable).with_name("rota"), "--help"], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return median(times)


if __name__ == "__main__":
    main()
