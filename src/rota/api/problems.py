"""Problems: every refusal as ``application/problem+json`` (RFC 9457), with what is wrong and what to do about it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from rota.errors import (
    ChangedError,
    ConflictError,
    FleetError,
    ForbiddenError,
    InputError,
    NotFoundError,
    SchedulerError,
    StoreUnavailableError,
)
from rota.log import log

MEDIA_TYPE = "application/problem+json"
SAFE_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_RETRY_AFTER = "2"
_SHOWN = 500
_STATUSES: tuple[tuple[type[SchedulerError], int], ...] = (
    (InputError, 422),
    (FleetError, 422),
    (NotFoundError, 404),
    (ChangedError, 412),
    (ConflictError, 409),
    (ForbiddenError, 403),
    (StoreUnavailableError, 503),
)
# Whoever asks may be anybody, and errors of a database name hosts and users.
UNTOLD = {
    500: "Something went wrong. The log of the server says what.",
    503: "The database cannot be used now. Nothing was written, and trying again is safe.",
}
_KINDS = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    405: "method",
    409: "conflict",
    412: "changed",
    413: "too-large",
    415: "media-type",
    421: "host",
    422: "input",
    500: "internal",
    503: "unavailable",
}


class ProblemPart(msgspec.Struct, frozen=True, kw_only=True):
    """One of several things that are wrong with a definition or a fleet file."""

    message: str
    cure: str
    path: str
    file: str
    line: int
    column: int


class ProblemDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was refused. ``field``, ``value``, ``expected`` and ``example`` are about one value."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    field: str | None = None
    value: str | None = None
    expected: str | None = None
    example: str | None = None
    problems: tuple[ProblemPart, ...] = ()
    """Everything that is wrong, where there may be several things."""


class RefusedError(SchedulerError):
    """A request that does not get as far as an operation."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers or {}


def kind_of(status: int) -> str:
    """The URI that names a kind of problem."""
    return f"urn:rota:problem:{_KINDS[status]}"


def answer_problem(error: Exception, *, instance: str, method: str) -> Response:
    """The answer to a request that failed. What was not meant to happen is logged, and not told."""
    status = status_of(error)
    tell_log(error, status, method=method, path=instance)
    document = ProblemDocument(
        type=kind_of(status),
        title=HTTPStatus(status).phrase,
        status=status,
        detail=UNTOLD.get(status) or str(error),
        instance=instance,
        **_value(error),
        problems=_parts(error),
    )
    headers = {**SAFE_HEADERS, **_headers(error)}
    return Response(msgspec.json.encode(document), status, headers, MEDIA_TYPE)


def tell_log(error: Exception, status: int, *, method: str, path: str) -> None:
    """Keep what went wrong and is not told to whoever asked."""
    if status in UNTOLD:
        trace = error if status == 500 else None
        log("request.failed", level=logging.ERROR, error=trace, method=method, path=path, reason=str(error))


def status_of(error: Exception) -> int:
    """The status that an error is answered with."""
    if isinstance(error, RefusedError):
        return error.status
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def _value(error: Exception) -> dict[str, str]:
    if not isinstance(error, InputError):
        return {}
    return {
        "field": error.field,
        "value": error.value[:_SHOWN],
        "expected": error.expected,
        "example": error.example,
    }


def _parts(error: Exception) -> tuple[ProblemPart, ...]:
    if not isinstance(error, FleetError):
        return ()
    return tuple(ProblemPart(**msgspec.structs.asdict(problem)) for problem in error.problems)


def _headers(error: Exception) -> Mapping[str, str]:
    if isinstance(error, RefusedError):
        return error.headers
    return {"Retry-After": _RETRY_AFTER} if isinstance(error, StoreUnavailableError) else {}
