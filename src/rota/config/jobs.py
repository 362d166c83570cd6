"""One job: one schedule, one action, and settings from its own layer and those under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rota.config.build import Identity, build
from rota.config.findings import Wording
from rota.config.layers import ACTIONS, COMMAND_PARTS, SCHEDULES, Layer, Reading, lay_over
from rota.config.tree import NOWHERE, Spot, path_words, place_at, value_spot
from rota.core.definition import Definition

_ONE_TIME = ("at", "in")


def read_job(
    reading: Reading, layers: Sequence[Layer], inherited: Mapping[str, Any], identity: Identity
) -> tuple[Definition, tuple[str, ...]]:
    """The definition of the last layer over what it inherits. Everything that is wrong with it is noted."""
    own = layers[-1]
    _check_schedule(reading, own)
    _check_action(reading, layers)

    def note(words: Wording, field: str) -> None:
        path, spot = origin(reading, layers, field)
        if not path.startswith(path_words(own.steps)):
            words = f"{words[0]} {path_words(own.steps)} inherits it.", words[1]
        reading.findings.add(words, path=path, spot=spot)

    return build(lay_over(inherited, own.parts), identity, note)


def check_own_action(reading: Reading, layer: Layer) -> None:
    """Refuse a second action in the same place, and what only a command has beside another action."""
    given = [action for action in ACTIONS if layer.gives(action)]
    for extra in given[1:]:
        words = f"There are two actions here, {given[0]} and {extra}.", "Keep one of them."
        _add_at_key(reading, layer, extra, words)
    if given and "command" not in given:
        _refuse_command_parts(reading, layer, given[0])


def _refuse_command_parts(reading: Reading, layer: Layer, action: str) -> None:
    for part in COMMAND_PARTS:
        if layer.gives(part):
            words = f"{part} belongs to a command, and the action here is {action}.", "Remove it."
            _add_at_key(reading, layer, part, words)


def _check_schedule(reading: Reading, own: Layer) -> None:
    given = [key for key in own.data if key in SCHEDULES and own.gives(key)]
    for extra in given[1:]:
        words = f"There are two schedules here, {given[0]} and {extra}.", "Keep one of them, or make it two jobs."
        _add_at_key(reading, own, extra, words)
    if not given:
        if not any(own.tries(key) for key in SCHEDULES):
            cure = f"Add one, such as every: 5m or manual: true; or one of {', '.join(SCHEDULES)}."
            reading.findings.add(("This job has no schedule.", cure), path=path_words(own.steps), spot=own.spot)
        return
    if own.gives("keep") and given[0] not in _ONE_TIME:
        _add_at_key(
            reading, own, "keep", ("keep belongs to at or in.", "Remove it, or put it into once: {at: …, keep: false}.")
        )
    if own.gives("first") and given[0] != "every":
        _add_at_key(reading, own, "first", ("first belongs to every.", "Remove it."))


def _check_action(reading: Reading, layers: Sequence[Layer]) -> None:
    own = layers[-1]
    check_own_action(reading, own)
    if any(own.tries(action) for action in ACTIONS):
        return
    is_taken_away = any(own.data.get(action, own) is None for action in ACTIONS)
    inherited = [] if is_taken_away else [action for layer in layers for action in ACTIONS if layer.tries(action)]
    if not inherited:
        words = "This job has no action.", "Add command: [program, argument], http: URL or python: package.module:name."
        reading.findings.add(words, path=path_words(own.steps), spot=own.spot)
    elif "command" not in inherited:
        _refuse_command_parts(reading, own, inherited[0])


def _add_at_key(reading: Reading, layer: Layer, key: str, words: Wording) -> None:
    steps = (*layer.steps, key)
    reading.add(words, steps, reading.key_spot(steps))


def origin(reading: Reading, layers: Sequence[Layer], field: str) -> tuple[str, Spot]:
    """Where the value stands that a field of the definition came from: in the job itself, or in what it inherits."""
    way = tuple(field.split("."))
    for layer in reversed(layers):
        for steps in (way, way[-1:]):
            if steps[0] in layer.data:
                place, taken = place_at(reading.root, (*layer.steps, *steps))
                return path_words(taken), value_spot(place) if place else NOWHERE
    return path_words(layers[-1].steps), layers[-1].spot
