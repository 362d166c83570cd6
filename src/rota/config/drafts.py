"""A draft: a job while somebody writes it, as a text, as single words, or both. What is wrong with it is an answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from rota.config.findings import Enough, Findings, words_of
from rota.config.fleet import read_single, read_table
from rota.config.layers import ACTIONS, COMMAND_PARTS, SCHEDULES, Reading, read_layer
from rota.config.shapes import JobShape
from rota.config.syntax import Malformed
from rota.config.tree import Table, WrittenFloat, WrittenInt, column_of, line_of, path_words, place_at, value_spot
from rota.core.definition import Definition
from rota.errors import InputError, Problem

# What goes when another of its kind is given.
_OF_SCHEDULES = (*SCHEDULES, "keep", "first")
_BESIDE_ACTION: Mapping[str, tuple[str, ...]] = {
    "command": ("http", "python"),
    "http": ("command", "python", *COMMAND_PARTS),
    "python": ("command", "http", *COMMAND_PARTS),
}
# Words that want a number, or have such words in them.
_NUMBERS = (
    *("jitter", "max_runs", "max_waiting", "catch_up_limit", "pause_after", "notify_after"),
    *("retry.", "overlap.", "http.expect"),
)


class Draft(NamedTuple):
    """The words of a job, the definition if they make one, and everything that is wrong with them."""

    words: Mapping[str, object]
    definition: Definition | None
    problems: tuple[Problem, ...]

    def problem(self, error: InputError) -> Problem:
        """A value that is refused later, where it stands."""
        place, taken = place_at(self.words, tuple(error.field.split(".")))
        spot = value_spot(place) if place else 0
        message, cure = words_of(error)
        return Problem(message, cure, path_words(taken) or error.field, "", line_of(spot), column_of(spot))


def read_draft(
    text: str, given: Mapping[str, object], *, name: str, agent: str | None, zone: str, now: datetime
) -> Draft:
    """A text in the words of a job, and words that are laid over it."""
    findings = Findings()
    words: Mapping[str, object] = given
    definition = None
    try:
        words = laid_over(read_table(text, findings) if text.strip() else {}, given)
        definition, _ = read_single(Reading(findings, now, words), words, name=name, agent=agent, zone=zone)
    except Malformed as error:
        findings.add((error.message, error.cure), spot=error.spot)
        _read_words(Reading(findings, now, given), given)
    except Enough:
        pass
    if findings:
        return Draft(words, None, findings.error().problems)
    return Draft(words, definition, ())


def _read_words(reading: Reading, given: Mapping[str, object]) -> None:
    """Beside a text that cannot be read at all, only what single words say can be wrong."""
    with suppress(Enough):
        read_layer(reading, JobShape, given)


def laid_over(below: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Words over those of a text, which keep their places. A word that is null takes the one of the text away."""
    merged: dict[str, object] = _copy(below)
    for key in _displaced(given):
        _remove(merged, key)
    for key, value in given.items():
        before = {"url": merged[key]} if key == "http" and isinstance(merged.get(key), str) else merged.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            merged[key] = laid_over(before, value)
            continue
        _remove(merged, key)
        if value is not None:
            merged[key] = value
    return merged


def _copy(below: Mapping[str, object]) -> dict[str, object]:
    if not isinstance(below, Table):
        return dict(below)
    copy = Table()
    copy.update(below)
    copy.places.update(below.places)
    return copy


def _remove(merged: dict[str, object], key: str) -> None:
    merged.pop(key, None)
    if isinstance(merged, Table):
        merged.places.pop(key, None)


def _displaced(given: Mapping[str, object]) -> set[str]:
    """The words of a text that are no longer meant: a job has one schedule and one action."""
    keys = {key for key, value in given.items() if value is not None}
    gone = set(_OF_SCHEDULES) if keys & set(SCHEDULES) else set()
    return gone.union(*(_BESIDE_ACTION[action] for action in ACTIONS if action in keys))


def plain_words(words: Mapping[str, object]) -> dict[str, Any]:
    """Words as JSON can say them. Where text is wanted, a number stays as it is written: ``0644``, ``1.10``."""
    return {key: _plain(value, str(key)) for key, value in words.items()}


def _plain(value: object, path: str) -> Any:  # noqa: ANN401 - words are anything
    match value:
        case dict():
            return {key: _plain(one, f"{path}.{key}") for key, one in value.items()}
        case list():
            return [_plain(one, path) for one in value]
        case WrittenInt() | WrittenFloat() if path.startswith(_NUMBERS):
            return int(value) if isinstance(value, int) else float(value)
        case WrittenInt() | WrittenFloat():
            return value.text
    return value
