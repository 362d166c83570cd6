"""Budgets: caps on money and tokens for a job, an agent or the fleet."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, time
from decimal import Decimal

import msgspec

from rota.core.usage import Usage
from rota.core.zone import first_instant, wall_time, zone_named
from rota.errors import ScheduleError

WARN_AT = Decimal("0.8")
_MONEY = re.compile(r"\$?\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)")
_TOKENS = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,3})?)\s*([kKmMbB]?)")
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """Caps; what is not given is not limited. ``run`` is the cap of each single run."""

    run: Decimal | None = None
    day: Decimal | None = None
    month: Decimal | None = None
    tokens_per_day: int | None = None


class Account(msgspec.Struct, frozen=True):
    """One budget with what has been spent of it; running runs are reserved with their own cap."""

    scope: str
    budget: Budget
    spent_today: Decimal = Decimal(0)
    spent_this_month: Decimal = Decimal(0)
    tokens_today: int = 0
    reserved: Decimal = Decimal(0)


class BudgetLine(msgspec.Struct, frozen=True):
    """One cap and how much of it is gone."""

    scope: str
    limit: str
    spent: Decimal
    cap: Decimal


class BudgetVerdict(msgspec.Struct, frozen=True):
    """Caps that are used up, and caps of which at least 80% is gone."""

    over: tuple[BudgetLine, ...] = ()
    near: tuple[BudgetLine, ...] = ()


def check_budgets(accounts: Iterable[Account]) -> BudgetVerdict:
    """Whether another run may be paid for by the job, its agent and the fleet."""
    lines = [line for account in accounts for line in _lines(account)]
    over = tuple(line for line in lines if line.spent >= line.cap)
    near = tuple(line for line in lines if line.cap * WARN_AT <= line.spent < line.cap)
    return BudgetVerdict(over, near)


def over_run_cap(budgets: Iterable[tuple[str, Budget]], usage: Usage) -> BudgetLine | None:
    """The first cap on a single run that this run has passed, given the budgets by scope."""
    for scope, budget in budgets:
        if budget.run is not None and usage.cost > budget.run:
            return BudgetLine(scope, "run", usage.cost, budget.run)
    return None


def budget_periods(now: datetime, zone_name: str) -> tuple[datetime, datetime]:
    """When the present day and the present month began in the fleet's zone."""
    zone = zone_named(zone_name)
    today = wall_time(now, zone).date()
    day, month = (first_instant(datetime.combine(date, time()), zone) for date in (today, today.replace(day=1)))
    return day, month


def parse_money(text: str) -> Decimal:
    """An amount, ``$2`` or ``2.50``."""
    match = _MONEY.fullmatch(text.strip())
    if match is None:
        raise ScheduleError(field="budget", value=text, expected="an amount of dollars, zero or more", example="$2.50")
    return Decimal(match[1])


def parse_tokens(text: str) -> int:
    """A number of tokens, ``5M``, ``500k`` or ``1500``."""
    match = _TOKENS.fullmatch(text.strip())
    tokens = Decimal(match[1]) * _SCALE[match[2].lower()] if match else Decimal("NaN")
    if tokens.is_nan() or tokens % 1:
        raise ScheduleError(
            field="tokens_per_day", value=text, expected="a whole number, with k, M or B if you like", example="5M"
        )
    return int(tokens)


def check_budget(budget: Budget) -> None:
    """Refuse caps below zero."""
    for field in Budget.__struct_fields__:
        cap = getattr(budget, field)
        if cap is not None and cap < 0:
            raise ScheduleError(field=f"budget.{field}", value=str(cap), expected="zero or more", example="20")


def _lines(account: Account) -> Iterable[BudgetLine]:
    budget = account.budget
    today, month = account.spent_today + account.reserved, account.spent_this_month + account.reserved
    caps = (("day", today, budget.day), ("month", month, budget.month))
    for limit, spent, cap in caps:
        if cap is not None:
            yield BudgetLine(account.scope, limit, spent, cap)
    if budget.tokens_per_day is not None:
        tokens, most = Decimal(account.tokens_today), Decimal(budget.tokens_per_day)
        yield BudgetLine(account.scope, "tokens_per_day", tokens, most)
