"""What is found wrong while reading: collected, put in order of lines, and worded only when it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rota.config.tree import NOWHERE, Spot, column_of, line_of
from rota.errors import FleetError, InputError, Problem

MAX_SHOWN = 200
# Whoever has this many problems has one problem; looking further would only take time.
MAX_FOUND = 10_000
_MAX_WORDS = 600

Wording = tuple[str, str]


class Refusal(ValueError):  # noqa: N818 - turned into a problem before it leaves this room
    """A value that cannot be accepted: what is wrong, and the cure."""

    def __init__(self, message: str, cure: str) -> None:
        # The words stay out of the exception's own: pydantic reads those, and cannot read half a character.
        super().__init__()
        self.message = message
        self.cure = cure


class Enough(Exception):  # noqa: N818 - a way out, not an error
    """So much is wrong that reading on is of no use."""


class Finding(NamedTuple):
    spot: Spot
    path: str
    words: Callable[[], Wording]


class Findings:
    """Everything that was found in one text."""

    def __init__(self, file: str = "") -> None:
        self._file = file
        self._found: list[Finding] = []
        self._warnings: list[Finding] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, words: Wording | Callable[[], Wording], *, path: str = "", spot: Spot = NOWHERE) -> None:
        """Note a problem."""
        self._found.append(Finding(spot, path, _later(words)))
        if len(self._found) >= MAX_FOUND:
            raise Enough

    def warn(self, message: str, cure: str = "", *, path: str = "", spot: Spot = NOWHERE) -> None:
        """Note what a person should know of, though it can be accepted."""
        self._warnings.append(Finding(spot, path, _later((message, cure))))

    def warnings(self) -> tuple[Problem, ...]:
        return tuple(self._worded(self._warnings))

    def error(self) -> FleetError:
        """Every problem, each once, by line; of very many, the first ones and their number."""
        return FleetError(self._worded(self._found))

    def _worded(self, found: list[Finding]) -> list[Problem]:
        problems: dict[tuple[Spot, str], Problem] = {}
        ordered = sorted(found, key=lambda one: one.spot)
        for index, one in enumerate(ordered):
            if len(problems) == MAX_SHOWN:
                rest = len(ordered) - index
                problems[(NOWHERE, "")] = Problem(f"and {rest} more", "Cure these first.", file=self._file)
                break
            message, cure = (shortened(text) for text in one.words())
            # What stands once in the file and is used in several places is wrong once.
            same = (one.spot, message) if one.spot != NOWHERE else (NOWHERE, f"{one.path} {message}")
            problems.setdefault(
                same, Problem(message, cure, shortened(one.path), self._file, line_of(one.spot), column_of(one.spot))
            )
        return list(problems.values())


def _later(words: Wording | Callable[[], Wording]) -> Callable[[], Wording]:
    return words if callable(words) else lambda: words


def words_of(error: Exception) -> Wording:
    """What a refused value says of itself, as message and cure."""
    if isinstance(error, Refusal):
        return error.message, error.cure
    if isinstance(error, InputError):
        message, found, _ = str(error).rpartition(" Example: ")
        return (message if found else str(error)), f"For example: {error.example}"
    return f"{error}.", ""


def shortened(text: str) -> str:
    """Text that can be shown anywhere: not endless, and nothing in it that a terminal would obey."""
    if len(text) > _MAX_WORDS:
        text = f"{text[: _MAX_WORDS // 2]} … {text[-_MAX_WORDS // 2 :]}"
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def shown(value: object) -> str:
    """A value in a few words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"' if len(value) <= 80 else f'"{value[:60]} …"'
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case int() if abs(value) >= 10**40:
            return "a number without end"
        case int() | float():
            return str(value)
        case _:
            return f"a value of type {type(value).__name__}"
