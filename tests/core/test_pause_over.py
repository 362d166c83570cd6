"""The end of a pause: until a fire has told what it swallowed, nothing else moves the plan."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rota.core.decision import Decision, Source
from rota.core.governor import is_pause_over
from tests.core.states import NOW

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("planned", "is_over"),
    [
        (None, False),
        (Decision(NOW, Source.PAUSED), True),
        (Decision(NOW - MINUTE, Source.PAUSED), True),
        (Decision(NOW + MINUTE, Source.PAUSED), False),
        (Decision(None, Source.PAUSED), False),
        (Decision(NOW, Source.BASELINE_CRON), False),
    ],
)
def test_a_pause_is_over_when_its_end_has_come(planned: Decision | None, is_over: bool) -> None:
    assert is_pause_over(planned, NOW) is is_over
