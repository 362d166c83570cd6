"""A job in the words of the fleet file, from what was given on the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from rota.cli.job_options import SETTINGS
from rota.cli.schedule_input import schedule_texts
from rota.errors import FleetError, Problem, ScheduleError

_SCHEDULES = ("cron", "every", "daily", "at", "in")
_SCHEDULE_KEYS = (
    *("once", "at", "in", "keep", "every", "first", "cron", "daily", "weekly", "monthly"),
    *("manual", "webhook", "chat", "after", "schedule"),
)
_COMMAND_KEYS = ("command", "cwd", "env", "stdin", "shell")
_REQUEST_OPTIONS = ("url", "method", "header", "body", "expect")
_MOST = 1_048_576
GIVE_ONE_SCHEDULE = (
    "Give one schedule: --every, --cron, --daily, --weekly, --monthly, --at, --in, --schedule or --manual."
)

Words = dict[str, Any]


def has_words(options: Mapping[str, Any]) -> bool:
    """Whether anything is said of the job."""
    return any(value is not None and value != () and value is not False for value in options.values())


def new_words(options: Mapping[str, Any]) -> Words:
    """A new job: what its file says, with the options over it."""
    if options["source"] is not None:
        return laid_over(words_of_file(options["source"]), options)
    words = laid_over({}, options)
    if not any(key in words for key in _SCHEDULE_KEYS):
        raise click.UsageError(GIVE_ONE_SCHEDULE)
    if not any(key in words for key in ("command", "http", "python")):
        raise click.UsageError("Give the command after --, or --url, or --python.")
    return words


def laid_over(words: Words, options: Mapping[str, Any]) -> Words:
    """A job with the options over it. Only what is given changes."""
    _lay_schedule(words, options)
    _lay_action(words, options)
    for setting in SETTINGS:
        value = options[setting.name]
        if value not in (None, ()):
            *way, last = setting.path
            inner = words
            for step in way:
                inner = _mapping(inner, step)
            inner[last] = list(value) if setting.is_multiple else value
    if options["backoff"] is not None:
        steps = [step.strip() for step in options["backoff"].split(",")]
        words["backoff"] = steps if len(steps) > 1 or steps[0][:1].isdigit() else steps[0]
    return words


def words_of_file(path: Path) -> Words:
    """One job from a file, or from standard input for ``-``. Its words know where they stand."""
    from rota.config.fleet import read_mapping  # noqa: PLC0415

    return read_mapping(text_of_file(path), file=source_name(path))


def text_of_file(path: Path) -> str:
    """What stands in a file, or comes from standard input for ``-``."""
    try:
        return sys.stdin.read(_MOST + 1) if str(path) == "-" else path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FleetError([Problem(f"the file cannot be read: {error}", file=source_name(path))]) from None


def source_name(path: Path) -> str:
    return "standard input" if str(path) == "-" else str(path)


def in_file(error: FleetError, file: str) -> FleetError:
    """The same problems, with the name of the file that they are in."""
    return FleetError([msgspec.structs.replace(one, file=file) if one.line else one for one in error.problems])


def _lay_schedule(words: Words, options: Mapping[str, Any]) -> None:
    texts = [*schedule_texts(dict(options)), *(["manual"] if options["manual"] else [])]
    if len(texts) > 1:
        raise click.UsageError(GIVE_ONE_SCHEDULE)
    if not texts:
        return
    for key in _SCHEDULE_KEYS:
        words.pop(key, None)
    plain = next((name for name in _SCHEDULES if options[f"by_{name}"] is not None), None)
    if options["manual"]:
        words["manual"] = True
    elif plain is not None:
        words[plain] = options[f"by_{plain}"]
    else:
        words["schedule"] = texts[0]


def _lay_action(words: Words, options: Mapping[str, Any]) -> None:
    kinds = [bool(options["argv"]), options["url"] is not None, options["python"] is not None]
    if sum(kinds) > 1:
        raise click.UsageError("Give a command after --, or --url, or --python, not both.")
    if any(kinds):
        _clear_action(words, keeps_command=bool(options["argv"]), keeps_request=options["url"] is not None)
    if options["argv"]:
        words["command"] = list(options["argv"])
    if options["python"] is not None:
        words["python"] = options["python"]
    if options["shell"]:
        words["shell"] = True
    if options["cwd"] is not None:
        # It runs elsewhere, maybe by somebody else: what is meant is the folder seen from here.
        words["cwd"] = str(Path(options["cwd"]).expanduser().absolute())
    if options["env"]:
        _mapping(words, "env").update(_pair(one, "=", "env", "LANG=C") for one in options["env"])
    if any(options[name] not in (None, ()) for name in _REQUEST_OPTIONS):
        words["http"] = _request(words.get("http"), options)


def _clear_action(words: Words, *, keeps_command: bool, keeps_request: bool) -> None:
    gone = ("python", *(() if keeps_request else ("http",)), *(("command",) if keeps_command else _COMMAND_KEYS))
    for key in gone:
        words.pop(key, None)


def _request(before: object, options: Mapping[str, Any]) -> Words:
    request: Words = dict(before) if isinstance(before, dict) else {"url": before} if before else {}
    for name in ("url", "method", "body"):
        if options[name] is not None:
            request[name] = options[name].upper() if name == "method" else options[name]
    if options["header"]:
        _mapping(request, "headers").update(
            _pair(one, ":", "header", "Accept: text/plain") for one in options["header"]
        )
    if options["expect"] is not None:
        request["expect"] = [_status(one) for one in options["expect"].split(",")]
    return request


def _mapping(words: Words, key: str) -> Words:
    """The mapping under a key, made if there is none."""
    if not isinstance(words.get(key), dict):
        words[key] = {}
    inner: Words = words[key]
    return inner


def _status(text: str) -> int:
    if not (text.strip().isascii() and text.strip().isdigit()):
        raise ScheduleError(field="expect", value=text, expected="statuses with commas between", example="200,204")
    return int(text)


def _pair(text: str, sign: str, field: str, example: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        raise ScheduleError(field=field, value=text, expected=f"a name, {sign} and a value", example=example)
    return (name.strip(), value.strip() if sign == ":" else value)
