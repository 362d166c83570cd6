"""A text as plain values that know where they stand: mappings, lists, and numbers as they were written."""

from __future__ import annotations

from collections.abc import Sequence

Step = str | int


# Where something stands, line and column counted from 1, in one number; 0 is nowhere. There is one for every word of a
# file, and numbers are no work for the garbage collector.
Spot = int
NOWHERE: Spot = 0
_BITS = 24


def spot_at(line: int, column: int) -> Spot:
    return line << _BITS | column


def line_of(spot: Spot) -> int:
    return spot >> _BITS


def column_of(spot: Spot) -> int:
    return spot & (1 << _BITS) - 1


class Broken:
    """Stands for a value about which a problem has been noted already."""


BROKEN = Broken()


# Where an entry has its key, and where its value, in one number; for an item of a list the two are one.
Place = int


def place_of(key: Spot, value: Spot) -> Place:
    return key << 2 * _BITS | value


def key_spot(place: Place) -> Spot:
    return place >> 2 * _BITS


def value_spot(place: Place) -> Spot:
    return place & (1 << 2 * _BITS) - 1


class Table(dict[str, object]):
    """A mapping, and where each of its entries stands."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, Place] = {}


class Listing(list[object]):
    """A list, and where each of its items stands."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Place] = []


class Expanded(str):
    """A text that came out of variables: where a number or a truth is meant, it may be one."""

    __slots__ = ()


class WrittenInt(int):
    """A whole number that remembers its spelling, for where text is meant: ``0644`` is no 644."""

    text: str


class WrittenFloat(float):
    """A number that remembers its spelling: ``1.10`` is no 1.1."""

    text: str


def written_int(text: str, base: int) -> int:
    """A whole number; it remembers its spelling where that is not the usual one."""
    plain = int(text, base)
    if str(plain) == text:
        return plain
    number = WrittenInt(plain)
    number.text = text
    return number


def written_float(text: str) -> float:
    plain = float(text)
    if repr(plain) == text:
        return plain
    number = WrittenFloat(plain)
    number.text = text
    return number


def place_at(root: object, steps: Sequence[Step]) -> tuple[Place | None, tuple[Step, ...]]:
    """The place of the last step that the text really has, and the way to it."""
    found: Place | None = None
    for taken, step in enumerate(steps):
        place = _place_in(root, step)
        if place is None and not _holds(root, step):
            return found, tuple(steps[:taken])
        found = place or found
        root = root[step]  # type: ignore[index]
    return found, tuple(steps)


def path_words(steps: Sequence[Step]) -> str:
    """The way to a value in one word: ``jobs.backup.quiet[1]``."""
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return words.removeprefix(".")


def _place_in(root: object, step: Step) -> Place | None:
    if isinstance(root, Table) and isinstance(step, str):
        return root.places.get(step)
    if isinstance(root, Listing) and isinstance(step, int) and 0 <= step < len(root.places):
        return root.places[step]
    return None


def _holds(root: object, step: Step) -> bool:
    if isinstance(root, dict):
        return step in root
    return isinstance(root, list) and isinstance(step, int) and 0 <= step < len(root)
