"""Rota: the duty roster for AI agents. Public names only; each is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.core.cron import CronExpression as CronExpression
    from rota.core.cron import calculate_next_cron_trigger as calculate_next_cron_trigger
    from rota.core.cron import is_valid_cron as is_valid_cron_expression
    from rota.core.cron import parse_cron as parse_cron_expression
    from rota.core.decision import Decision as Decision
    from rota.core.decision import Moment as Moment
    from rota.core.decision import Source as Source
    from rota.core.duration import parse_duration as parse_interval
    from rota.core.governor import decide as decide
    from rota.core.job import JobState as JobState
    from rota.core.job import Timing as Timing
    from rota.core.prompt import WorkItem as WorkItem
    from rota.core.prompt import build_schedule_prompt as build_schedule_prompt
    from rota.core.schedule import calculate_next_trigger as calculate_next_trigger
    from rota.core.schedule import is_schedule_due as is_schedule_due
    from rota.core.schedule import next_times as next_times
    from rota.core.schedule import parse_schedule as parse_schedule
    from rota.errors import CronParseError as CronParseError
    from rota.errors import InputError as InputError
    from rota.errors import IntervalErrorKind as IntervalErrorKind
    from rota.errors import IntervalParseError as IntervalParseError
    from rota.errors import RunStateError as RunStateError
    from rota.errors import ScheduleError as ScheduleError
    from rota.errors import SchedulerError as SchedulerError
    from rota.errors import SchedulerShutdownError as SchedulerShutdownError
    from rota.errors import ScheduleTriggerError as ScheduleTriggerError

__version__ = "0.4.0"

# Where each public name lives. Loading all of them would cost more than `rota --help` may take.
_HOMES = {
    "CronExpression": "core.cron",
    "CronParseError": "errors",
    "Decision": "core.decision",
    "InputError": "errors",
    "IntervalErrorKind": "errors",
    "IntervalParseError": "errors",
    "JobState": "core.job",
    "Moment": "core.decision",
    "RunStateError": "errors",
    "ScheduleError": "errors",
    "ScheduleTriggerError": "errors",
    "SchedulerError": "errors",
    "SchedulerShutdownError": "errors",
    "Source": "core.decision",
    "Timing": "core.job",
    "WorkItem": "core.prompt",
    "build_schedule_prompt": "core.prompt",
    "calculate_next_cron_trigger": "core.cron",
    "calculate_next_trigger": "core.schedule",
    "decide": "core.governor",
    "is_schedule_due": "core.schedule",
    "is_valid_cron_expression": "core.cron:is_valid_cron",
    "next_times": "core.schedule",
    "parse_cron_expression": "core.cron:parse_cron",
    "parse_interval": "core.duration:parse_duration",
    "parse_schedule": "core.schedule",
}

__all__ = [
    "CronExpression",
    "CronParseError",
    "Decision",
    "InputError",
    "IntervalErrorKind",
    "IntervalParseError",
    "JobState",
    "Moment",
    "RunStateError",
    "ScheduleError",
    "ScheduleTriggerError",
    "SchedulerError",
    "SchedulerShutdownError",
    "Source",
    "Timing",
    "WorkItem",
    "build_schedule_prompt",
    "calculate_next_cron_trigger",
    "calculate_next_trigger",
    "decide",
    "is_schedule_due",
    "is_valid_cron_expression",
    "next_times",
    "parse_cron_expression",
    "parse_interval",
    "parse_schedule",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, inner = home.partition(":")
    value: object = getattr(import_module(f"{__name__}.{module}"), inner or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
