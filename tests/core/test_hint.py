"""Hints: which count, which remain after a fire or a settlement, and when the next one expires."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest

from rota.core.hint import (
    AnyHint,
    IntervalHint,
    OneShotHint,
    PauseHint,
    active_hints,
    check_hint,
    next_expiry,
    remaining_hints,
)
from rota.errors import ScheduleError
from tests.core.states import MINUTE, NOW, TICK, interval_hint, oneshot_hint, pause_hint, today

EXPIRIES = [(NOW - TICK, False), (NOW, False), (NOW + TICK, True)]


def hints_until(expires_at: datetime) -> tuple[AnyHint, ...]:
    later = today("12:00")
    return interval_hint(MINUTE, expires_at), oneshot_hint(later, expires_at), pause_hint(later, expires_at)


@pytest.mark.parametrize(("expires_at", "counts"), EXPIRIES)
def test_hint_is_active_when_its_expiry_is_ahead(expires_at: datetime, counts: bool) -> None:
    """A hint counts only while its own expiry > now."""
    hints = hints_until(expires_at)
    assert active_hints(hints, NOW) == (hints if counts else ())
    assert remaining_hints(hints, NOW) == (hints if counts else ())
    assert next_expiry(hints, NOW) == (expires_at if counts else None)


def test_hints_keep_their_order_when_some_have_expired() -> None:
    gone, first, second = interval_hint(MINUTE, NOW), oneshot_hint(today("11:00")), interval_hint(2 * MINUTE)
    assert active_hints((first, gone, second), NOW) == (first, second)
    assert remaining_hints((second, gone, first), NOW) == (second, first)


@pytest.mark.parametrize(
    ("run_at", "remains"), [(NOW - TICK, False), (NOW, False), (NOW + TICK, True), (today("22:00"), True)]
)
def test_oneshot_is_consumed_when_its_time_has_come(run_at: datetime, remains: bool) -> None:
    """A one-shot hint is consumed by the first fire or settlement at or after its time."""
    hint = oneshot_hint(run_at)
    assert remaining_hints((hint,), NOW) == ((hint,) if remains else ())


@pytest.mark.parametrize("hint", [interval_hint(MINUTE), pause_hint(NOW), pause_hint(today("09:00"))])
def test_other_hints_remain_when_a_oneshot_is_consumed(hint: AnyHint) -> None:
    assert remaining_hints((oneshot_hint(NOW), hint), NOW) == (hint,)


@pytest.mark.parametrize(
    ("expiries", "first"),
    [
        ((), None),
        ((today("11:00"), today("10:30")), today("10:30")),
        ((today("10:30"), today("11:00")), today("10:30")),
        ((today("09:00"), today("11:00")), today("11:00")),
    ],
)
def test_next_expiry_is_the_first_of_the_active_when_there_are_several(
    expiries: tuple[datetime, ...], first: datetime | None
) -> None:
    assert next_expiry([interval_hint(MINUTE, at) for at in expiries], NOW) == first


DAY = timedelta(hours=24)


@pytest.mark.parametrize(
    ("hint", "field", "expected"),
    [
        (pause_hint(NOW + DAY + TICK), "pause_until", "at most 24h from now"),
        (pause_hint(NOW.replace(tzinfo=None)), "pause_until", "a time with an offset"),
        (interval_hint(timedelta()), "interval", "more than zero, at most 36525d"),
        (interval_hint(timedelta.max), "interval", "more than zero, at most 36525d"),
        (oneshot_hint(NOW.replace(tzinfo=None)), "at", "a time with an offset"),
        (oneshot_hint(NOW, NOW), "ttl", "an expiry after now"),
        (oneshot_hint(NOW, NOW.replace(tzinfo=None)), "ttl", "a time with an offset"),
    ],
)
def test_hint_is_refused_when_it_could_never_count(hint: AnyHint, field: str, expected: str) -> None:
    """pause_until(at, reason): a hint of at most 24h."""
    with pytest.raises(ScheduleError) as caught:
        check_hint(hint, now=NOW)
    assert (caught.value.field, caught.value.expected) == (field, expected)


def test_hint_is_accepted_when_it_can_count() -> None:
    for hint in (pause_hint(NOW + DAY), interval_hint(TICK), oneshot_hint(NOW - MINUTE)):
        check_hint(hint, now=NOW)


EXPIRES = '"expires_at":"2026-03-02T10:00:00Z"'
JSON = [
    (
        IntervalHint(interval=90 * MINUTE, expires_at=NOW, author="planner", reason="busy"),
        f'{{"kind":"interval",{EXPIRES},"author":"planner","reason":"busy","interval":"PT5400S"}}',
    ),
    (
        OneShotHint(run_at=today("11:00"), expires_at=NOW),
        f'{{"kind":"oneshot",{EXPIRES},"author":"","reason":"","run_at":"2026-03-02T11:00:00Z"}}',
    ),
    (
        PauseHint(pause_until=today("11:00"), expires_at=NOW),
        f'{{"kind":"pause",{EXPIRES},"author":"","reason":"","pause_until":"2026-03-02T11:00:00Z"}}',
    ),
]


@pytest.mark.parametrize(("hint", "text"), JSON)
def test_hint_survives_json_when_it_is_stored(hint: AnyHint, text: str) -> None:
    assert msgspec.json.encode(hint).decode() == text
    assert msgspec.json.decode(text, type=AnyHint) == hint
