"""Faces: a route and its operation put together. The signature says what is asked, the route where it is looked for."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from rota.api.routes import ROUTES, Route
from rota.operations.premises import Premises
from rota.operations.registry import OPERATIONS, Operation
from rota.operations.views import Page

HEADERS = {"key": "Idempotency-Key", "version": "If-Match"}
RESUME = "Last-Event-ID"
_IN_PATH = re.compile(r"\{(\w+)\}")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class Place(StrEnum):
    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    BODY = "body"


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    place: Place
    annotation: Any
    """What is accepted. Only JSON can say null, so elsewhere it is left out."""
    default: Any = msgspec.NODEFAULT

    @property
    def is_required(self) -> bool:
        return self.default is msgspec.NODEFAULT

    @property
    def base(self) -> Any:  # noqa: ANN401 - a type of any kind
        """The type without its limits."""
        bare = without_none(self.annotation)
        return get_args(bare)[0] if get_origin(bare) is Annotated else bare

    @property
    def is_repeated(self) -> bool:
        return get_origin(self.base) is tuple

    @property
    def is_instant(self) -> bool:
        return self.base is datetime


class Face(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to know about one route."""

    route: Route
    operation: Operation
    parameters: tuple[Parameter, ...]
    returns: Any
    arguments: type[msgspec.Struct]
    """What the parameters are read into."""
    needs_premises: bool

    @property
    def has_body(self) -> bool:
        return self.route.method in _WITH_BODY

    @property
    def is_paged(self) -> bool:
        """Whether there may be more to ask for than is given at once."""
        return get_origin(self.returns) is Page and any(one.name == "after" for one in self.parameters)

    def at(self, place: Place) -> tuple[Parameter, ...]:
        """The parameters that are looked for in one place."""
        return tuple(one for one in self.parameters if one.place is place)


def make_faces(routes: Iterable[Route] = ROUTES, operations: Mapping[str, Operation] = OPERATIONS) -> tuple[Face, ...]:
    """Every route with its operation."""
    return tuple(_face(route, operations[route.operation]) for route in routes)


def _face(route: Route, operation: Operation) -> Face:
    hints = get_type_hints(operation.call, include_extras=True)
    declared = [one for name, one in inspect.signature(operation.call).parameters.items() if name != "site"]
    asked = [one for one in declared if hints[one.name] is not Premises]
    parameters = tuple(_parameter(route, one, hints[one.name]) for one in asked)
    return Face(
        route=route,
        operation=operation,
        parameters=parameters,
        returns=hints["return"],
        arguments=_struct(f"{camel(operation.name)}Arguments", parameters),
        needs_premises=len(asked) < len(declared),
    )


def _parameter(route: Route, declared: inspect.Parameter, annotation: Any) -> Parameter:  # noqa: ANN401
    place = _place(route, declared.name)
    default = msgspec.NODEFAULT if declared.default is inspect.Parameter.empty else declared.default
    accepted = annotation if place is Place.BODY else without_none(annotation)
    return Parameter(name=declared.name, place=place, annotation=accepted, default=default)


def _place(route: Route, name: str) -> Place:
    if name in _IN_PATH.findall(route.path):
        return Place.PATH
    if name in HEADERS:
        return Place.HEADER
    return Place.BODY if route.method in _WITH_BODY else Place.QUERY


def body_type(face: Face) -> type[msgspec.Struct]:
    """The JSON object that a route takes."""
    return _struct(f"{camel(face.operation.name)}Request", face.at(Place.BODY))


def _struct(name: str, parameters: Iterable[Parameter]) -> type[msgspec.Struct]:
    fields = [
        (one.name, one.annotation) if one.is_required else (one.name, one.annotation, one.default) for one in parameters
    ]
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def camel(name: str) -> str:
    """``job.add`` is ``JobAdd``."""
    return "".join(part.capitalize() for part in re.split(r"[._]", name))


def without_none(annotation: Any) -> Any:  # noqa: ANN401
    """``X | None`` is ``X``."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    kept = [one for one in get_args(annotation) if one is not NoneType]
    return Union[tuple(kept)]  # noqa: UP007 - made from what is there
