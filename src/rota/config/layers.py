"""One mapping of settings: read by its shape, then laid over what it inherits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from rota.config.findings import Findings, words_of
from rota.config.kinds import Known
from rota.config.suggestions import SMALL, meant_key, unknown_key
from rota.config.tree import NOWHERE, Spot, Step, key_spot, path_words, place_at, value_spot

ACTIONS = ("command", "http", "python")
COMMAND_PARTS = ("cwd", "env", "stdin", "shell")
SCHEDULES = (
    *("once", "at", "in", "every", "cron", "daily", "weekly", "monthly"),
    *("manual", "webhook", "chat", "after", "schedule"),
)
_MERGED = ("env", "retry")
# What only some mappings have, and what to tell whoever writes it in another.
_ELSEWHERE = {
    **dict.fromkeys(
        (*SCHEDULES, "keep", "first"), "A schedule belongs to a job: under jobs, or under schedules of an agent."
    ),
    **dict.fromkeys(ACTIONS, "An action belongs to a job or to an agent."),
    "schedules": "Schedules belong to an agent.",
    "max_concurrent": "It belongs to an agent, or to engine; overlap and pool limit a single job.",
    "enabled": "Switch a single job with rota job enable and rota job disable.",
    "renamed_from": "It belongs to a job of a fleet file.",
}

Parts = dict[str, Any]


class Layer(NamedTuple):
    """The settings that one mapping gives, what is broken or misspelt of them, and where it stands."""

    data: Mapping[str, object]
    steps: tuple[Step, ...] = ()
    spot: Spot = NOWHERE
    parts: Mapping[str, Any] = MappingProxyType({})
    broken: frozenset[str] = frozenset()
    meant: frozenset[str] = frozenset()

    def gives(self, key: str) -> bool:
        """Whether a value stands here, be it a good one or not."""
        return self.parts.get(key) is not None or key in self.broken

    def tries(self, key: str) -> bool:
        """Whether somebody wanted to give it, and perhaps only misspelt the key."""
        return self.gives(key) or key in self.meant


NO_LAYER = Layer({})


class Reading(NamedTuple):
    """What reading needs to know: where problems go, and what now is."""

    findings: Findings
    now: datetime
    root: object

    def add(
        self, words: tuple[str, str] | Callable[[], tuple[str, str]], steps: tuple[Step, ...], spot: Spot | None = None
    ) -> None:
        """Note a problem with the value at the end of the way, or as near to it as the text goes."""
        place, taken = place_at(self.root, steps)
        self.findings.add(words, path=path_words(taken), spot=spot or (value_spot(place) if place else NOWHERE))

    def key_spot(self, steps: tuple[Step, ...]) -> Spot:
        """Where the key of an entry stands."""
        place, _ = place_at(self.root, steps)
        return key_spot(place) if place else NOWHERE


def read_layer(
    reading: Reading,
    shape: type[BaseModel],
    data: Mapping[str, object],
    *,
    steps: tuple[Step, ...] = (),
    spot: Spot = NOWHERE,
) -> Layer:
    """Read a mapping by its shape. What is wrong is noted and left out; the rest is there."""
    known = _without_unknown(reading, shape, data, steps)
    broken: frozenset[str] = frozenset()
    try:
        model = shape.model_validate(known, context=reading.now)
    except ValidationError as error:
        broken = frozenset(str(one["loc"][0]) for one in _noted(reading, error, steps))
        rest = {key: value for key, value in known.items() if key not in broken}
        model = shape.model_validate(rest, context=reading.now)
    parts = _with_flat_overlap(reading, data, given(model), steps)
    meant = frozenset(meant_key(key, _inner_shapes(shape)) for key in data if key not in known and type(key) is str)
    return Layer(data, steps, spot, parts, broken, meant)


def _with_flat_overlap(reading: Reading, data: Mapping[str, object], parts: Parts, steps: tuple[Step, ...]) -> Parts:
    """The parts with overlap and max_waiting side by side, as if they had not been written as a mapping."""
    inner = parts.get("overlap")
    if inner is None:
        return parts
    if isinstance(data["overlap"], dict):
        if "max_waiting" in inner and parts.get("max_waiting") is not None:
            words = "max_waiting is given twice, here and within overlap.", "Remove one of them."
            reading.add(words, (*steps, "max_waiting"), reading.key_spot((*steps, "max_waiting")))
        parts["max_waiting"] = inner.get("max_waiting")
    parts["overlap"] = inner.get("policy")
    return parts


def given(model: BaseModel) -> Parts:
    """What a model was really given, under the names of the file; none is what was taken away."""
    names, were_given = _names(type(model)), model.model_fields_set
    return {names[field]: _plain(value) for field, value in model.__dict__.items() if field in were_given}


def _plain(value: object) -> object:
    return given(value) if isinstance(value, BaseModel) else value


def lay_over(base: Mapping[str, Any], own: Mapping[str, Any]) -> Parts:
    """Own settings over inherited ones: variables, headers and retry key by key, all else as a whole."""
    merged = dict(base)
    if any(own.get(action) is not None for action in ACTIONS):
        for action in ACTIONS:
            merged.pop(action, None)
    for key, value in own.items():
        inherited = base.get(key)
        if key in _MERGED and value is not None:
            merged[key] = {**(inherited or {}), **value}
        elif key == "http" and value is not None and inherited is not None:
            headers = {**(inherited.get("headers") or {}), **(value.get("headers") or {})}
            merged[key] = {**value, "headers": headers}
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


def _without_unknown(
    reading: Reading, shape: type[BaseModel], data: Mapping[str, object], steps: tuple[Step, ...]
) -> dict[str, object]:
    """The entries that the shape knows; the others are noted, at any depth."""
    inner = _inner_shapes(shape)
    known: dict[str, object] = {}
    for key, value in data.items():
        if key not in inner:
            reading.add(partial(_unknown, key, shape), (*steps, key), reading.key_spot((*steps, key)))
        elif (deeper := inner[key]) is not None and isinstance(value, dict):
            known[key] = _without_unknown(reading, deeper, value, (*steps, key))
        else:
            known[key] = value
    return known


def _unknown(key: object, shape: type[BaseModel]) -> tuple[str, str]:
    if not isinstance(key, str):
        return f"A key must be text, but this is a {type(key).__name__}.", "Put it in quotes."
    known = _inner_shapes(shape)
    return unknown_key(key, known, elsewhere=_ELSEWHERE.get(key, "") if len(known) > SMALL else "")


def _noted(reading: Reading, error: ValidationError, steps: tuple[Step, ...]) -> list[Any]:
    found = error.errors(include_url=False, include_input=False)
    for one in found:
        loc = tuple(step for step in one["loc"] if step != "[key]")
        cause = one.get("ctx", {}).get("error")
        if isinstance(cause, Known):
            continue
        if one["type"] == "missing":
            words = f'The key "{loc[-1]}" is missing here.', f"Add {loc[-1]}: …"
        elif one["type"] == "too_long":
            words = f"At most {one['ctx']['max_length']} can stand here.", "Use fewer of them."
        else:
            words = words_of(cause) if cause is not None else (f"{one['msg']}.", "")
        reading.add(words, (*steps, *loc))
    return found


@lru_cache(maxsize=64)
def _names(shape: type[BaseModel]) -> dict[str, str]:
    return {field: info.alias or field for field, info in shape.model_fields.items()}


@lru_cache(maxsize=64)
def _inner_shapes(shape: type[BaseModel]) -> dict[str, type[BaseModel] | None]:
    """The keys of a shape, and the shape of the mapping under each, where it has one."""
    return {info.alias or field: _shape_in(info.annotation) for field, info in shape.model_fields.items()}


def _shape_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    # Not into mappings by name: their keys are no keys of ours.
    inner = (
        (_shape_in(one) for one in get_args(annotation)) if getattr(annotation, "__origin__", None) is not dict else ()
    )
    return next((one for one in inner if one is not None), None)
