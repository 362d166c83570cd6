"""Admission: every reason, the order of the reasons, and whom each of them stops."""

from __future__ import annotations

from datetime import datetime, time
from decimal import Decimal
from itertools import combinations

import pytest

from rota.core.admission import UNRECORDED, Admission, Admit, Reason, Skip, admit
from rota.core.budget import BudgetLine, BudgetVerdict
from rota.core.calendar import Daily, MonthDay, Monthly, Weekday, Weekly
from rota.core.chain import After
from rota.core.job import JobState
from rota.core.overlap import LiveRuns, Overlap, OverlapRules, Start
from rota.core.quiet import QuietHours
from rota.core.run import Cause
from rota.core.schedule import Chat, Cron, Every, Manual, Once, Schedule, Webhook
from tests.core.states import DAY, HALF_PAST, HOUR, MINUTE, NOW, TICK, job_state, pause_hint, today

BUSY = LiveRuns(running=1)
SPENT = BudgetVerdict(over=(BudgetLine("agent coder", "day", Decimal("20.50"), Decimal(20)),))
QUIET = (QuietHours(time(9), time(11)),)
SCHEDULED = (Cause.SCHEDULE, Cause.CATCH_UP)
OTHERS = tuple(cause for cause in Cause if cause not in SCHEDULED)
BY_HAND = Cause.MANUAL

ORDER = (
    Reason.UNSUPPORTED_TYPE,
    Reason.DISABLED,
    Reason.NOT_DUE,
    Reason.PAUSED,
    Reason.QUIET,
    Reason.EXPIRED,
    Reason.ALREADY_RUNNING,
    Reason.OVER_BUDGET,
)
DETAILS = {
    Reason.UNSUPPORTED_TYPE: "this type of schedule has no due times of its own",
    Reason.DISABLED: "",
    Reason.NOT_DUE: "due at 2026-03-02T10:30:00+00:00",
    Reason.PAUSED: "until 2026-03-02T12:00:00+00:00",
    Reason.QUIET: "until 2026-03-02T11:00:00+00:00",
    Reason.EXPIRED: "until 2026-03-02T08:00:00+00:00",
    Reason.ALREADY_RUNNING: "overlap is skip",
    Reason.OVER_BUDGET: "agent coder: 20.50 of 20 (day)",
}


def asked_with(*reasons: Reason, cause: Cause = Cause.SCHEDULE) -> Admission:
    """Ask for a run that all these reasons speak against."""
    fields: dict[str, object] = {}
    if Reason.DISABLED in reasons:
        fields["is_enabled"] = False
    if Reason.PAUSED in reasons:
        fields["paused_until"] = today("12:00")
    if Reason.QUIET in reasons:
        fields["quiet"] = QUIET
    if Reason.EXPIRED in reasons:
        fields["until"] = today("08:00")
    schedule: Schedule = Manual() if Reason.UNSUPPORTED_TYPE in reasons else HALF_PAST
    return admit(
        NOW,
        job_state(schedule, **fields),
        cause=cause,
        due_at=today("10:30") if Reason.NOT_DUE in reasons else today("09:30"),
        live=BUSY if Reason.ALREADY_RUNNING in reasons else LiveRuns(),
        budget=SPENT if Reason.OVER_BUDGET in reasons else BudgetVerdict(),
    )


def test_the_reasons_stand_in_the_order_of_the_specification_when_listed() -> None:
    """SPEC 4: "the first that fails: `unsupported_type`, `disabled`, … `over_budget`"."""
    assert tuple(Reason) == ORDER
    assert [reason.value for reason in Reason] == [
        "unsupported_type",
        "disabled",
        "not_due",
        "paused",
        "quiet",
        "expired",
        "already_running",
        "over_budget",
    ]


def test_three_reasons_become_no_rows_when_recorded() -> None:
    """SPEC 4: "The first three are only ever answers to "why"; the rest become rows"."""
    assert frozenset(ORDER[:3]) == UNRECORDED


def test_a_run_is_admitted_when_nothing_speaks_against_it() -> None:
    assert asked_with() == Admit(Start.NOW, supersedes_retry=False)


@pytest.mark.parametrize("reason", ORDER)
@pytest.mark.parametrize("cause", SCHEDULED)
def test_a_scheduled_run_is_refused_when_one_reason_holds(reason: Reason, cause: Cause) -> None:
    """SPEC 4: "Admission (pure) answers `admit` or a reason"; overlap never skips a catch-up."""
    if cause is Cause.CATCH_UP and reason is Reason.ALREADY_RUNNING:
        assert asked_with(reason, cause=cause) == Admit(Start.WAIT)
    else:
        assert asked_with(reason, cause=cause) == Skip(reason, DETAILS[reason])


@pytest.mark.parametrize(("first", "second"), list(combinations(ORDER, 2)))
def test_the_first_reason_wins_when_two_hold(first: Reason, second: Reason) -> None:
    """SPEC 4: "the first that fails"."""
    assert asked_with(first, second) == Skip(first, DETAILS[first])


