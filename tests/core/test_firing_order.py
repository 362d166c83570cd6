"""Firing, over several passes: no hot loops, no appointments lost to clamps, no fold across a run."""

from __future__ import annotations

from datetime import time

import msgspec
import pytest

from rota.core.catchup import CatchUp, LateRules
from rota.core.decision import Source
from rota.core.definition import CommandAction, HttpAction, PythonAction, check_definition, define
from rota.core.firing import Firing, fire
from rota.core.governor import decide
from rota.core.job import JobState, Timing
from rota.core.overlap import LiveRuns, Overlap, OverlapRules
from rota.core.quiet import QuietHours
from rota.core.schedule import Daily, Manual
from rota.errors import ScheduleError
from tests.core.states import HALF_PAST, HOUR, MINUTE, NOW, job_state, on_march, oneshot_hint, planned, today

ALL = LateRules(catch_up=CatchUp.ALL)
ALLOW = OverlapRules(Overlap.ALLOW)


def fired(state: JobState, now: object = NOW, **given: object) -> Firing:
    standard = {"late": LateRules(), "overlap": OverlapRules(), "live": LiveRuns()}
    return fire(now, state, **(standard | given))


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ({"quiet": (QuietHours(time(9), time(11)),)}, {}),
        ({}, {"live": LiveRuns(running=1)}),
        ({"until": today("09:59")}, {}),
    ],
)
def test_a_one_shot_hint_is_used_up_when_its_time_was_skipped(
    fields: dict[str, object], given: dict[str, object]
) -> None:
    plan = planned(NOW, Source.AI_ONESHOT)
    firing = fired(job_state(HALF_PAST, hints=(oneshot_hint(NOW),), planned=plan, **fields), **given)
    assert (len(firing.runs), len(firing.passed), firing.state.hints) == (0, 1, ())
    assert firing.decision.next_run_at != NOW


def test_a_one_shot_hint_runs_no_more_when_it_was_missed() -> None:
    plan = planned(today("09:40"), Source.AI_ONESHOT)
    firing = fired(job_state(HALF_PAST, hints=(oneshot_hint(today("09:40")),), planned=plan))
    assert [(row.state, row.reason) for row in firing.passed] == [("missed", "late")]
    assert (firing.state.hints, firing.decision.next_run_at) == ((), today("10:30"))


def test_no_appointment_is_lost_when_max_interval_runs_a_job_before_it() -> None:
    state = job_state(Daily(time(9)), max_interval=HOUR, planned=planned(today("09:00"), Source.BASELINE_CALENDAR))
    for hour in range(9, 13):
        firing = fired(state, today(f"{hour:02}:00"), overlap=ALLOW)
        assert [run.due.due_at for run in firing.runs] == [today(f"{hour:02}:00")]
        assert firing.state.fired_until == today(f"{hour:02}:00")
        state = firing.state
    timing = msgspec.structs.replace(state.timing, max_interval=None)
    assert decide(today("12:30"), msgspec.structs.replace(state, timing=timing)).next_run_at == on_march(3, "09:00")


def test_the_appointment_comes_again_when_max_interval_is_no_divisor_of_it() -> None:
    state = job_state(Daily(time(9)), max_interval=20 * HOUR, planned=planned(today("09:00"), Source.BASELINE_CALENDAR))
    due = []
    for _ in range(4):
        at = state.planned.next_run_at
        due.append(f"{at:%d %H:%M}")
        state = fired(state, at, overlap=ALLOW).state
    assert due == ["02 09:00", "03 05:00", "03 09:00", "04 05:00"]


def test_rows_stay_apart_when_a_run_stands_between_them() -> None:
    """SPEC 4: "equal consecutive skips or misses fold into one row"."""
    quiet = (QuietHours(time(7), time(8)), QuietHours(time(9), time(10)))
    state = job_state(HALF_PAST, quiet=quiet, planned=planned(today("07:30"), Source.BASELINE_CRON))
    firing = fired(state, late=ALL)
    assert [run.due.due_at for run in firing.runs] == [today("08:30")]
    assert [(row.first_at, row.count, row.reason) for row in firing.passed] == [
        (today("07:30"), 1, "quiet"),
        (today("09:30"), 1, "quiet"),
    ]


def test_a_disabled_job_leaves_no_row_when_its_plan_has_passed() -> None:
    """SPEC 4: "The first three are only ever answers to 'why'"."""
    plan = planned(today("09:58"), Source.BASELINE_CRON)
    firing = fired(job_state(HALF_PAST, is_enabled=False, planned=plan))
    assert (firing.runs, firing.passed, firing.decision.next_run_at) == ((), (), None)


@pytest.mark.parametrize(
    "action",
    [
        CommandAction(argv=("echo", "a\0b")),
        CommandAction(argv=("echo", "\udcff")),
        CommandAction(argv=("echo",), cwd="a\0"),
        CommandAction(argv=("echo",), env={"A": "\0"}),
        HttpAction(url="http://a\0b"),
    ],
)
def test_a_definition_is_refused_when_its_text_cannot_be_kept(action: CommandAction | HttpAction) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_definition(define("tick", Timing(schedule=Manual()), action))
    assert (caught.value.field, caught.value.expected) == ("definition", "text in UTF-8 without NUL characters")


@pytest.mark.parametrize(
    ("action", "field", "value"),
    [
        (HttpAction(url="http://:80"), "http.url", "http://:80"),
        (HttpAction(url="http://a", method=""), "http.method", ""),
        (HttpAction(url="http://a", method="get it"), "http.method", "get it"),
        (HttpAction(url="http://a", expect=(200, 7)), "http.expect", "7"),
        (HttpAction(url="http://a", expect=(600,)), "http.expect", "600"),
        (PythonAction(target="a..b:c"), "python", "a..b:c"),
        (PythonAction(target="a:b."), "python", "a:b."),
    ],
)
def test_an_action_is_refused_when_a_part_of_it_makes_no_sense(
    action: HttpAction | PythonAction, field: str, value: str
) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_definition(define("tick", Timing(schedule=Manual()), action))
    assert (caught.value.field, caught.value.value) == (field, value)


def test_an_action_is_accepted_when_it_is_unusual_but_right() -> None:
    for action in (
        HttpAction(url="HTTPS://Example.org:8443/a?b#c", method="PROPFIND", expect=(100, 599)),
        HttpAction(url="http://[::1]:80/"),
        HttpAction(url="http://b\u00fccher.example/"),
        PythonAction(target="a.b_c:D.e"),
    ):
        check_definition(define("tick", Timing(schedule=Manual(), zone="UTC"), action, timeout=5 * MINUTE))
