"""The form of a job: a field for each word that most jobs need, and all others as they stand in a fleet file.

A field holds its word exactly or not at all: what a browser would change, such as a line break in a field of one line,
stays with the further rules. An empty field says nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from rota.config.layers import ACTIONS, SCHEDULES
from rota.config.spell import spell_schedule
from rota.config.yaml_text import to_yaml
from rota.core.schedule import parse_schedule
from rota.errors import InputError

METHODS = ("POST", "PUT", "PATCH", "DELETE", "HEAD")
_OF_SCHEDULES = (*SCHEDULES, "keep", "first")
_ON_LINES = frozenset({"command", "description", "prompt"})
_LONGEST_LINE = 1_000

Words = Mapping[str, Any]


class Kind(StrEnum):
    """What a job does, as far as the form has fields for it."""

    COMMAND = "command"
    HTTP = "http"
    OTHER = "other"


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """Fields by their words, ``http.url`` being the word url of http; and the rest as YAML."""

    fields: Mapping[str, str]
    kind: Kind = Kind.COMMAND
    is_shell: bool = False
    rules: str = ""


def form_of(words: Words, schedule: str, now: datetime) -> Form:
    """The form that says the same as a definition. ``schedule`` is its schedule in one line."""
    rest = dict(words)
    fields: dict[str, str] = {}
    when = {word: rest.pop(word) for word in _OF_SCHEDULES if word in rest}
    if _fits("schedule", schedule) and _is_exact(schedule, when, now):
        fields["schedule"] = schedule
    else:
        rest = {**when, **rest}
    for word in ("timezone", "description", "prompt"):
        _move(fields, word, rest, word)
    is_shell = _take_command(fields, rest)
    _take_request(fields, rest)
    kind = next((one for one in (Kind.COMMAND, Kind.HTTP) if _is_of(one, fields)), Kind.OTHER)
    return Form(fields=fields, kind=kind, is_shell=is_shell, rules=to_yaml(rest) if rest else "")


def asked_of(form: Form) -> tuple[str, dict[str, Any]]:
    """What a form asks for: a text, and words that are laid over it. The page's own module does the same."""
    words: dict[str, Any] = {"shell": True} if form.is_shell else {}
    for way, text in form.fields.items():
        *outer, word = way.split(".")
        inner = words
        for step in outer:
            inner = inner.setdefault(step, {})
        inner[word] = text
    return form.rules, words


def _take_command(fields: dict[str, str], rest: dict[str, Any]) -> bool:
    """Whether /bin/sh reads the line, which is then the whole command."""
    command = rest.get("command")
    if isinstance(command, list) and not rest.get("shell"):
        line = shlex.join(command)
        if _fits("command", line):
            fields["command"] = line
            del rest["command"]
        return False
    if isinstance(command, str) and _move(fields, "command", rest, "command"):
        return bool(rest.pop("shell", False))
    return False


def _take_request(fields: dict[str, str], rest: dict[str, Any]) -> None:
    request = rest.get("http")
    if request is None:
        return
    inner = {"url": request} if isinstance(request, str) else dict(request)
    if not _move(fields, "http.url", inner, "url"):
        return
    if inner.get("method") in METHODS:
        _move(fields, "http.method", inner, "method")
    if inner:
        rest["http"] = inner
    else:
        del rest["http"]


def _move(fields: dict[str, str], field: str, words: dict[str, Any], word: str) -> bool:
    """Whether a word now stands in its field instead."""
    text = words.get(word)
    if not isinstance(text, str) or not _fits(field, text):
        return False
    fields[field] = words.pop(word)
    return True


def _fits(field: str, text: str) -> bool:
    """Whether a browser gives back what its field was given."""
    if not text or "\r" in text:
        return False
    return field in _ON_LINES or ("\n" not in text and text == text.strip() and len(text) <= _LONGEST_LINE)


def _is_exact(schedule: str, words: Words, now: datetime) -> bool:
    """Whether a line says all that its words say."""
    try:
        return spell_schedule(parse_schedule(schedule, now=now)) == words
    except InputError:
        return False


def _is_of(kind: Kind, fields: Mapping[str, str]) -> bool:
    return any(field.split(".")[0] == kind for field in fields if field.split(".")[0] in ACTIONS)
