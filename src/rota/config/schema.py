"""JSON Schema of the fleet file, for editors, and of one job, for the API."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from rota.config.layers import ACTIONS, SCHEDULES
from rota.config.shapes import FileShape, JobShape

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_VARIABLE = {"type": "string", "pattern": r"\$\{", "description": "A text with variables of the environment."}
_TO_VARIABLE = {"$ref": "#/$defs/Variable"}
_MAPS = ("properties", "patternProperties", "$defs")

Json = dict[str, Any]


def fleet_schema() -> dict[str, object]:
    """The schema of a fleet file, in which any value may come out of a variable."""
    schema = _with_variables(_schema_of(FileShape))
    schema["$defs"]["Variable"] = _VARIABLE
    schema["$defs"]["FileJobShape"]["oneOf"] = _one_of(SCHEDULES)
    # Jobs of an agent may inherit their action, so only those beside agents must have one.
    entries = schema["properties"]["jobs"]["anyOf"][0]["patternProperties"]
    for pattern, entry in entries.items():
        entries[pattern] = {"allOf": [entry, {"oneOf": _one_of(ACTIONS)}]}
    return {"$schema": _DIALECT, "title": "Rota fleet file", **schema}


def job_schema() -> dict[str, object]:
    """The schema of one job, with everything that it refers to."""
    schema = _schema_of(JobShape)
    schema["allOf"] = [{"oneOf": _one_of(SCHEDULES)}, {"oneOf": _one_of(ACTIONS)}]
    return {"$schema": _DIALECT, "title": "Rota job", **schema}


def _one_of(keys: tuple[str, ...]) -> list[Json]:
    """Exactly one of the keys, with a value."""
    return [{"required": [key], "properties": {key: {"not": {"type": "null"}}}} for key in keys]


def _schema_of(shape: type[BaseModel]) -> Json:
    shapes: Json = {}
    schema: Json = _tidy(shape.model_json_schema(by_alias=True), shapes)
    schema["$defs"] = {**shapes, **schema.get("$defs", {})}
    return schema


def _tidy(node: Any, shapes: Json, *, is_named: bool = True) -> Any:  # noqa: ANN401 - any part of a schema
    """Every shape under its own name; no titles made from names, no nulls for missing keys, no names but good ones."""
    if isinstance(node, list):
        return [_tidy(item, shapes, is_named=False) for item in node]
    if not isinstance(node, dict):
        return node
    title = node.get("title")
    kept = {key: value for key, value in node.items() if not _says_nothing(key, value)}
    tidied: Json = {
        key: {name: _tidy(inner, shapes, is_named=key == "$defs") for name, inner in value.items()}
        if key in _MAPS
        else _tidy(value, shapes, is_named=False)
        for key, value in kept.items()
    }
    if "patternProperties" in tidied:
        tidied["additionalProperties"] = False
    if not is_named and isinstance(title, str) and title.endswith("Shape"):
        shapes[title] = tidied
        return {"$ref": f"#/$defs/{title}"}
    return tidied


def _says_nothing(key: str, value: object) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value is None)


def _with_variables(node: Any) -> Any:  # noqa: ANN401 - any part of a schema
    """The same, with a text that holds variables beside every value that is not just any text."""
    if isinstance(node, list):
        return [_with_variables(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") in ("integer", "number", "boolean") or not {"pattern", "enum", "const"}.isdisjoint(node):
        about = {key: node[key] for key in ("description", "examples") if key in node}
        return {"anyOf": [{key: value for key, value in node.items() if key not in about}, _TO_VARIABLE], **about}
    return {
        key: {name: _with_variables(inner) for name, inner in value.items()} if key in _MAPS else _with_variables(value)
        for key, value in node.items()
    }
