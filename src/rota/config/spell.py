"""A definition in the words of the fleet file: only what differs from what is assumed anyway."""

from __future__ import annotations

from datetime import timedelta

from rota.core.backoff import Backoff, Ladder, Multiply, NoBackoff, Retry, default_backoff
from rota.core.calendar import Daily, Monthly, Weekly, format_calendar, format_clock
from rota.core.catchup import LateRules, default_catch_up
from rota.core.chain import After
from rota.core.definition import (
    Action,
    CommandAction,
    Definition,
    HttpAction,
    action_kind,
    default_retry,
    define,
)
from rota.core.duration import format_duration
from rota.core.job import Timing
from rota.core.overlap import OverlapRules
from rota.core.quiet import format_quiet
from rota.core.schedule import Cron, Every, First, Once, Schedule, schedule_type

Words = dict[str, object]


def spell_job(definition: Definition) -> Words:
    """The words that ``define_job`` reads back as the same definition."""
    timing, action = definition.timing, definition.action
    usual = define(definition.name, timing, action)
    return {
        **_text("description", definition.description or None),
        **spell_schedule(timing.schedule),
        "timezone": timing.zone,
        **_action(action),
        **_text("prompt", definition.prompt),
        **_life(timing),
        **_spread(timing, action),
        **(_text("pool", definition.pool) if definition.pool != usual.pool else {}),
        **_text("concurrency_key", definition.concurrency_key),
        **_overlap(definition.overlap),
        **_late(definition.late, timing.schedule),
        **_settle(definition, action),
        **_waits(definition, usual),
    }


def _text(key: str, text: str | None) -> Words:
    return {} if text is None else {key: text}


def spell_schedule(schedule: Schedule) -> Words:
    """The words of a schedule."""
    match schedule:
        case Once(at=at, keep=keep):
            return {"at": at.isoformat(), **({} if keep else {"keep": False})}
        case Every(interval=interval, first=first):
            return {"every": format_duration(interval), **({} if first is First.NOW else {"first": first.value})}
        case Cron(expression=expression):
            return {"cron": expression}
        case Daily(at=at):
            return {"daily": format_clock(at)}
        case Weekly(on=days, at=at):
            return {"weekly": {"on": [day.name.lower() for day in days], "at": format_clock(at)}}
        case Monthly(at=at):
            rule = format_calendar(schedule).removeprefix("monthly ").rpartition(" ")[0]
            return {"monthly": {"on": int(rule) if rule.isdigit() else rule, "at": format_clock(at)}}
        case After():
            return {"after": _after(schedule)}
        case _:
            return {schedule_type(schedule): True}


def _after(after: After) -> object:
    usual = After(after.job)
    words: Words = {"job": after.job}
    if after.on is not usual.on:
        words["on"] = after.on.value
    if after.when is not None:
        words["when"] = after.when
    if after.delay:
        words["delay"] = format_duration(after.delay)
    if after.hands_over is not usual.hands_over:
        words["pass"] = after.hands_over.value
    return words if len(words) > 1 else after.job


def _action(action: Action) -> Words:
    match action:
        case CommandAction(argv=argv, shell=is_shell):
            is_line = is_shell and len(argv) == 1
            return {
                "command": argv[0] if is_line else list(argv),
                **({"shell": True} if is_shell else {}),
                **_text("cwd", action.cwd),
                **({"env": dict(action.env)} if action.env else {}),
                **_text("stdin", action.stdin),
            }
        case HttpAction():
            return {"http": _request(action)}
    return {"python": action.target}


def _request(action: HttpAction) -> object:
    words: Words = {"url": action.url}
    if action.method != "GET":
        words["method"] = action.method
    if action.headers:
        words["headers"] = dict(action.headers)
    if action.body is not None:
        words["body"] = action.body
    if action.expect:
        words["expect"] = list(action.expect)
    return words if len(words) > 1 else action.url


def _life(timing: Timing) -> Words:
    words: Words = {}
    if timing.begins_at is not None:
        words["from"] = timing.begins_at.isoformat()
    if timing.until is not None:
        words["until"] = timing.until.isoformat()
    if timing.max_runs is not None:
        words["max_runs"] = timing.max_runs
    if timing.quiet:
        quiet = [format_quiet(period) for period in timing.quiet]
        words["quiet"] = quiet if len(quiet) > 1 else quiet[0]
    if timing.quiet_policy is not Timing(schedule=timing.schedule).quiet_policy:
        words["quiet_policy"] = timing.quiet_policy.value
    return words


def _spread(timing: Timing, action: Action) -> Words:
    words: Words = {}
    if timing.stagger:
        words["stagger"] = format_duration(timing.stagger)
    if timing.jitter:
        words["jitter"] = _number(timing.jitter)
    for key, limit in (("min_interval", timing.min_interval), ("max_interval", timing.max_interval)):
        if limit is not None:
            words[key] = format_duration(limit)
    if timing.backoff != default_backoff(timing.schedule, action_kind(action)):
        words["backoff"] = _backoff(timing.backoff)
    return words


def _backoff(backoff: Backoff) -> object:
    match backoff:
        case NoBackoff():
            return "none"
        case Multiply():
            return "multiply"
    return "ladder" if backoff == Ladder() else [format_duration(step) for step in backoff.steps]


def _overlap(rules: OverlapRules) -> Words:
    usual = OverlapRules()
    words: Words = {}
    if rules.policy is not usual.policy:
        words["overlap"] = rules.policy.value
    if rules.max_waiting != usual.max_waiting:
        words["max_waiting"] = rules.max_waiting
    return words


def _late(rules: LateRules, schedule: Schedule) -> Words:
    usual = LateRules(catch_up=default_catch_up(schedule))
    words: Words = {}
    if rules.start_within != usual.start_within:
        words["start_within"] = format_duration(rules.start_within)
    if rules.catch_up is not usual.catch_up:
        words["catch_up"] = rules.catch_up.value
    if rules.window != usual.window:
        words["catch_up_window"] = format_duration(rules.window)
    if rules.limit != usual.limit:
        words["catch_up_limit"] = rules.limit
    return words


def _settle(definition: Definition, action: Action) -> Words:
    rules = definition.settle
    words: Words = {}
    if retry := _retry(rules.retry, default_retry(action)):
        words["retry"] = retry
    if rules.pause_after is not None:
        words["pause_after"] = rules.pause_after
    if rules.notify_after != 1:
        words["notify_after"] = rules.notify_after
    return words


def _retry(retry: Retry, usual: Retry) -> Words:
    """The fields of a retry have the names of the file."""
    fields = {field: getattr(retry, field) for field in Retry.__struct_fields__}
    return {field: _value(value) for field, value in fields.items() if value != getattr(usual, field)}


def _waits(definition: Definition, usual: Definition) -> Words:
    words: Words = {}
    if definition.queue_timeout is not None:
        words["queue_timeout"] = format_duration(definition.queue_timeout)
    if definition.timeout != usual.timeout:
        words["timeout"] = "none" if definition.timeout is None else format_duration(definition.timeout)
    if definition.silence_after != usual.silence_after:
        words["silence_after"] = format_duration(definition.silence_after)
    if definition.on_silence is not usual.on_silence:
        words["on_silence"] = definition.on_silence.value
    return words


def _value(value: object) -> object:
    if isinstance(value, timedelta):
        return format_duration(value)
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | int:
    """Whole numbers without a point."""
    return int(value) if value.is_integer() and value < 2**53 else value
