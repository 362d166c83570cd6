"""What a run is told: its order and its environment, from the words of its job. A secret is never among them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rota.operations.views import RunDetail
from rota.ports.action import identity

_REFERENCE = re.compile(r"(env|file):")
_PLAIN = "set in the job"


class Part(NamedTuple):
    """One thing that a run is told. ``is_text`` is for people, or a model, to read."""

    title: str
    text: str
    is_text: bool = False


class Variable(NamedTuple):
    """A variable or a header. Without a value, it has one that is nobody's business."""

    name: str
    value: str | None
    note: str = ""


def order_of(words: Mapping[str, Any]) -> tuple[Part, ...]:
    """What is to be done, in the words of the fleet file."""
    parts = [_main(words)]
    parts += [
        Part(title, str(words[key]), is_text=key == "prompt")
        for key, title in (("cwd", "Directory"), ("stdin", "Standard input"), ("prompt", "Prompt"))
        if words.get(key) is not None
    ]
    request = words.get("http")
    if isinstance(request, Mapping) and request.get("body") is not None:
        parts.append(Part("Body", str(request["body"]), is_text=True))
    return tuple(parts)


def _main(words: Mapping[str, Any]) -> Part:
    if (command := words.get("command")) is not None:
        return Part("Command", command if isinstance(command, str) else shlex.join(command))
    if (request := words.get("http")) is not None:
        fields = {"url": request} if isinstance(request, str) else request
        return Part("Request", f"{fields.get('method', 'GET')} {_without_password(fields['url'])}")
    return Part("Python", str(words["python"]))


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def environment_of(run: RunDetail, words: Mapping[str, Any]) -> tuple[Variable, ...]:
    """The variables of a child process, or the headers of a request: the job's own, and those that name the run."""
    if (request := words.get("http")) is not None:
        headers = request.get("headers", {}) if isinstance(request, Mapping) else {}
        named = (_as_header(one) for one in _identity(run) if one.name.startswith("ROTA_"))
        return (*_given(headers), *named, Variable("Traceparent", None), Variable("Idempotency-Key", run.id))
    if "python" in words:
        return ()
    return (*_given(words.get("env", {})), *_identity(run), *_brought(run, words))


def _given(values: Mapping[str, str]) -> tuple[Variable, ...]:
    """References say where a secret is, and not what it is; whether anything else is one, nobody knows."""
    return tuple(
        Variable(name, value, "looked up when it starts") if _REFERENCE.match(value) else Variable(name, None, _PLAIN)
        for name, value in sorted(values.items())
    )


def _identity(run: RunDetail) -> tuple[Variable, ...]:
    if run.token is None or run.trace_id is None:
        names = identity(run_id=run.id, job=run.job, agent=run.agent, attempt=run.attempt, trace_id="", token=0)
        return tuple(Variable(name, None, "given when it starts") for name in names)
    known = identity(
        run_id=run.id, job=run.job, agent=run.agent, attempt=run.attempt, trace_id=run.trace_id, token=run.token
    )
    return tuple(Variable(name, value) for name, value in known.items() if value)


def _as_header(one: Variable) -> Variable:
    return one._replace(name=one.name.replace("_", "-").title())


def _brought(run: RunDetail, words: Mapping[str, Any]) -> tuple[Variable, ...]:
    brought = [
        Variable("ROTA_API_TOKEN", None, "counts for this run, while it runs"),
        Variable("ROTA_API_URL", None, "where the API is, if there is one"),
    ]
    if run.input is not None:
        brought.append(Variable("ROTA_INPUT", None, "a file with the input"))
    if words.get("prompt") is not None:
        brought.append(Variable("ROTA_PROMPT", None, "the prompt"))
    return tuple(brought)
