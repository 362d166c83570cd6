"""Differences: what a change made of something, field by field, with everything left out that stayed the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec


class Difference(msgspec.Struct, frozen=True):
    """A field that differs. None is what was not there."""

    field: str
    before: str | None
    after: str | None


def differences(before: object, after: object) -> tuple[Difference, ...]:
    """The fields in which two values differ; within mappings each by its own name."""
    return tuple(_between("", before, after))


def _between(field: str, before: object, after: object) -> Iterator[Difference]:
    if before == after:
        return
    old, new = _inside(before), _inside(after)
    if old is None or new is None:
        yield Difference(field, _text(before), _text(after))
        return
    for name in {**old, **new}:
        yield from _between(f"{field}.{name}" if field else name, old.get(name), new.get(name))


def _inside(value: object) -> Mapping[str, object] | None:
    """What one can look into: nothing at all is like a mapping without fields."""
    if value is None:
        return {}
    return value if isinstance(value, Mapping) else None


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
