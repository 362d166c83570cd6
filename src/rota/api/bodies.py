"""Bodies: one JSON object, small enough, without anything that a store could not keep."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from starlette.requests import Request

from rota.api.problems import RefusedError

MOST_BYTES = 6 * 1024 * 1024
DEEPEST = 64
_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


async def read_object(request: Request) -> dict[str, Any]:
    """The fields of a request; none for an empty body."""
    data = await read_bytes(request)
    if not data:
        return {}
    _check_type(request)
    value = _parse(data)
    if not isinstance(value, dict):
        raise RefusedError(422, f"The body must be a JSON object, not {_NAMES.get(type(value), 'a number')}.")
    return value


async def read_bytes(request: Request, *, most: int = MOST_BYTES) -> bytes:
    """The body as it was sent, if it is not too large."""
    size = request.headers.get("content-length", "")
    if size.isascii() and size.isdigit() and len(size) > len(str(most)):
        raise _too_large(most)
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > most:
            raise _too_large(most)
    return bytes(data)


def _too_large(most: int) -> RefusedError:
    return RefusedError(413, f"The body must not be larger than {most} bytes.", headers={"Connection": "close"})


def _check_type(request: Request) -> None:
    found = request.headers.getlist("content-type")
    kind, _, rest = found[0].partition(";") if len(found) == 1 else ("", "", "")
    charset = rest.strip().lower().replace('"', "")
    if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        raise RefusedError(415, "The body must be JSON in UTF-8. Send this header: Content-Type: application/json")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedError(415, "The body must not be compressed.")


def _parse(data: bytes) -> Any:  # noqa: ANN401 - JSON is anything
    try:
        text = data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
    except UnicodeDecodeError:
        raise RefusedError(400, "The body is not valid UTF-8.") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise RefusedError(400, f"The body is not valid JSON: {error.msg.lower()} ({place}).") from None
    except ValueError:
        raise RefusedError(400, "The body has a number with too many digits.") from None
    _check(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise RefusedError(400, "The body has an object in which a field is given twice.")
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise RefusedError(400, f"The body is not valid JSON: {name} is no number.")


def _check(value: Any) -> None:  # noqa: ANN401
    """What lies too deep, and text that is not text, is refused before anything looks at it."""
    left: list[tuple[Any, int]] = [(value, 1)]
    while left:
        one, depth = left.pop()
        if depth > DEEPEST:
            raise _too_deep()
        match one:
            case str():
                _check_text(one)
            case float() if not math.isfinite(one):
                raise RefusedError(400, "The body has a number that is too large.")
            case list():
                left += [(part, depth + 1) for part in one]
            case dict():
                left += [(part, depth + 1) for pair in one.items() for part in pair]
            case _:
                pass


def _check_text(text: str) -> None:
    if "\0" in text:
        raise RefusedError(400, "The body has a NUL character in it.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise RefusedError(400, "The body has half a character in it, a lone surrogate.") from None


def _too_deep() -> RefusedError:
    return RefusedError(400, f"The body is nested more than {DEEPEST} levels deep.")
