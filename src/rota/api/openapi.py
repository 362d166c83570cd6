"""The OpenAPI 3.1 document, made from the registry, the routes and the signatures: what is not there is not said."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import rota
from rota.api.faces import HEADERS, RESUME, Face, Parameter, Place
from rota.api.guards import SAFE_METHODS
from rota.api.problems import MEDIA_TYPE, ProblemDocument
from rota.api.schemas import Schemas
from rota.ports.caller import Role

Document = dict[str, Any]

_ALWAYS = (400, 401, 421, 422, 500, 503)
_WITH_BODY = (413, 415)
_TAGS = {
    "overview": "Whether anything is wrong now.",
    "timeline": "Runs past and due times to come.",
    "job": "What to run, when, and by which rules.",
    "run": "Attempts: what happened and why, what they wrote, ending and repeating them.",
    "event": "What happened, in order.",
    "schedule": "Schedules in words, before anything is saved.",
    "fleet": "All agents and jobs of one file.",
    "backfill": "Due times of the past, run after all.",
    "hint": "Advice on timing.",
    "agent": "Named ways of running work.",
    "pool": "How many runs may be under way at once.",
    "worker": "Who does the work.",
    "settings": "How this Rota is set up, and where each setting comes from.",
    "doctor": "What is wrong, and what to do about it.",
    "db": "The database itself.",
    "token": "Who may come in.",
    "audit": "Who changed what.",
}
_MEANINGS = {
    200: "Done.",
    201: "Made.",
    202: "Accepted: the run has been asked for.",
    400: "The request is malformed.",
    401: "No token, or none that counts.",
    403: "The token does not allow this, or a page of another site asks.",
    404: "There is no such thing.",
    409: "It does not fit what is there, such as a name that is taken or stands for several.",
    412: "It was changed since the ETag was given.",
    413: "The body is too large.",
    415: "The body is not JSON in UTF-8.",
    421: "Rota does not answer to this host name.",
    422: "A value cannot be accepted.",
    500: "Something went wrong.",
    503: "The database cannot be used now; trying again is safe.",
}
_INTRODUCTION = """The duty roster for AI agents.

