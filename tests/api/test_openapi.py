"""The document: valid OpenAPI 3.1, complete, and true to what is answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import schemathesis

from rota.api.faces import Face, Place, make_faces
from rota.api.openapi import describe, refusals, statuses
from rota.operations.registry import OPERATIONS
from tests.api.house import House

pytestmark = pytest.mark.anyio
FACES = make_faces()
DOCUMENT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(describe(FACES)))
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def name_of(face: Face) -> str:
    return face.operation.name


def described(face: Face) -> dict[str, Any]:
    operation: dict[str, Any] = DOCUMENT["paths"][face.route.full_path][face.route.method.lower()]
    return operation


def validator(schema: dict[str, Any]) -> jsonschema_rs.Validator:
    """A schema of the document, with all it may refer to."""
    return jsonschema_rs.validator_for({"$schema": DIALECT, **schema, "components": DOCUMENT["components"]})


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (one for key, one in value.items() if key == "$ref" and isinstance(one, str))
        yield from (found for one in value.values() for found in references(one))
    elif isinstance(value, list):
        yield from (found for one in value for found in references(one))


def test_the_document_is_openapi_3_1() -> None:
    """The rules of the specification's own schema, as far as this document goes."""
    assert DOCUMENT["openapi"] == "3.1.0"
    assert set(DOCUMENT) == {"openapi", "info", "servers", "tags", "security", "paths", "components"}
    operation = {
        "type": "object",
        "required": ["operationId", "summary", "description", "tags", "parameters", "responses"],
        "properties": {
            "parameters": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name", "in", "required", "schema", "example"],
                    "properties": {
                        "in": {"enum": ["path", "query", "header"]},
                        "name": {"type": "string"},
                        "required": {"type": "boolean"},
                        "schema": {"type": "object"},
                        "style": {"const": "form"},
                        "explode": {"const": True},
                        "description": {"type": "string"},
                        "example": True,
                    },
                    "if": {"properties": {"in": {"const": "path"}}},
                    "then": {"properties": {"required": {"const": True}}},
                    "additionalProperties": False,
                },
            },
            "responses": {
                "type": "object",
                "minProperties": 1,
                "patternProperties": {
                    "^[1-5][0-9][0-9]$": {"anyOf": [{"required": ["description", "content"]}, {"required": ["$ref"]}]}
                },
                "additionalProperties": False,
            },
            "requestBody": {"type": "object", "required": ["content", "required"]},
        },
    }
    paths = {
        "type": "object",
        "patternProperties": {
            "^/": {
                "type": "object",
                "patternProperties": {"^(get|put|post|delete|patch)$": operation},
                "additionalProperties": False,
            }
        },
        "additionalProperties": False,
    }
    assert [str(error) for error in jsonschema_rs.validator_for(paths).iter_errors(DOCUMENT["paths"])] == []


def test_every_schema_is_a_schema_and_every_reference_leads_somewhere() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema_rs.meta.validate({"$schema": DIALECT, **schema})
        validator(schema)
    for reference in set(references(DOCUMENT)):
        found: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


def test_schemathesis_reads_it() -> None:
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    found = [schema.find_operation_by_id(name) for name in OPERATIONS]
    assert {operation.label for operation in found} == {f"{face.route.method} {face.route.full_path}" for face in FACES}


def test_every_path_names_its_parameters() -> None:
    for path, operations in DOCUMENT["paths"].items():
        wanted = {part.strip("{}") for part in path.split("/") if part.startswith("{")}
        for operation in operations.values():
            assert {one["name"] for one in operation["parameters"] if one["in"] == "path"} == wanted


@pytest.mark.parametrize("face", FACES, ids=name_of)
def test_every_operation_says_what_it_does_and_what_it_answers(face: Face) -> None:
    operation = described(face)
    assert operation["operationId"] == face.operation.name
    assert len(operation["summary"]) > 10
    assert operation["tags"] == [face.operation.name.partition(".")[0]]
    assert {int(status) for status in operation["responses"]} == {*statuses(face), *refusals(face)}
    assert {"401", "421", "422"} <= set(operation["responses"])
    assert ("requestBody" in operation) is bool(face.at(Place.BODY))
    assert ("413" in operation["responses"]) is face.has_body
    assert ("412" in operation["responses"]) is any(one.name == "version" for one in face.parameters)


@pytest.mark.parametrize("face", FACES, ids=name_of)
def test_every_example_is_what_its_schema_asks_for(face: Face) -> None:
    operation = described(face)
    for parameter in operation["parameters"]:
        is_number = parameter["schema"].get("type") == "integer" and parameter["in"] == "header"
        example = int(parameter["example"]) if is_number else parameter["example"]
        assert validator(parameter["schema"]).is_valid(example), parameter
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        examples = [one["value"] for one in content["examples"].values()]
        assert examples
        for example in examples:
            assert [str(error) for error in validator(content["schema"]).iter_errors(example)] == []


async def test_what_is_answered_is_what_is_documented(each_house: House) -> None:
    in_order = sorted(FACES, key=lambda face: face.operation.name == "job.remove")
    for face in (one for one in in_order if not one.operation.is_stream):
        answer = await each_house.ask_example(face)
        assert answer.status < 400, (face.operation.name, answer.text)
        schema = described(face)["responses"][str(answer.status)]["content"]["application/json"]["schema"]
        wrong = [str(error) for error in validator(schema).iter_errors(answer.json)]
        assert wrong == [], face.operation.name


async def test_the_document_is_served(shared_house: House) -> None:
    answer = await shared_house.ask("GET", "/api/v1/openapi.json")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.json == DOCUMENT
