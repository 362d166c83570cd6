"""The routes and the registry are the same list; every route does what its examples say, and refuses what it must."""

from __future__ import annotations

import inspect
import io
from collections import Counter
from pathlib import Path

import pytest

from rota.api.faces import Face, Place, make_faces
from rota.api.openapi import refusals
from rota.api.routes import ROUTES
from rota.operations.premises import Premises
from rota.operations.registry import OPERATIONS
from tests.api.house import House, example_request

pytestmark = pytest.mark.anyio
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
FACES = make_faces()
PLAIN = [face for face in FACES if not face.operation.is_stream]
WITH_BODY = [face for face in FACES if face.has_body]


def name_of(face: Face) -> str:
    return face.operation.name


def test_every_operation_has_one_route_and_every_route_an_operation() -> None:
    assert Counter(route.operation for route in ROUTES) == Counter(list(OPERATIONS))


def test_every_route_is_in_the_reference_with_its_role() -> None:
    rows = [line.split("|")[1:] for line in REFERENCE.read_text("utf-8").splitlines() if line.startswith("| `")]
    written = {row[0].strip(" `"): (row[1].strip(" `"), row[2].strip()) for row in rows if len(row) > 3}
    for face in FACES:
        role = face.operation.role.value + (", run" if face.operation.is_for_runs else "")
        assert written[face.operation.name] == (f"{face.route.method} {face.route.path}", role)


def test_no_two_routes_are_found_at_the_same_place() -> None:
    places = [
        (route.method, tuple("{}" if part[:1] == "{" else part for part in route.path.split("/"))) for route in ROUTES
    ]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("face", FACES, ids=name_of)
def test_every_parameter_of_an_operation_can_be_given_and_has_an_example(face: Face) -> None:
    declared = set(inspect.signature(face.operation.call).parameters) - {"site"}
    hidden = {"premises"} if face.needs_premises else set()
    assert {one.name for one in face.parameters} == declared - hidden
    assert set(face.route.examples) == {one.name for one in face.parameters}
    assert all(one.annotation is not Premises for one in face.parameters)
    assert face.has_body or not face.at(Place.BODY)


@pytest.mark.parametrize("face", FACES, ids=name_of)
def test_streams_and_only_streams_end_in_stream(face: Face) -> None:
    assert face.route.path.endswith("/stream") is face.operation.is_stream


async def test_every_route_does_what_its_examples_say(each_house: House) -> None:
    # After this one the others would have nothing to talk about.
    in_order = sorted(PLAIN, key=lambda face: face.operation.name == "job.remove")
    answers = {face.operation.name: await each_house.ask_example(face) for face in in_order}
    wanted = {face.operation.name: face.route.status for face in PLAIN}
    assert {name: answer.status for name, answer in answers.items()} == wanted
    for answer in answers.values():
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Server" not in answer.headers
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
        assert isinstance(answer.json, dict)


async def test_every_route_refuses_what_it_does_not_know(shared_house: House) -> None:
    for face in FACES:
        method, path, rest = example_request(face)
        answer = await shared_house.ask(method, path + ("&" if "?" in path else "?") + "limt=1", **rest)
        assert (answer.status, answer.json["field"]) == (422, "limt"), face.operation.name


async def test_every_route_with_a_body_refuses_unknown_fields(shared_house: House) -> None:
    for face in WITH_BODY:
        method, path, rest = example_request(face)
        body = {**rest.pop("json", {}), "nonsense": 1}
        answer = await shared_house.ask(method, path, json=body, **rest)
        assert (answer.status, answer.json["field"]) == (422, "nonsense"), face.operation.name


async def test_every_route_with_a_body_refuses_what_is_no_json_object(shared_house: House) -> None:
    kind = {"Content-Type": "application/json"}
    for face in WITH_BODY:
        method, path, _ = example_request(face)
        found = [
            (await shared_house.ask(method, path, data=data, headers=headers)).status
            for data, headers in (
                (b"{", kind),
                (b"[]", kind),
                (b"{}", {"Content-Type": "text/plain"}),
                (b"{}", {"Content-Type": "application/json; charset=latin-1"}),
                (b"{}", {**kind, "Content-Encoding": "gzip"}),
                (b"a=b", {"Content-Type": "application/x-www-form-urlencoded"}),
            )
        ]
        assert found == [400, 422, 415, 415, 415, 415], face.operation.name


async def test_a_body_that_is_too_large_is_refused_whether_its_size_is_said_or_not(shared_house: House) -> None:
    async def drip() -> object:
        for _ in range(7):
            yield b" " * 1024 * 1024

    for data in (io.BytesIO(b" " * (6 * 1024 * 1024 + 1)), drip()):
        answer = await shared_house.ask("POST", "/api/v1/jobs", data=data, headers={"Content-Type": "application/json"})
        assert (answer.status, answer.json["type"]) == (413, "urn:rota:problem:too-large")


def would_match(face: Face, path: str) -> bool:
    """Whether a path is one of a route, be it that a name in it could also be a word."""
    pattern, pieces = face.route.full_path.split("/"), path.split("/")
    pairs = zip(pattern, pieces, strict=False)
    return len(pattern) == len(pieces) and all(part[:1] == "{" or part == piece for part, piece in pairs)


async def test_other_methods_are_refused_with_those_that_would_do(shared_house: House) -> None:
    paths = {example_request(face)[1].partition("?")[0] for face in FACES}
    by_path = {path: {face.route.method for face in FACES if would_match(face, path)} for path in paths}
    for path, allowed in by_path.items():
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - allowed:
            answer = await shared_house.ask(method, path)
            assert (answer.status, answer.headers["Allow"]) == (405, ", ".join(sorted(allowed))), (method, path)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v1/jobs/",
        "/api/v2/jobs",
        "/api/v1/jobs//run",
        "/nothing",
        "//",
        "/%0A",
    ],
)
async def test_what_is_not_there_is_not_found(path: str, shared_house: House) -> None:
    answer = await shared_house.ask("GET", path)
    assert (answer.status, answer.json["type"]) == (404, "urn:rota:problem:not-found")


async def test_a_word_in_a_path_counts_before_a_name_and_a_name_where_the_word_means_nothing(
    shared_house: House,
) -> None:
    assert set((await shared_house.ask("GET", "/api/v1/runs/count")).json) > {"total", "states"}
    answer = await shared_house.ask("PUT", "/api/v1/runs/count")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")


async def test_every_missing_thing_is_a_problem(shared_house: House) -> None:
    for face in FACES:
        if 404 not in refusals(face) or not face.at(Place.PATH):
            continue
        method, _, rest = example_request(face)
        path = face.route.full_path
        for one in face.at(Place.PATH):
            path = path.replace(f"{{{one.name}}}", "nobody%2Fat-all")
        if face.operation.name == "backfill.preview":
            path += "?begin=2025-01-01T00:00:00Z&end=2025-01-02T00:00:00Z"
        if face.operation.name == "pool.set":
            rest["json"] = {"size": 1, "scope": "agent"}
        answer = await shared_house.ask(method, path, **rest)
        assert answer.status == 404, (face.operation.name, answer.text)
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert set(answer.json) == {"type", "title", "status", "detail", "instance"}
        assert answer.json["instance"] == path.partition("?")[0]


async def test_a_head_is_a_get_without_its_body(shared_house: House) -> None:
    for path in ("/healthz", "/api/v1/jobs"):
        answer = await shared_house.ask("HEAD", path)
        assert (answer.status, answer.text) == (200, "")
    assert (await shared_house.ask("HEAD", "/api/v1/events/stream")).status == 405