Instants are RFC 3339 with an offset; answers are in UTC. Durations are written as people do: `5m`, `1h30m`.
Names with a slash are one piece of a path: `coder%2Fnightly`. Jobs and runs may also be named by their id, or by the
beginning of either if only one has it. Lists come in pages: `next` of one is `after` of the following. Errors are
`application/problem+json`."""


def describe(faces: Sequence[Face]) -> Document:
    """The whole document."""
    schemas = Schemas(faces, ProblemDocument)
    paths: dict[str, dict[str, Document]] = {}
    for face in faces:
        paths.setdefault(face.route.full_path, {})[face.route.method.lower()] = _operation(face, schemas)
    nouns = dict.fromkeys(_noun(face) for face in faces)
    refused = sorted({status for face in faces for status in refusals(face)})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rota",
            "version": rota.__version__,
            "description": _INTRODUCTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": noun, "description": _TAGS[noun]} for noun in nouns],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": {str(status): _refused(status, schemas) for status in refused},
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Made by `rota token create`; a run finds one in its environment.",
                }
            },
        },
    }


def _noun(face: Face) -> str:
    return face.operation.name.split(".", 1)[0]


def _operation(face: Face, schemas: Schemas) -> Document:
    summary, _, rest = (inspect.getdoc(face.operation.call) or "").partition("\n")
    parts = [rest.strip(), f"Needs the role `{face.operation.role}`{_for_runs(face)}."]
    described: Document = {
        "operationId": face.operation.name,
        "summary": summary,
        "description": "\n\n".join(part for part in parts if part),
        "tags": [_noun(face)],
        "parameters": [*_parameters(face, schemas), *_resume(face, schemas)],
        "responses": _responses(face, schemas),
    }
    if face.at(Place.BODY):
        described["requestBody"] = _body(face, schemas)
    return described


def _for_runs(face: Face) -> str:
    return "; a run may ask for what belongs to its job and agent" if face.operation.is_for_runs else ""


def _parameters(face: Face, schemas: Schemas) -> list[Document]:
    return [_parameter(face, one, schemas) for one in face.parameters if one.place is not Place.BODY]


def _parameter(face: Face, one: Parameter, schemas: Schemas) -> Document:
    described: Document = {
        "name": HEADERS[one.name] if one.place is Place.HEADER else one.name,
        "in": one.place.value,
        "required": one.is_required,
        "schema": schemas.of_header(one) if one.place is Place.HEADER else schemas.of_parameter(one),
        "example": face.route.examples[one.name],
    }
    if one.is_repeated:
        described |= {"style": "form", "explode": True}
    return described


def _resume(face: Face, schemas: Schemas) -> list[Document]:
    """A stream is resumed by a header, too, as browsers do it."""
    after = next((one for one in face.parameters if one.name == "after"), None)
    if not face.operation.is_stream or after is None:
        return []
    example, schema = str(face.route.examples["after"]), schemas.of_parameter(after)
    header = {"name": RESUME, "in": "header", "required": False, "schema": schema, "example": example}
    return [{**header, "description": "Resumes after this one; it comes before `after`."}]


def _body(face: Face, schemas: Schemas) -> Document:
    parameters = face.at(Place.BODY)
    value = {one.name: face.route.examples[one.name] for one in parameters}
    content = {"schema": schemas.of_body(face), "examples": {face.operation.name: {"value": value}}}
    return {"required": any(one.is_required for one in parameters), "content": {"application/json": content}}


def _responses(face: Face, schemas: Schemas) -> Document:
    refused = {str(status): {"$ref": f"#/components/responses/{status}"} for status in refusals(face)}
    return {**_success(face, schemas), **refused}


def _refused(status: int, schemas: Schemas) -> Document:
    content = {MEDIA_TYPE: {"schema": schemas.problem}}
    return {"description": _MEANINGS[status], "content": content, **_refusal_headers(status)}


def statuses(face: Face) -> tuple[int, ...]:
    """Every status that a route may answer with when it does what it was asked."""
    return (200, face.route.status) if "is_new" in _fields(face) else (face.route.status,)


def refusals(face: Face) -> tuple[int, ...]:
    """Every status that a route may answer with when it does not."""
    is_for_all = face.operation.role is Role.READ and face.operation.is_for_runs
    is_guarded = face.route.method not in SAFE_METHODS or face.operation.is_stream
    forbidden = (403,) if is_guarded or not is_for_all else ()
    of_body = _WITH_BODY if face.has_body else ()
    return tuple(sorted({*_ALWAYS, *forbidden, *of_body, *face.route.refusals}))


def _success(face: Face, schemas: Schemas) -> Document:
    if face.operation.is_stream:
        return {"200": {"description": "Server-sent events, as they come.", "content": _stream_content(face, schemas)}}
    content = {"application/json": {"schema": schemas.of_answer(face)}}
    headers = _success_headers(face)
    described: Document = {"content": content} | ({"headers": headers} if headers else {})
    first, *rest = sorted(statuses(face))
    again = {} if not rest else {str(status): {"description": _MEANINGS[status], **described} for status in rest}
    meaning = _MEANINGS[first] if not rest else "The run had been asked for before, with the same key."
    return {str(first): {"description": meaning, **described}, **again}


def _stream_content(face: Face, schemas: Schemas) -> Document:
    schema = {"type": "string", "x-events": schemas.of_events(face)}
    return {"text/event-stream": {"schema": schema}}


def _success_headers(face: Face) -> Document:
    headers: Document = {}
    if "version" in _fields(face):
        headers["ETag"] = _text_header("The version, for If-Match.", '"3"')
    if face.route.location is not None:
        headers["Location"] = _text_header("Where to find it.", f"/api/v1{face.route.location}")
    if face.is_paged:
        headers["Link"] = _text_header("The page that follows, if there is one.", '</api/v1/runs?after=…>; rel="next"')
    return headers


def _refusal_headers(status: int) -> Document:
    described = {
        401: {"WWW-Authenticate": _text_header("How to come in.", 'Bearer realm="rota"')},
        503: {"Retry-After": _text_header("Seconds to wait.", "2")},
    }
    return {"headers": described[status]} if status in described else {}


def _text_header(description: str, example: str) -> Document:
    return {"description": description, "schema": {"type": "string"}, "example": example}


def _fields(face: Face) -> tuple[str, ...]:
    return getattr(face.returns, "__struct_fields__", ())
