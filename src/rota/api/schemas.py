"""Schemas of what is asked and answered, made from the types themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

import msgspec

from rota.api.faces import Face, Parameter, Place, body_type, without_none
from rota.operations.inputs import Words

Schema = dict[str, Any]
_TEMPLATE = "#/components/schemas/{name}"
_DEFINITION = "JobDefinition"
_ETAG = {"type": "string", "pattern": r'^("[1-9][0-9]{0,14}"|\*)$'}
_KEY = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[!-~]([ -~]*[!-~])?$"}
_HEADERS: Mapping[str, Schema] = {"key": _KEY, "version": _ETAG}


class Schemas:
    """One schema for each type, under its name, wherever it is used."""

    def __init__(self, faces: Sequence[Face], problem: type[msgspec.Struct]) -> None:
        self._bodies = {face.operation.name: body_type(face) for face in faces if face.at(Place.BODY)}
        answers = {face.operation.name: face.returns for face in faces if not face.operation.is_stream}
        events = {face.operation.name: _events(face) for face in faces if face.operation.is_stream}
        wanted = [
            problem,
            *self._bodies.values(),
            *answers.values(),
            *(kind for one in events.values() for kind in one),
        ]
        made, components = msgspec.json.schema_components(wanted, schema_hook=_anything, ref_template=_TEMPLATE)
        refs = iter(made)
        self.problem = next(refs)
        self._of_bodies = {name: next(refs) for name in self._bodies}
        self._of_answers = {name: next(refs) for name in answers}
        self._of_events = {name: [next(refs) for _ in kinds] for name, kinds in events.items()}
        self.components: dict[str, Schema] = {**components, **_definition()}
        for face in faces:
            self._describe_definition(face)

    def of_body(self, face: Face) -> Schema:
        return self._of_bodies[face.operation.name]

    def of_answer(self, face: Face) -> Schema:
        return self._of_answers[face.operation.name]

    def of_events(self, face: Face) -> dict[str, Schema]:
        """What the data of each kind of event is."""
        found = self._of_events[face.operation.name]
        return dict(zip(("output", "end") if len(found) > 1 else ("event",), found, strict=True))

    def of_parameter(self, one: Parameter) -> Schema:
        (schema,), components = msgspec.json.schema_components([one.annotation], ref_template=_TEMPLATE)
        self.components |= components
        # None is no value that could be written here: it stands for leaving it out.
        return schema if one.is_required or one.default is None else {**schema, "default": one.default}

    def of_header(self, one: Parameter) -> Schema:
        return _HEADERS[one.name]

    def _describe_definition(self, face: Face) -> None:
        """A job in the words of the fleet file has a schema of its own."""
        for one in face.at(Place.BODY):
            # A draft need not be whole.
            if one.base == Words and one.name == "definition" and one.is_required:
                properties = self.components[self._bodies[face.operation.name].__name__]["properties"]
                properties[one.name] = {"$ref": _TEMPLATE.format(name=_DEFINITION)}


def _anything(kind: type) -> Schema:
    """``object`` is whatever JSON can say."""
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError(kind)


def _events(face: Face) -> tuple[Any, ...]:
    (item,) = get_args(face.returns)
    kinds = get_args(item) if get_origin(without_none(item)) is not None else ()
    return kinds or (item,)


def _definition() -> dict[str, Schema]:
    """The schema of a job, with what it is made of beside it, where references can find it."""
    from rota.config.schema import job_schema  # noqa: PLC0415 - it takes a while to load

    schema: Schema = {name: value for name, value in job_schema().items() if name not in ("$schema", "$id")}
    parts: dict[str, Schema] = schema.pop("$defs", {})
    named = {_DEFINITION: schema, **{f"{_DEFINITION}.{name}": part for name, part in parts.items()}}
    return {name: _moved(part) for name, part in named.items()}


def _moved(value: Any) -> Any:  # noqa: ANN401 - JSON is anything
    if isinstance(value, dict):
        return {key: _reference(one) if key == "$ref" else _moved(one) for key, one in value.items()}
    return [_moved(one) for one in value] if isinstance(value, list) else value


def _reference(target: str) -> str:
    name = target.removeprefix("#/$defs/")
    return _TEMPLATE.format(name=_DEFINITION) if target == "#" else _TEMPLATE.format(name=f"{_DEFINITION}.{name}")