@pytest.mark.parametrize("start", range(len(ORDER)))
def test_the_first_reason_wins_when_all_after_it_hold(start: int) -> None:
    assert asked_with(*ORDER[start:]) == Skip(ORDER[start], DETAILS[ORDER[start]])


@pytest.mark.parametrize("cause", OTHERS)
@pytest.mark.parametrize(
    "reason", [Reason.UNSUPPORTED_TYPE, Reason.NOT_DUE, Reason.QUIET, Reason.EXPIRED], ids=lambda reason: reason.value
)
def test_a_run_outside_the_schedule_is_admitted_when_a_rule_of_the_schedule_fails(cause: Cause, reason: Reason) -> None:
    """SPEC 2: quiet hours are "for scheduled occurrences only"; `max_runs` counts "started scheduled occurrences"."""
    assert asked_with(reason, cause=cause) == Admit(Start.NOW)


@pytest.mark.parametrize("cause", OTHERS)
@pytest.mark.parametrize("reason", [Reason.DISABLED, Reason.PAUSED], ids=lambda reason: reason.value)
def test_only_a_manual_run_is_admitted_when_a_person_stopped_the_job(cause: Cause, reason: Reason) -> None:
    """SPEC 3: "Queued runs of a paused job wait, running ones go on, manual ones are allowed"."""
    expected: Admission = Admit(Start.NOW) if cause is BY_HAND else Skip(reason, DETAILS[reason])
    assert asked_with(reason, cause=cause) == expected


@pytest.mark.parametrize("cause", list(Cause))
def test_every_run_is_refused_when_a_budget_is_used_up(cause: Cause) -> None:
    """SPEC 5: "checked when firing"; only an admin's override frees a manual run, by leaving the verdict out."""
    assert asked_with(Reason.OVER_BUDGET, cause=cause) == Skip(Reason.OVER_BUDGET, DETAILS[Reason.OVER_BUDGET])


def test_a_manual_run_is_refused_for_the_budget_when_everything_speaks_against_it() -> None:
    refused = Skip(Reason.OVER_BUDGET, DETAILS[Reason.OVER_BUDGET])
    assert asked_with(*ORDER, cause=BY_HAND) == refused
    assert asked_with(*ORDER[:-1], cause=BY_HAND) == Admit(Start.WAIT)


def test_the_first_cap_is_named_when_several_are_used_up() -> None:
    lines = (
        BudgetLine("job report", "tokens_per_day", Decimal(7), Decimal(5)),
        BudgetLine("fleet", "month", Decimal(9), Decimal(8)),
    )
    answer = admit(NOW, job_state(HALF_PAST), due_at=NOW, budget=BudgetVerdict(over=lines))
    assert answer == Skip(Reason.OVER_BUDGET, "job report: 7 of 5 (tokens_per_day)")


def test_a_run_is_admitted_when_a_budget_is_only_near() -> None:
    near = BudgetVerdict(near=(BudgetLine("fleet", "day", Decimal(9), Decimal(10)),))
    assert admit(NOW, job_state(HALF_PAST), due_at=NOW, budget=near) == Admit(Start.NOW)


