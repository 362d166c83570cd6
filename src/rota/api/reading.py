"""Reading: what a request asks for, from its path, query, headers and body, checked against the signature."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, get_args

import msgspec
from starlette.requests import Request

from rota.api.bodies import read_object
from rota.api.faces import HEADERS, RESUME, Face, Parameter, Place
from rota.api.paths import Found, decoded
from rota.api.problems import RefusedError
from rota.config.suggestions import nearest
from rota.errors import ChangedError, InputError, ScheduleError

_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_ETAG = re.compile(r'"([1-9][0-9]{0,14})"', re.ASCII)
_PRINTABLE = re.compile(r"[\x20-\x7e]+", re.ASCII)
_WHERE = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?", re.DOTALL)
_BOOLEANS = {"true": True, "false": False}


async def read_arguments(request: Request, found: Found) -> dict[str, Any]:
    """The arguments of the operation; everything that cannot be one is refused."""
    face = found.face
    given: dict[str, Any] = dict(found.values)
    given |= _from_query(face, pairs_of(request.scope["query_string"]))
    given |= _from_headers(face, request)
    if face.has_body:
        given |= _known(await read_object(request), [one.name for one in face.at(Place.BODY)], "field")
    return _converted(face, given)


def pairs_of(query: bytes) -> list[tuple[str, str]]:
    """The names and values of a query, decoded."""
    parts = [part for part in query.decode("latin-1").split("&") if part]
    split = (part.replace("+", " ").partition("=") for part in parts)
    return [(decoded(name, "query"), decoded(value, "query")) for name, _, value in split]


def _from_query(face: Face, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    parameters = {one.name: one for one in face.at(Place.QUERY)}
    _known(values, parameters, "parameter")
    return {name: _from_texts(parameters[name], texts) for name, texts in values.items()}


def _from_texts(parameter: Parameter, texts: list[str]) -> Any:  # noqa: ANN401 - what it is, its type says
    if parameter.is_repeated:
        return texts
    if len(texts) > 1:
        raise ScheduleError(
            field=parameter.name, value=", ".join(texts), expected="one value", example=f"{parameter.name}={texts[0]}"
        )
    (text,) = texts
    if parameter.base is int and _INTEGER.fullmatch(text):
        return int(text)
    return _BOOLEANS.get(text, text) if parameter.base is bool else text


def _known(values: Mapping[str, Any], known: Iterable[str], what: str) -> Mapping[str, Any]:
    names = tuple(known)
    for name in values:
        if name not in names:
            raise _unknown(name[:100], names, what)
    return values


def _unknown(name: str, known: tuple[str, ...], what: str) -> InputError:
    near, listed = nearest(name, known), ", ".join(known)
    cure = f'Did you mean "{near}"?' if near else f"There are these: {listed}." if known else "None is taken here."
    return InputError(
        f'There is no {what} "{name}". {cure}',
        field=name,
        value=name,
        expected=listed or f"no {what}",
        example=near or known[0] if known else "",
    )


def _from_headers(face: Face, request: Request) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for parameter in face.at(Place.HEADER):
        text = _header(request, HEADERS[parameter.name])
        if text is not None:
            given[parameter.name] = _version(text) if parameter.name == "version" else text
    # Who has seen nothing yet may say so.
    is_resumed = face.operation.is_stream and request.headers.get(RESUME)
    resumed = _header(request, RESUME) if is_resumed else None
    if resumed:
        after = next(one for one in face.parameters if one.name == "after")
        given["after"] = _from_texts(after, [resumed])
    return {name: value for name, value in given.items() if value is not None}


def _header(request: Request, name: str) -> str | None:
    found = request.headers.getlist(name)
    if not found:
        return None
    if len(found) > 1 or not _PRINTABLE.fullmatch(found[0]):
        raise RefusedError(400, f"{name} must be given once, in printable ASCII.")
    return found[0]


def _version(etag: str) -> int | None:
    """The version that an ETag stands for; none if any will do."""
    if etag == "*":
        return None
    match = _ETAG.fullmatch(etag)
    if match is None:
        raise ChangedError(f'If-Match is {etag}, which is no ETag of this API. One looks like this: "3"')
    return int(match[1])


def _converted(face: Face, given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        read = msgspec.convert(given, face.arguments)
    except msgspec.ValidationError as error:
        raise _refusal(face, given, str(error)) from None
    return {one.name: _argument(one, getattr(read, one.name)) for one in face.parameters}


def _argument(parameter: Parameter, value: Any) -> Any:  # noqa: ANN401
    return in_utc(parameter.name, value) if parameter.is_instant and isinstance(value, datetime) else value


def in_utc(field: str, value: datetime) -> datetime:
    """An instant that every store can keep, as they keep it."""
    try:
        at = value.astimezone(UTC)
    except OverflowError:
        at = _LATEST
    if not _EARLIEST <= at < _LATEST:
        raise ScheduleError(
            field=field,
            value=value.isoformat(),
            expected="an instant from 1970 to 9998",
            example="2026-12-01T09:00:00Z",
        )
    return at


def _refusal(face: Face, given: Mapping[str, Any], message: str) -> ScheduleError:
    """What msgspec says, as everything else here says it."""
    match = _WHERE.fullmatch(message)
    what, path = (match["what"], match["path"] or "") if match else (message, "")
    missing = re.search(r"missing required field `(\w+)`", what)
    field = ".".join(part for part in (path, missing[1] if missing else "") if part) or "body"
    name = field.split(".", 1)[0].split("[", 1)[0]
    value = given.get(name)
    parameter = next((one for one in face.parameters if one.name == name), None)
    return ScheduleError(
        field=field,
        value="" if value is None else str(value)[:100],
        expected="a value: it is required" if missing else _expected(parameter, what),
        example=str(face.route.examples.get(name, "")),
    )


def _expected(parameter: Parameter | None, what: str) -> str:
    """Of words that there are few of, all are named."""
    kinds = () if parameter is None else (parameter.base, *get_args(parameter.base))
    enums = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, StrEnum)]
    words = [word.value for kind in enums for word in kind]
    if words and what.startswith("Invalid enum value"):
        return f"one of these: {', '.join(words)}"
    return what.removeprefix("Expected ")
