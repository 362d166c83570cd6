"""The one word for where a job stands, and when a pause is over."""

from __future__ import annotations

from datetime import datetime, time

import pytest

from rota.core.calendar import Daily
from rota.core.chain import After
from rota.core.decision import Source
from rota.core.hint import AnyHint
from rota.core.job import FOREVER, JobStatus, job_status, pause_end
from rota.core.schedule import Chat, Cron, Every, Manual, Once, Schedule, Webhook
from tests.core.states import HOUR, NOW, TICK, interval_hint, job_state, oneshot_hint, pause_hint, planned, today

# From the strongest word to the weakest: what makes a job be called so.
STANDS = (
    (JobStatus.PROPOSED, {"is_proposed": True}),
    (JobStatus.DISABLED, {"is_enabled": False}),
    (JobStatus.PAUSED, {"paused_until": FOREVER}),
    (JobStatus.RUNNING, {"is_running": True}),
    (JobStatus.ENDED, {"planned": planned(None, Source.NONE)}),
    (JobStatus.IDLE, {}),
)


def test_the_words_are_those_of_the_specification_when_listed() -> None:
    """SPEC 1: "`status` (`idle running disabled paused proposed ended`)"."""
    assert [status.value for status in JobStatus] == ["idle", "running", "disabled", "paused", "proposed", "ended"]


@pytest.mark.parametrize(("status", "fields"), STANDS, ids=str)
def test_a_job_has_a_status_when_one_thing_holds(status: JobStatus, fields: dict[str, object]) -> None:
    assert job_status(NOW, job_state(**fields)) is status


@pytest.mark.parametrize("first", range(len(STANDS)))
def test_the_stronger_word_wins_when_all_weaker_ones_hold(first: int) -> None:
    """What a person decided comes before what the engine does."""
    fields: dict[str, object] = {}
    for _, more in STANDS[first:]:
        fields |= more
    assert job_status(NOW, job_state(**fields)) is STANDS[first][0]


@pytest.mark.parametrize(
    ("schedule", "status"),
    [
        (Once(NOW), JobStatus.ENDED),
        (Every(HOUR), JobStatus.ENDED),
        (Cron("0 9 * * *"), JobStatus.ENDED),
        (Daily(time(9)), JobStatus.ENDED),
        (Manual(), JobStatus.IDLE),
        (Webhook(), JobStatus.IDLE),
        (Chat(), JobStatus.IDLE),
        (After("build"), JobStatus.IDLE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_job_has_ended_when_its_schedule_has_no_due_time_left(schedule: Schedule, status: JobStatus) -> None:
    """A job that is fired from outside never has a due time, and so never runs out of them."""
    assert job_status(NOW, job_state(schedule, planned=planned(None, Source.NONE))) is status


@pytest.mark.parametrize("source", [source for source in Source if source is not Source.NONE])
def test_a_job_is_idle_when_a_time_is_planned(source: Source) -> None:
    assert job_status(NOW, job_state(planned=planned(today("11:00"), source))) is JobStatus.IDLE


def test_a_job_is_idle_when_its_pause_is_over() -> None:
    assert job_status(NOW, job_state(paused_until=NOW)) is JobStatus.IDLE
    assert job_status(NOW, job_state(paused_until=NOW + TICK)) is JobStatus.PAUSED


def test_a_job_is_paused_when_only_a_hint_pauses_it() -> None:
    assert job_status(NOW, job_state(hints=(pause_hint(today("11:00")),))) is JobStatus.PAUSED


@pytest.mark.parametrize(
    ("paused_until", "hints", "end"),
    [
        (None, (), None),
        (NOW - TICK, (), None),
        (NOW, (), None),
        (NOW + TICK, (), NOW + TICK),
        (FOREVER, (), FOREVER),
        (None, (pause_hint(NOW),), None),
        (None, (pause_hint(NOW + TICK),), NOW + TICK),
        (None, (pause_hint(today("12:00"), expires_at=NOW),), None),
        (None, (pause_hint(today("12:00"), expires_at=NOW + TICK),), today("12:00")),
        (None, (interval_hint(HOUR), oneshot_hint(today("12:00"))), None),
        (None, (interval_hint(HOUR), pause_hint(today("12:00"))), today("12:00")),
        (None, (pause_hint(today("13:00")), pause_hint(today("12:00"))), today("13:00")),
        (today("11:00"), (pause_hint(today("12:00")),), today("12:00")),
        (today("12:00"), (pause_hint(today("11:00")),), today("12:00")),
        (FOREVER, (pause_hint(today("11:00")),), FOREVER),
        (NOW, (pause_hint(today("11:00")),), today("11:00")),
        (today("11:00"), (pause_hint(today("12:00"), expires_at=NOW),), today("11:00")),
    ],
)
def test_a_pause_ends_with_the_later_of_both_when_a_hint_and_a_person_pause(
    paused_until: datetime | None, hints: tuple[AnyHint, ...], end: datetime | None
) -> None:
    """SPEC 8: a pause hint "never shortens or replaces a person's pause"."""
    assert pause_end(NOW, job_state(paused_until=paused_until, hints=hints)) == end
