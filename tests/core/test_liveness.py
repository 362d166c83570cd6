"""Liveness: each kind of evidence, the ages at which a run turns quiet and silent, and what makes it dead."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from rota.core.liveness import Evidence, Liveness, LivenessState, assess
from tests.core.states import HOUR, MINUTE, NOW, TICK

SECOND = timedelta(seconds=1)
STARTED_AT = NOW - 2 * HOUR
SIGNS = {
    "output_at": "output",
    "cpu_at": "cpu",
    "session_file_at": "session file",
    "ping_at": "ping",
    "gateway_at": "gateway",
}
NO_GATEWAY = [field for field in SIGNS if field != "gateway_at"]
WAITS_FOR_INPUT = "no sign of any kind: probably waiting for input"


def seen(**signs: datetime) -> Evidence:
    return Evidence(started_at=STARTED_AT, **signs)


@pytest.mark.parametrize("field", SIGNS)
def test_a_run_is_working_when_one_kind_of_evidence_is_fresh(field: str) -> None:
    """SPEC 5: "output, CPU used by the process tree, growth of the session file, pings …, activity of the gateway"."""
    at = NOW - MINUTE + TICK
    assert assess(NOW, seen(**{field: at})) == Liveness(LivenessState.WORKING, at, SIGNS[field], "")


@pytest.mark.parametrize("field", NO_GATEWAY)
@pytest.mark.parametrize(
    ("age", "state", "because"),
    [
        (0 * SECOND, LivenessState.WORKING, ""),
        (MINUTE - TICK, LivenessState.WORKING, ""),
        (MINUTE, LivenessState.QUIET, ""),
        (10 * MINUTE - TICK, LivenessState.QUIET, ""),
        (10 * MINUTE, LivenessState.SILENT, WAITS_FOR_INPUT),
        (HOUR, LivenessState.SILENT, WAITS_FOR_INPUT),
        (-SECOND, LivenessState.WORKING, ""),
    ],
)
def test_a_run_turns_quiet_and_silent_when_its_last_sign_grows_old(
    field: str, age: timedelta, state: LivenessState, because: str
) -> None:
    """SPEC 5: "*All* evidence absent for `silence_after` (10m) flags the run (probably waiting for input)"."""
    assert assess(NOW, seen(**{field: NOW - age})) == Liveness(state, NOW - age, SIGNS[field], because)


@pytest.mark.parametrize("fresh", NO_GATEWAY)
def test_a_run_is_not_silent_when_all_evidence_but_one_is_old(fresh: str) -> None:
    old = dict.fromkeys(NO_GATEWAY, NOW - HOUR)
    verdict = assess(NOW, seen(**{**old, fresh: NOW - 9 * MINUTE}))
    assert verdict == Liveness(LivenessState.QUIET, NOW - 9 * MINUTE, SIGNS[fresh], "")


def test_a_run_is_silent_when_all_evidence_is_old() -> None:
    old = {field: NOW - (20 + number) * MINUTE for number, field in enumerate(NO_GATEWAY)}
    expected = Liveness(LivenessState.SILENT, NOW - 20 * MINUTE, "output", WAITS_FOR_INPUT)
    assert assess(NOW, seen(**old)) == expected


@pytest.mark.parametrize(
    ("age", "state", "because"),
    [
        (MINUTE - TICK, LivenessState.WORKING, ""),
        (MINUTE, LivenessState.QUIET, ""),
        (10 * MINUTE, LivenessState.SILENT, WAITS_FOR_INPUT),
    ],
)
def test_the_start_is_the_first_sign_when_nothing_else_was_seen(
    age: timedelta, state: LivenessState, because: str
) -> None:
    evidence = Evidence(started_at=NOW - age)
    assert assess(NOW, evidence) == Liveness(state, NOW - age, "start", because)


@pytest.mark.parametrize(
    ("silence_after", "state"),
    [
        (5 * MINUTE, LivenessState.SILENT),
        (5 * MINUTE + TICK, LivenessState.QUIET),
        (30 * SECOND, LivenessState.SILENT),
    ],
)
def test_silence_is_measured_by_the_setting_when_it_is_given(silence_after: timedelta, state: LivenessState) -> None:
    verdict = assess(NOW, seen(ping_at=NOW - 5 * MINUTE), silence_after=silence_after)
    assert verdict.state is state


@pytest.mark.parametrize("fresh", [*SIGNS, None])
def test_a_run_is_dead_when_its_process_is_gone(fresh: str | None) -> None:
    """SPEC 5: "Dead evidence (process or pane gone, gateway session unknown, …)", however fresh the signs are."""
    signs = {} if fresh is None else {fresh: NOW}
    last_at, sign = (STARTED_AT, "start") if fresh is None else (NOW, SIGNS[fresh])
    verdict = assess(NOW, Evidence(started_at=STARTED_AT, is_gone=True, **signs))
    assert verdict == Liveness(LivenessState.DEAD, last_at, sign, "the process, pane or session is gone")


@pytest.mark.parametrize(
    ("age", "state", "because"),
    [
        (90 * SECOND, LivenessState.QUIET, ""),
        (90 * SECOND + TICK, LivenessState.DEAD, "no gateway activity for 90 s"),
        (HOUR, LivenessState.DEAD, "no gateway activity for 90 s"),
    ],
)
def test_a_run_is_dead_when_its_gateway_shows_no_activity(age: timedelta, state: LivenessState, because: str) -> None:
    """SPEC 5: "no gateway activity for 90 s after its last sign"."""
    assert assess(NOW, seen(gateway_at=NOW - age)) == Liveness(state, NOW - age, "gateway", because)


def test_a_dead_gateway_outweighs_other_signs_when_they_are_fresh() -> None:
    verdict = assess(NOW, seen(gateway_at=NOW - HOUR, output_at=NOW - SECOND))
    assert verdict == Liveness(LivenessState.DEAD, NOW - SECOND, "output", "no gateway activity for 90 s")


def test_the_gone_process_is_named_when_the_gateway_is_dead_too() -> None:
    verdict = assess(NOW, Evidence(started_at=STARTED_AT, gateway_at=NOW - HOUR, is_gone=True))
    assert verdict.because == "the process, pane or session is gone"


def test_a_run_is_not_dead_when_it_has_no_gateway() -> None:
    """A run without a gateway never shows gateway activity, and that is no sign of death."""
    assert assess(NOW, Evidence(started_at=NOW - 5 * MINUTE)).state is LivenessState.QUIET


def test_a_run_is_silent_when_a_living_gateway_is_older_than_a_short_silence() -> None:
    verdict = assess(NOW, seen(gateway_at=NOW - 80 * SECOND), silence_after=80 * SECOND)
    assert verdict == Liveness(LivenessState.SILENT, NOW - 80 * SECOND, "gateway", WAITS_FOR_INPUT)
