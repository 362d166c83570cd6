"""Answering: what an operation gives back, as JSON with the headers that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from starlette.responses import Response
from starlette.types import Scope

from rota.api.faces import Face
from rota.api.paths import raw_path
from rota.api.problems import SAFE_HEADERS
from rota.api.routes import PREFIX
from rota.operations.views import Page


def answer(scope: Scope, face: Face, result: object) -> Response:
    """The answer to a request that succeeded."""
    headers = {**_etag(result), **_location(face, result), **_link(scope, face, result)}
    # What was asked for before is not accepted once more.
    is_repeated = getattr(result, "is_new", True) is False
    return json_answer(msgspec.json.encode(result), 200 if is_repeated else face.route.status, headers)


def json_answer(content: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON that nobody keeps."""
    return Response(content, status, {**SAFE_HEADERS, **(headers or {})}, "application/json")


def _etag(result: object) -> dict[str, str]:
    version = getattr(result, "version", None)
    return {"ETag": f'"{version}"'} if isinstance(version, int) else {}


def _location(face: Face, result: object) -> dict[str, str]:
    template = face.route.location
    if template is None:
        return {}
    fields = {name: quote(str(getattr(result, name)), safe="") for name in type(result).__struct_fields__}  # type: ignore[attr-defined]
    return {"Location": PREFIX + template.format(**fields)}


def _link(scope: Scope, face: Face, result: object) -> dict[str, str]:
    """The address of the page that follows."""
    if not (face.is_paged and isinstance(result, Page) and result.next is not None):
        return {}
    asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    query = urlencode([*((name, value) for name, value in asked if name != "after"), ("after", result.next)])
    return {"Link": f'<{raw_path(scope)}?{query}>; rel="next"'}
