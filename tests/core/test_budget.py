"""Budgets: caps, the 80% line, the cap of one run, the fleet's days and months, and amounts as text."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from rota.core.budget import (
    Account,
    Budget,
    BudgetLine,
    BudgetVerdict,
    budget_periods,
    check_budget,
    check_budgets,
    over_run_cap,
    parse_money,
    parse_tokens,
)
from rota.core.usage import Usage
from rota.errors import ScheduleError


def line(limit: str, spent: str, cap: str, scope: str = "job report") -> BudgetLine:
    return BudgetLine(scope, limit, Decimal(spent), Decimal(cap))


@pytest.mark.parametrize(
    ("spent", "place"),
    [
        ("0", "neither"),
        ("15.999999", "neither"),
        ("16", "near"),
        ("19.999999", "near"),
        ("20", "over"),
        ("20.000001", "over"),
    ],
)
@pytest.mark.parametrize("limit", ["day", "month"])
def test_money_is_warned_of_at_80_per_cent_and_refused_when_used_up(limit: str, spent: str, place: str) -> None:
    """SPEC 5: "`budget: {run: $2, day: $20, month: $200, …}`", "warned at 80%"."""
    spent_field = {"day": "spent_today", "month": "spent_this_month"}[limit]
    account = Account("job report", Budget(**{limit: Decimal(20)}), **{spent_field: Decimal(spent)})
    lines = (line(limit, spent, "20"),)
    expected = {
        "neither": BudgetVerdict(),
        "near": BudgetVerdict(near=lines),
        "over": BudgetVerdict(over=lines),
    }
    assert check_budgets([account]) == expected[place]


@pytest.mark.parametrize(
    ("tokens", "place"), [(3_999_999, "neither"), (4_000_000, "near"), (4_999_999, "near"), (5_000_000, "over")]
)
def test_tokens_are_warned_of_at_80_per_cent_and_refused_when_used_up(tokens: int, place: str) -> None:
    """SPEC 5: "`tokens_per_day: 5M`"."""
    account = Account("fleet", Budget(tokens_per_day=5_000_000), tokens_today=tokens)
    lines = (line("tokens_per_day", str(tokens), "5000000", "fleet"),)
    expected = {
        "neither": BudgetVerdict(),
        "near": BudgetVerdict(near=lines),
        "over": BudgetVerdict(over=lines),
    }
    assert check_budgets([account]) == expected[place]


def test_running_runs_count_with_their_cap_when_money_is_checked() -> None:
    """SPEC 5: "running runs count with their own cap"; they have no cap in tokens."""
    account = Account(
        "agent coder",
        Budget(day=Decimal(20), month=Decimal(200), tokens_per_day=10),
        spent_today=Decimal(17),
        spent_this_month=Decimal(157),
        tokens_today=7,
        reserved=Decimal(3),
    )
    expected = BudgetVerdict(
        over=(line("day", "20", "20", "agent coder"),), near=(line("month", "160", "200", "agent coder"),)
    )
    assert check_budgets([account]) == expected


def test_the_verdict_lists_job_agent_and_fleet_when_all_are_used_up() -> None:
    """SPEC 5: "on a job, an agent or the fleet"."""
    spent = {"spent_today": Decimal(5), "spent_this_month": Decimal(5), "tokens_today": 5}
    accounts = [
        Account("job report", Budget(month=Decimal(1)), **spent),
        Account("agent coder", Budget(day=Decimal(6)), **spent),
        Account("fleet", Budget(day=Decimal(2), month=Decimal(3), tokens_per_day=4), **spent),
    ]
    assert check_budgets(iter(accounts)) == BudgetVerdict(
        over=(
            line("month", "5", "1"),
            line("day", "5", "2", "fleet"),
            line("month", "5", "3", "fleet"),
            line("tokens_per_day", "5", "4", "fleet"),
        ),
        near=(line("day", "5", "6", "agent coder"),),
    )


def test_nothing_is_limited_when_no_cap_is_given() -> None:
    account = Account("fleet", Budget(run=Decimal(1)), Decimal(9), Decimal(9), 9, Decimal(9))
    assert check_budgets([account]) == BudgetVerdict()
    assert check_budgets([]) == BudgetVerdict((), ())


def test_nothing_may_be_spent_when_the_cap_is_zero() -> None:
    accounts = [Account("fleet", Budget(day=Decimal(0), month=Decimal(0), tokens_per_day=0))]
    assert [over.limit for over in check_budgets(accounts).over] == ["day", "month", "tokens_per_day"]
    assert check_budgets(accounts).near == ()


@pytest.mark.parametrize(("cost", "is_over"), [("1.99", False), ("2", False), ("2.000001", True)])
def test_a_run_is_over_its_cap_when_it_exceeds_it(cost: str, is_over: bool) -> None:
    """SPEC 5: "a run that exceeds its cap is stopped mid-stream"."""
    expected = line("run", cost, "2") if is_over else None
    assert over_run_cap([("job report", Budget(run=Decimal(2)))], Usage(cost=Decimal(cost))) == expected


def test_the_first_passed_cap_is_named_when_several_scopes_have_one() -> None:
    budgets = [
        ("job report", Budget(day=Decimal(1))),
        ("agent coder", Budget(run=Decimal(9))),
        ("fleet", Budget(run=Decimal(3))),
        ("other", Budget(run=Decimal(1))),
    ]
    assert over_run_cap(budgets, Usage(cost=Decimal(4))) == line("run", "4", "3", "fleet")
    assert over_run_cap([], Usage(cost=Decimal(4))) is None


@pytest.mark.parametrize(
    ("now", "zone", "day", "month"),
    [
        ("2026-03-02T00:00Z", "UTC", "2026-03-02T00:00Z", "2026-03-01T00:00Z"),
        ("2026-03-01T23:59:59.999999Z", "UTC", "2026-03-01T00:00Z", "2026-03-01T00:00Z"),
        # The day on which Berlin's clocks go forward, and the day after; the month began in winter time.
        ("2026-03-28T22:59:59Z", "Europe/Berlin", "2026-03-27T23:00Z", "2026-02-28T23:00Z"),
        ("2026-03-28T23:00Z", "Europe/Berlin", "2026-03-28T23:00Z", "2026-02-28T23:00Z"),
        ("2026-03-29T21:59:59Z", "Europe/Berlin", "2026-03-28T23:00Z", "2026-02-28T23:00Z"),
        ("2026-03-29T22:00Z", "Europe/Berlin", "2026-03-29T22:00Z", "2026-02-28T23:00Z"),
        ("2026-03-31T22:00Z", "Europe/Berlin", "2026-03-31T22:00Z", "2026-03-31T22:00Z"),
        # A month that began in summer time and ends in winter time.
        ("2026-10-31T12:00Z", "Europe/Berlin", "2026-10-30T23:00Z", "2026-09-30T22:00Z"),
        # Cairo's clocks skip midnight itself, Havana's show it twice.
        ("2026-04-24T10:00Z", "Africa/Cairo", "2026-04-23T22:00Z", "2026-03-31T22:00Z"),
        ("2026-11-01T05:30Z", "America/Havana", "2026-11-01T04:00Z", "2026-11-01T04:00Z"),
        ("2026-11-01T03:59Z", "America/Havana", "2026-10-31T04:00Z", "2026-10-01T04:00Z"),
        ("2026-12-31T11:00Z", "Pacific/Kiritimati", "2026-12-31T10:00Z", "2026-12-31T10:00Z"),
    ],
)
def test_days_and_months_begin_in_the_zone_of_the_fleet_when_counted(now: str, zone: str, day: str, month: str) -> None:
    """SPEC 5: "days in the fleet's zone"."""
    expected = datetime.fromisoformat(day), datetime.fromisoformat(month)
    assert budget_periods(datetime.fromisoformat(now), zone) == expected


def test_an_unknown_zone_is_refused_when_a_day_is_counted() -> None:
    with pytest.raises(ScheduleError, match="IANA zone name"):
        budget_periods(datetime.fromisoformat("2026-03-02T10:00Z"), "Mars/Olympus")


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("$2", "2"),
        ("2.50", "2.50"),
        (" $ 20 ", "20"),
        ("0", "0"),
        ("$0.000001", "0.000001"),
        ("999999999999.999999", "999999999999.999999"),
    ],
)
def test_an_amount_is_read_when_it_is_dollars(text: str, amount: str) -> None:
    assert parse_money(text) == Decimal(amount)


@pytest.mark.parametrize(
    "text",
    ["", "$", "-2", "$-2", "2$", "€2", "1,000", "1e3", ".5", "2.", "0.0000001", "1" * 13, "NaN", "$$2", "٣", "2 5"],
)
def test_an_amount_is_refused_when_it_is_not_dollars(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_money(text)
    error = caught.value
    assert (error.field, error.value) == ("budget", text)
    assert (error.expected, error.example) == ("an amount of dollars, zero or more", "$2.50")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("1500", 1_500),
        ("500k", 500_000),
        ("500K", 500_000),
        ("5M", 5_000_000),
        ("5m", 5_000_000),
        ("1.5 M", 1_500_000),
        ("2b", 2_000_000_000),
        ("2B", 2_000_000_000),
        (" 0 ", 0),
        ("0.001k", 1),
        ("999999999999", 999_999_999_999),
    ],
)
def test_a_number_of_tokens_is_read_when_it_has_a_known_unit(text: str, tokens: int) -> None:
    assert parse_tokens(text) == tokens
    assert type(parse_tokens(text)) is int


@pytest.mark.parametrize("text", ["", "M", "-5M", "5T", "5MM", "$5", "1,000", "1.2345k", "1" * 13, "five", "1e6"])
def test_a_number_of_tokens_is_refused_when_it_cannot_be_read(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_tokens(text)
    error = caught.value
    assert (error.field, error.value) == ("tokens_per_day", text)
    assert (error.expected, error.example) == ("a whole number, with k, M or B if you like", "5M")


def test_usage_adds_up_when_runs_are_counted_together() -> None:
    """SPEC 5: "tokens and cost per run"."""
    one, other = Usage(1, 20, 300, Decimal("0.1")), Usage(4_000, 50_000, 600_000, Decimal("0.2"))
    assert one + other == Usage(4_001, 50_020, 600_300, Decimal("0.3"))
    assert (one.tokens, (one + other).tokens, Usage().tokens) == (321, 654_321, 0)
    assert Usage() == Usage(0, 0, 0, Decimal(0))


@pytest.mark.parametrize("text", ["1.5", "0.4", "0.0005k"])
def test_a_number_of_tokens_is_refused_when_it_is_not_whole(text: str) -> None:
    with pytest.raises(ScheduleError, match="expected a whole number"):
        parse_tokens(text)


@pytest.mark.parametrize("field", ["run", "day", "month", "tokens_per_day"])
def test_a_budget_is_refused_when_a_cap_is_below_zero(field: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_budget(Budget(**{field: -1}))
    assert (caught.value.field, caught.value.value) == (f"budget.{field}", "-1")
    check_budget(Budget(**{field: 0}))
    check_budget(Budget())
