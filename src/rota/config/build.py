"""From the settings of one job to its definition, with everything that the core finds wrong with it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from rota.config.findings import Refusal, Wording, words_of
from rota.config.layers import Parts
from rota.config.readers import NONE
from rota.config.texts import Line
from rota.core.backoff import Backoff, Ladder, Multiply, NoBackoff
from rota.core.calendar import Daily, Monthly, Weekly
from rota.core.catchup import CatchUp, LateRules, default_catch_up
from rota.core.chain import After, ChainOn, ChainPass
from rota.core.definition import (
    Action,
    CommandAction,
    Definition,
    HttpAction,
    PythonAction,
    action_kind,
    check_definition,
    default_retry,
    define,
    with_default_backoff,
)
from rota.core.job import Timing
from rota.core.liveness import OnSilence
from rota.core.overlap import Overlap, OverlapRules
from rota.core.quiet import QuietPolicy
from rota.core.schedule import Chat, Cron, Every, First, Manual, Once, Schedule, Webhook, once_instant
from rota.core.settlement import SettleRules
from rota.errors import InputError

Note = Callable[[Wording, str], None]

_PLAIN = ("description", "prompt", "pool", "concurrency_key", "silence_after")
_ANY_URL = "https://example.org"
_NOTHING = PythonAction(target="nothing:nothing")

_NO_JOB = define("nothing", Timing(schedule=Manual()), _NOTHING)


class Identity(NamedTuple):
    """Whose settings they are, and the zone and folder of whoever says nothing of them."""

    name: str
    agent: str | None
    zone: str
    folder: str | None = None
    home: str | None = None


def build(parts: Parts, identity: Identity, note: Note) -> tuple[Definition, tuple[str, ...]]:
    """The definition and its warnings. Each thing that is wrong is noted with its key, left out, and the rest tried."""
    while True:
        try:
            definition = _definition(parts, identity)
            return definition, _check(definition)
        except _KeyRefusal as error:
            key, words = error.key, words_of(error.cause)
        except InputError as error:
            key, words = error.field, words_of(error)
        note(words, key)
        left = _without(parts, key)
        if left == parts:
            return _NO_JOB, ()
        parts = left


def _check(definition: Definition) -> tuple[str, ...]:
    """Check all but the quiet hours: those are checked where they are written, not for each job that inherits them."""
    if definition.timing.quiet:
        timing = msgspec.structs.replace(definition.timing, quiet=())
        definition = msgspec.structs.replace(definition, timing=timing)
    return check_definition(definition)


class _KeyRefusal(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, key: str, cause: Exception) -> None:
        self.key = key
        self.cause = cause


def _without(parts: Parts, field: str) -> Parts:
    """The parts without what is wrong; of a mapping only the entry, so that the others are looked at too.

    Half a schedule is none, so that goes as a whole.
    """
    key, _, entry = field.partition(".")
    inner = parts.get(key)
    if isinstance(inner, dict) and entry in inner and key not in _SCHEDULES:
        left = {name: value for name, value in inner.items() if name != entry}
        return {**parts, key: left | ({"url": _ANY_URL} if entry == "url" else {})}
    gone = ("overlap", "max_waiting") if key == "overlap" else (key,)
    return {name: value for name, value in parts.items() if name not in gone}


def _definition(parts: Parts, identity: Identity) -> Definition:
    schedule, action = schedule_of(parts) or Manual(), _action(parts, identity) or _NOTHING
    given: dict[str, object] = {key: parts[key] for key in _PLAIN if key in parts}
    for key in ("queue_timeout", "timeout"):
        if key in parts:
            given[key] = None if parts[key] == NONE else parts[key]
    if "on_silence" in parts:
        given["on_silence"] = OnSilence(parts["on_silence"])
    return define(
        identity.name,
        _timing(parts, schedule, action, parts.get("timezone", identity.zone)),
        action,
        agent=identity.agent,
        overlap=OverlapRules(Overlap(parts.get("overlap", Overlap.SKIP)), parts.get("max_waiting", 1)),
        late=_late(parts, schedule),
        settle=_settle(parts, action),
        **given,
    )


def schedule_of(parts: Parts) -> Schedule | None:
    """The schedule that the settings give; none when they give none."""
    for key, make in _SCHEDULES.items():
        if key in parts:
            return make(parts)
    return None


def _once(parts: Parts) -> Schedule:
    inner: Parts = parts["once"]
    is_kept = inner.get("keep", True) is not False
    if (inner.get("at") is None) == (inner.get("in") is None):
        raise _KeyRefusal("once", Refusal("This needs either at or in.", "For example: once: {at: 2026-12-01T09:00}"))
    return Once(inner["at"] if inner.get("at") is not None else inner["in"].at, is_kept)


def _after(parts: Parts) -> After:
    inner: Parts = {key: value for key, value in parts["after"].items() if value is not None}
    given: dict[str, object] = {key: inner[key] for key in ("when", "delay") if key in inner}
    return After(
        inner["job"],
        on=ChainOn(inner.get("on", ChainOn.SUCCESS)),
        hands_over=ChainPass(inner.get("pass", ChainPass.NOTHING)),
        **given,  # type: ignore[arg-type]
    )


_SCHEDULES: dict[str, Callable[[Parts], Schedule]] = {
    "once": _once,
    "at": lambda parts: Once(parts["at"], parts.get("keep", True)),
    "in": lambda parts: Once(parts["in"].at, parts.get("keep", True)),
    "every": lambda parts: Every(parts["every"], First(parts.get("first", First.NOW))),
    "cron": lambda parts: Cron(parts["cron"]),
    "daily": lambda parts: Daily(parts["daily"]),
    "weekly": lambda parts: Weekly(tuple(parts["weekly"]["on"]), parts["weekly"]["at"]),
    "monthly": lambda parts: Monthly(parts["monthly"]["on"], parts["monthly"]["at"]),
    "manual": lambda _: Manual(),
    "webhook": lambda _: Webhook(),
    "chat": lambda _: Chat(),
    "after": _after,
    "schedule": lambda parts: parts["schedule"],
}


def _action(parts: Parts, identity: Identity) -> Action | None:
    if "command" in parts:
        return CommandAction(
            argv=_argv(parts),
            cwd=_cwd(parts.get("cwd"), identity.folder, identity.home),
            env={name: value for name, value in parts.get("env", {}).items() if value is not None},
            stdin=parts.get("stdin"),
            shell=parts.get("shell", False),
        )
    if "http" in parts:
        return _request(parts["http"])
    return PythonAction(target=parts["python"]) if "python" in parts else None


def _argv(parts: Parts) -> tuple[str, ...]:
    words: list[str] = parts["command"]
    if parts.get("shell") or not (words and isinstance(words[0], Line)):
        return tuple(map(str, words))
    try:
        return _split(str(words[0]))
    except ValueError as error:
        raise _KeyRefusal(
            "command",
            Refusal(
                f"This command cannot be split into words: {error}.", "Close the quotes, or write [program, argument]."
            ),
        ) from None


@lru_cache(maxsize=1024)
def _split(line: str) -> tuple[str, ...]:
    return tuple(shlex.split(line))


@lru_cache(maxsize=1024)
def _cwd(cwd: str | None, folder: str | None, home: str | None) -> str | None:
    """Where a command runs: in a file, relative to its folder; elsewhere as it is written."""
    if folder is None:
        return cwd
    if home is not None and cwd is not None and (cwd == "~" or cwd.startswith("~/")):
        return str(PurePosixPath(home, cwd[2:]))
    return str(PurePosixPath(folder, cwd or ""))


def _request(inner: Parts) -> HttpAction:
    given = {key: value for key, value in inner.items() if value is not None}
    headers = {name: value for name, value in given.get("headers", {}).items() if value is not None}
    return HttpAction(
        url=given["url"],
        method=given.get("method", "GET").upper(),
        headers=headers,
        body=given.get("body"),
        expect=tuple(given.get("expect", ())),
    )


def _timing(parts: Parts, schedule: Schedule, action: Action, zone: str) -> Timing:
    given: dict[str, object] = {
        key: parts[key] for key in ("max_runs", "stagger", "jitter", "min_interval", "max_interval") if key in parts
    }
    timing = Timing(
        schedule=schedule,
        zone=zone,
        begins_at=_instant(parts.get("from"), zone),
        until=_instant(parts.get("until"), zone),
        quiet=tuple(parts.get("quiet", ())),
        quiet_policy=QuietPolicy(parts.get("quiet_policy", QuietPolicy.SKIP)),
        **given,  # type: ignore[arg-type]
    )
    if "backoff" in parts:
        return msgspec.structs.replace(timing, backoff=_backoff(parts["backoff"]))
    return with_default_backoff(timing, action_kind(action))


def _instant(at: datetime | None, zone: str) -> datetime | None:
    return None if at is None else once_instant(Once(at), zone)


def _backoff(steps: list[object]) -> Backoff:
    match steps:
        case ["none"]:
            return NoBackoff()
        case ["multiply"]:
            return Multiply()
        case ["ladder"]:
            return Ladder()
    return Ladder(tuple(steps))  # type: ignore[arg-type]


def _late(parts: Parts, schedule: Schedule) -> LateRules:
    default = LateRules(catch_up=default_catch_up(schedule))
    return LateRules(
        start_within=parts.get("start_within", default.start_within),
        catch_up=CatchUp(parts.get("catch_up", default.catch_up)),
        window=parts.get("catch_up_window", default.window),
        limit=parts.get("catch_up_limit", default.limit),
    )


def _settle(parts: Parts, action: Action) -> SettleRules:
    given = {key: value for key, value in parts.get("retry", {}).items() if value is not None}
    retry = msgspec.structs.replace(default_retry(action), **given)
    return SettleRules(retry=retry, pause_after=parts.get("pause_after"), notify_after=parts.get("notify_after", 1))
