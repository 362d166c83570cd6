"""Expected due times by the plainest means: look at every minute of a stretch of time and ask whether it matches.

Written from the rules alone. Nothing here imports the code under test.
"""

from __future__ import annotations

import calendar
from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
_NAMES = {
    3: dict(
        zip(
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
            range(1, 13),
            strict=True,
        )
    ),
    4: dict(zip(["sun", "mon", "tue", "wed", "thu", "fri", "sat"], range(7), strict=True)),
}
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def utc(text: str) -> datetime:
    """An instant in UTC, from its ISO form without an offset."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def wall(text: str) -> datetime:
    """A wall time, from its ISO form."""
    return datetime.fromisoformat(text)


class BruteCron:
    """A cron expression as a question about one wall-clock minute."""

    def __init__(self, text: str) -> None:
        self.fields = text.lower().replace("?", "*").split()
        self.minutes, self.hours, self.months = (self._numbers(index) for index in (0, 1, 3))
        self.is_fixed = not self.fields[0].startswith("*") and not self.fields[1].startswith("*")

    def __call__(self, at: datetime) -> bool:
        if at.minute not in self.minutes or at.hour not in self.hours or at.month not in self.months:
            return False
        in_month = any(self._month_day(term, at.date()) for term in self.fields[2].split(","))
        in_week = any(self._week_day(term, at.date()) for term in self.fields[4].split(","))
        if self.fields[2].startswith("*") or self.fields[4].startswith("*"):
            return in_month and in_week
        return in_month or in_week

    def _numbers(self, index: int) -> set[int]:
        return {number for term in self.fields[index].split(",") for number in self._term(index, term)}

    def _term(self, index: int, term: str) -> range:
        low, high = _RANGES[index]
        head, slash, step = term.partition("/")
        first, dash, last = head.partition("-")
        if first == "*":
            return range(low, high + 1, int(step or 1))
        start = _NAMES.get(index, {}).get(first) if first.isalpha() else int(first)
        assert start is not None
        if dash:
            stop = _NAMES.get(index, {}).get(last) if last.isalpha() else int(last)
            assert stop is not None
            return range(start, stop + 1, int(step or 1))
        return range(start, high + 1, int(step)) if slash else range(start, start + 1)

    def _month_day(self, term: str, day: date) -> bool:
        length = calendar.monthrange(day.year, day.month)[1]
        if term == "l":
            return day.day == length
        if term == "lw":
            working = [number for number in range(1, length + 1) if day.replace(day=number).weekday() < 5]
            return day.day == working[-1]
        return day.day in self._term(2, term)

    def _week_day(self, term: str, day: date) -> bool:
        number = day.isoweekday() % 7
        if "#" in term:
            head, _, nth = term.partition("#")
            return number in self._week(head) and (day.day - 1) // 7 + 1 == int(nth)
        if term.endswith("l"):
            return number in self._week(term[:-1]) and (day + timedelta(days=7)).month != day.month
        return number in self._week(term)

    def _week(self, term: str) -> set[int]:
        return {number % 7 for number in self._term(4, term)}


def scan(
    matches: Callable[[datetime], bool], zone_name: str, start: datetime, end: datetime, *, fixed: bool
) -> Iterator[datetime]:
    """Every due minute in ``(start, end]``.

    Fixed times: removed by a gap, once at the first instant after it; doubled, once, the first time.
    Others follow the wall clock: both passes of a doubled hour, nothing made up for a gap.
    """
    zone = ZoneInfo(zone_name)
    instant = start.replace(second=0, microsecond=0)
    shown = instant.astimezone(zone).replace(tzinfo=None)
    while (instant := instant + MINUTE) <= end:
        before, shown = shown, instant.astimezone(zone).replace(tzinfo=None)
        if not fixed:
            if matches(shown):
                yield instant
        elif (not shown.fold and matches(shown)) or any(matches(gone) for gone in _between(before, shown)):
            yield instant


def _between(before: datetime, shown: datetime) -> Iterator[datetime]:
    """The wall-clock minutes that a jump from one reading to the next leaves out."""
    while (before := before.replace(fold=0) + MINUTE) < shown.replace(fold=0):
        yield before


def cron_times(text: str, zone_name: str, start: datetime, end: datetime) -> list[datetime]:
    """Every due time of a cron expression in ``(start, end]``."""
    expression = BruteCron(text)
    return list(scan(expression, zone_name, start, end, fixed=expression.is_fixed))


def first_after(times: list[datetime], instant: datetime) -> datetime | None:
    """The first of some sorted times strictly after an instant."""
    index = bisect_right(times, instant)
    return times[index] if index < len(times) else None
