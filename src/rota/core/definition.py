"""A job's whole definition: what to run, when, and by which rules."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import urlsplit

import msgspec

from rota.core.action import ActionKind, default_on_interrupted, default_on_lost, default_pool, default_timeout
from rota.core.backoff import Retry, default_backoff
from rota.core.catchup import LateRules, check_late, default_catch_up
from rota.core.duration import MAX_DURATION
from rota.core.job import Timing, check_timing
from rota.core.liveness import SILENCE_AFTER, OnSilence
from rota.core.overlap import OverlapRules
from rota.core.settlement import SettleRules, check_settle
from rota.errors import ScheduleError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", re.ASCII)
_URL = re.compile(r"https?://[^\s/?#:\x00-\x1f][^\s/?#\x00-\x1f]*([/?#][^\s\x00-\x1f]*)?", re.IGNORECASE)
_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}", re.ASCII)
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_REFERENCE = re.compile(r"(env|file):")
_WHOLE_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:.*\S.*", re.ASCII)
_METHOD = re.compile(r"[A-Z]{1,20}", re.ASCII)


class CommandAction(msgspec.Struct, frozen=True, kw_only=True, tag="command", omit_defaults=True):
    """A child process. ``argv`` is never read by a shell unless ``shell`` says so."""

    argv: tuple[str, ...]
    cwd: str | None = None
    env: dict[str, str] = {}
    stdin: str | None = None
    shell: bool = False


class HttpAction(msgspec.Struct, frozen=True, kw_only=True, tag="http", omit_defaults=True):
    """A request. Without ``expect`` any status from 200 to 299 is a success."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = {}
    body: str | None = None
    expect: tuple[int, ...] = ()


class PythonAction(msgspec.Struct, frozen=True, kw_only=True, tag="python", omit_defaults=True):
    """A callable of the program that embeds Rota, as ``package.module:name``."""

    target: str


Action = CommandAction | HttpAction | PythonAction


class Definition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    timing: Timing
    action: Action
    agent: str | None = None
    description: str = ""
    prompt: str | None = None
    pool: str
    concurrency_key: str | None = None
    overlap: OverlapRules = OverlapRules()
    late: LateRules = LateRules()
    settle: SettleRules = SettleRules()
    queue_timeout: timedelta | None = None
    timeout: timedelta | None = None
    silence_after: timedelta = SILENCE_AFTER
    on_silence: OnSilence = OnSilence.FLAG


_KINDS = {kind: ActionKind(str(kind.__struct_config__.tag)) for kind in (CommandAction, HttpAction, PythonAction)}


def action_kind(action: Action) -> ActionKind:
    return _KINDS[type(action)]


def define(name: str, timing: Timing, action: Action, **given: object) -> Definition:
    """A definition in which everything that is not given takes the default of its action and schedule."""
    kind = action_kind(action)
    defaults: dict[str, object] = {
        "pool": default_pool(kind),
        "timeout": default_timeout(kind),
        "late": LateRules(catch_up=default_catch_up(timing.schedule)),
        "settle": SettleRules(retry=default_retry(action)),
    }
    return Definition(name=name, timing=timing, action=action, **(defaults | given))  # type: ignore[arg-type]


def default_retry(action: Action) -> Retry:
    """No new attempts, but after a loss or a shutdown where a repeat is harmless."""
    kind = action_kind(action)
    method = action.method if isinstance(action, HttpAction) else ""
    return Retry(on_lost=default_on_lost(kind, method), on_interrupted=default_on_interrupted(kind, method))


def with_default_backoff(timing: Timing, kind: ActionKind) -> Timing:
    """The timing with the backoff that its schedule and action have unless told otherwise."""
    return msgspec.structs.replace(timing, backoff=default_backoff(timing.schedule, kind))


def check_definition(definition: Definition) -> tuple[str, ...]:
    """Raise on the first thing that could never work; return what a person should be warned of."""
    check_name("name", definition.name)
    check_name("pool", definition.pool)
    if definition.agent is not None:
        check_name("agent", definition.agent)
    _check_text(definition)
    _check_action(definition.action)
    check_late(definition.late)
    check_settle(definition.settle)
    _check_limits(definition)
    return check_timing(definition.timing)


def check_name(field: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ScheduleError(
            field=field,
            value=name,
            expected="1-100 letters, digits and . _ / -, beginning with a letter or digit",
            example="nightly-report",
        )


def _check_text(definition: Definition) -> None:
    """No part may hold what cannot be kept: halves of characters, and NUL."""
    try:
        is_whole = b"\\u0000" not in msgspec.json.encode(definition)
    except UnicodeEncodeError:
        is_whole = False
    if not is_whole:
        raise ScheduleError(
            field="definition",
            value=ascii(definition.name),
            expected="text in UTF-8 without NUL characters",
            example="/bin/echo hello",
        )


def _check_action(action: Action) -> None:
    match action:
        case CommandAction():
            _check_command(action)
        case HttpAction():
            _check_request(action)
        case PythonAction(target=target) if not _TARGET.fullmatch(target):
            raise ScheduleError(
                field="python", value=target, expected="package.module:name", example="reports.nightly:run"
            )
        case _:
            pass


def _check_command(action: CommandAction) -> None:
    if not action.argv or not action.argv[0]:
        raise ScheduleError(
            field="command",
            value=" ".join(action.argv),
            expected="a program and its arguments",
            example="/bin/echo hello",
        )
    for name, value in action.env.items():
        if not name or "=" in name:
            raise ScheduleError(field="env", value=name, expected="names of variables, without =", example="LANG: C")
        if _REFERENCE.match(value) and not _WHOLE_REFERENCE.fullmatch(value):
            raise ScheduleError(
                field="env", value=value, expected="env: and a name, or file: and a path", example="env:API_KEY"
            )


def _check_request(action: HttpAction) -> None:
    if not _URL.fullmatch(action.url):
        raise ScheduleError(
            field="http.url", value=action.url, expected="an http or https URL", example="https://example.org/tick"
        )
    if not _has_port(action.url):
        raise ScheduleError(
            field="http.url", value=action.url, expected="a port 0-65535", example="http://example.org:8080/tick"
        )
    for name, value in action.headers.items():
        if not _HEADER.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ScheduleError(
                field="http.headers",
                value=f"{name}: {value}",
                expected="a name without spaces, and a value of one line",
                example="Accept: text/plain",
            )
    if not _METHOD.fullmatch(action.method):
        raise ScheduleError(
            field="http.method", value=action.method, expected="a method in capital letters", example="POST"
        )
    for status in action.expect:
        if not 100 <= status <= 599:
            raise ScheduleError(field="http.expect", value=str(status), expected="a status 100-599", example="204")


def _has_port(url: str) -> bool:
    """Whether the port of an address, where it has one, is one."""
    try:
        return urlsplit(url).port is not False
    except ValueError:
        return False


def _check_limits(definition: Definition) -> None:
    if definition.overlap.max_waiting < 1:
        raise ScheduleError(
            field="overlap.max_waiting",
            value=str(definition.overlap.max_waiting),
            expected="a number from 1",
            example="1",
        )
    waits = (
        ("timeout", definition.timeout),
        ("queue_timeout", definition.queue_timeout),
        ("silence_after", definition.silence_after),
    )
    for field, wait in waits:
        if wait is not None and not timedelta() < wait <= MAX_DURATION:
            raise ScheduleError(field=field, value=str(wait), expected="more than zero, at most 36525d", example="10m")
