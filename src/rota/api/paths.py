"""Paths: cut at their slashes before they are decoded, so that a name with a slash in it is one piece."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote_to_bytes

import msgspec
from starlette.types import Scope

from rota.api.faces import Face
from rota.api.problems import RefusedError


class Found(msgspec.Struct, frozen=True):
    """A route and what its path says."""

    face: Face
    values: Mapping[str, str]


def raw_path(scope: Scope) -> str:
    """The path as it was sent. Where a server keeps only the decoded one, it is encoded again."""
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw.decode("latin-1")


def segments(scope: Scope) -> tuple[str, ...]:
    """The pieces of a path, each decoded by itself."""
    path = raw_path(scope)
    if not path.startswith("/"):
        raise RefusedError(400, "The request must name a path, not a whole URL.")
    return tuple(decoded(piece, "path") for piece in path[1:].split("/"))


def decoded(text: str, where: str) -> str:
    """Percent-encoded UTF-8 as text that every store can keep."""
    try:
        plain = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(400, f"The {where} is not valid UTF-8.") from None
    if "\0" in plain:
        raise RefusedError(400, f"The {where} has a NUL character in it.")
    return plain


class Directory:
    """Finds routes by their paths. A piece that is written out counts before one that stands for any name."""

    def __init__(self, faces: Iterable[Face]) -> None:
        by_pattern: dict[tuple[str, ...], dict[str, Face]] = {}
        for face in faces:
            pattern = tuple(face.route.full_path[1:].split("/"))
            by_pattern.setdefault(pattern, {})[face.route.method] = face
        self._faces = sorted(by_pattern.items(), key=lambda entry: [part.startswith("{") for part in entry[0]])

    def find(self, method: str, pieces: tuple[str, ...]) -> Found:
        """The route for a request; without one, the refusal says what there is."""
        allowed: set[str] = set()
        for pattern, by_method in self._faces:
            values = _match(pattern, pieces)
            if values is None:
                continue
            face = _face_for(method, by_method)
            if face is not None:
                return Found(face, values)
            allowed |= set(by_method)
        if allowed:
            raise not_allowed(method, allowed)
        raise RefusedError(404, "There is nothing here. See /api/v1/openapi.json for what there is.")


def _face_for(method: str, by_method: Mapping[str, Face]) -> Face | None:
    """A HEAD is a GET without its body, but nobody asks for the head of a stream."""
    if method != "HEAD":
        return by_method.get(method)
    face = by_method.get("GET")
    return None if face is None or face.operation.is_stream else face


def not_allowed(method: str, allowed: Iterable[str]) -> RefusedError:
    """The refusal of a method, with those that would do."""
    names = ", ".join(sorted(allowed))
    return RefusedError(405, f"{method} does not work here, but this does: {names}.", headers={"Allow": names})


def _match(pattern: tuple[str, ...], pieces: tuple[str, ...]) -> dict[str, str] | None:
    if len(pattern) != len(pieces):
        return None
    values: dict[str, str] = {}
    for wanted, piece in zip(pattern, pieces, strict=True):
        if wanted.startswith("{"):
            values[wanted[1:-1]] = piece
        elif wanted != piece:
            return None
    return None if "" in values.values() else values