@pytest.mark.parametrize(
    ("schedule", "has_due_times"),
    [
        (Once(NOW), True),
        (Every(HOUR), True),
        (Cron("0 * * * *"), True),
        (Daily(time(10)), True),
        (Weekly((Weekday.MON,), time(10)), True),
        (Monthly(MonthDay(2), time(10)), True),
        (Manual(), False),
        (Webhook(), False),
        (Chat(), False),
        (After("build"), False),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("cause", SCHEDULED)
def test_a_type_is_unsupported_when_it_has_no_due_times(schedule: Schedule, has_due_times: bool, cause: Cause) -> None:
    """SPEC 2, the column "next due time": manual, webhook, chat and after have none."""
    refused = Skip(Reason.UNSUPPORTED_TYPE, DETAILS[Reason.UNSUPPORTED_TYPE])
    expected: Admission = Admit(Start.NOW) if has_due_times else refused
    assert admit(NOW, job_state(schedule), cause=cause, due_at=NOW) == expected


@pytest.mark.parametrize(
    ("due_at", "expected"),
    [
        (NOW - DAY, Admit(Start.NOW)),
        (NOW, Admit(Start.NOW)),
        (NOW + TICK, Skip(Reason.NOT_DUE, "due at 2026-03-02T10:00:00.000001+00:00")),
        (None, Skip(Reason.NOT_DUE, "no due time")),
    ],
)
def test_a_scheduled_run_is_not_due_when_its_time_has_not_come(due_at: datetime | None, expected: Admission) -> None:
    assert admit(NOW, job_state(HALF_PAST), due_at=due_at) == expected


@pytest.mark.parametrize("cause", OTHERS)
def test_a_run_outside_the_schedule_needs_no_due_time_when_asked_for(cause: Cause) -> None:
    state = job_state(HALF_PAST, quiet=QUIET, until=today("08:00"), max_runs=1, started_count=1)
    assert admit(NOW, state, cause=cause) == Admit(Start.NOW)


@pytest.mark.parametrize(
    ("state", "is_paused", "until"),
    [
        (job_state(HALF_PAST, paused_until=NOW), False, ""),
        (job_state(HALF_PAST, paused_until=NOW + TICK), True, "2026-03-02T10:00:00.000001+00:00"),
        (job_state(HALF_PAST, hints=(pause_hint(today("11:00")),)), True, "2026-03-02T11:00:00+00:00"),
    ],
)
def test_a_run_is_paused_when_the_pause_has_not_ended(state: JobState, is_paused: bool, until: str) -> None:
    expected: Admission = Skip(Reason.PAUSED, f"until {until}") if is_paused else Admit(Start.NOW)
    assert admit(NOW, state, due_at=NOW) == expected


@pytest.mark.parametrize(("clock", "is_quiet"), [("08:59", False), ("09:00", True), ("10:00", True), ("11:00", False)])
def test_quiet_hours_are_judged_by_the_due_time_when_it_fires_later(clock: str, is_quiet: bool) -> None:
    """SPEC 2: quiet hours, for scheduled occurrences: "skipped with that reason"."""
    expected: Admission = Skip(Reason.QUIET, DETAILS[Reason.QUIET]) if is_quiet else Admit(Start.NOW)
    assert admit(today("12:00"), job_state(HALF_PAST, quiet=QUIET), due_at=today(clock)) == expected


def test_quiet_hours_follow_the_zone_of_the_job_when_it_has_one() -> None:
    state = job_state(HALF_PAST, quiet=QUIET, zone="Europe/Berlin")
    assert admit(NOW, state, due_at=today("08:00")) == Skip(Reason.QUIET, "until 2026-03-02T10:00:00+00:00")
    assert admit(NOW, state, due_at=today("10:00")) == Admit(Start.NOW)


@pytest.mark.parametrize(
    ("until", "is_expired"), [(NOW - TICK, True), (NOW, False), (NOW + TICK, False)], ids=["before", "at", "after"]
)
def test_a_job_has_expired_when_the_due_time_lies_after_until(until: datetime, is_expired: bool) -> None:
    """SPEC 4: "`expired` (until, max_runs)"."""
    expected: Admission = Skip(Reason.EXPIRED, "until 2026-03-02T09:59:59.999999+00:00")
    expected = expected if is_expired else Admit(Start.NOW)
    assert admit(NOW, job_state(HALF_PAST, until=until), due_at=NOW) == expected


@pytest.mark.parametrize(("started", "is_expired"), [(2, False), (3, True), (4, True)])
def test_a_job_has_expired_when_max_runs_have_started(started: int, is_expired: bool) -> None:
    """SPEC 2: "`max_runs` (started scheduled occurrences)"."""
    expected: Admission = Skip(Reason.EXPIRED, "max_runs is 3") if is_expired else Admit(Start.NOW)
    state = job_state(HALF_PAST, until=NOW, max_runs=3, started_count=started)
    assert admit(NOW, state, due_at=NOW) == expected


@pytest.mark.parametrize(
    ("rules", "live", "expected"),
    [
        (OverlapRules(Overlap.QUEUE), BUSY, Admit(Start.WAIT)),
        (OverlapRules(Overlap.QUEUE), LiveRuns(1, 1), Skip(Reason.ALREADY_RUNNING, "overlap is queue")),
        (OverlapRules(Overlap.ALLOW), BUSY, Admit(Start.NOW)),
        (OverlapRules(Overlap.REPLACE), BUSY, Admit(Start.REPLACE)),
        (OverlapRules(Overlap.SKIP), LiveRuns(waiting_retries=1), Admit(Start.NOW, supersedes_retry=True)),
        (OverlapRules(Overlap.QUEUE), LiveRuns(1, 0, 1), Admit(Start.WAIT, supersedes_retry=True)),
    ],
)
def test_an_admitted_run_says_how_it_starts_when_others_live(
    rules: OverlapRules, live: LiveRuns, expected: Admission
) -> None:
    """SPEC 4, overlap; lack of capacity "is never a skip" and so not asked here at all."""
    assert admit(NOW, job_state(HALF_PAST), due_at=NOW, live=live, overlap=rules) == expected


@pytest.mark.parametrize("cause", [cause for cause in Cause if cause is not Cause.SCHEDULE])
def test_no_retry_is_superseded_when_the_run_is_not_scheduled(cause: Cause) -> None:
    answer = admit(
        NOW,
        job_state(HALF_PAST),
        cause=cause,
        due_at=NOW - MINUTE,
        live=LiveRuns(waiting_retries=1),
        overlap=OverlapRules(Overlap.ALLOW),
    )
    assert answer == Admit(Start.NOW, supersedes_retry=False)
