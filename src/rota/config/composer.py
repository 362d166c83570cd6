"""YAML read event by event into a tree, within bounds on depth and size that hold before anything is expanded."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from rota.config.findings import Findings
from rota.config.scalars import resolve
from rota.config.syntax import Malformed, malformed
from rota.config.tree import (
    BROKEN,
    Expanded,
    Listing,
    Spot,
    Step,
    Table,
    key_spot,
    line_of,
    path_words,
    place_of,
    spot_at,
)

MAX_DEPTH = 30
# Counted as if every alias were written out.
MAX_VALUES = 300_000
MAX_ANCHORS = 10_000
_TAG = "tag:yaml.org,2002:"
_TAGS = frozenset(f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")) | {"!"}
_MERGE = "<<"

Expand = Callable[[str, tuple[Step, ...], Spot], str | None]


def compose(text: str, findings: Findings, expand: Expand | None = None) -> object:
    """The one document of a text; ``expand`` is asked about every text value that holds a dollar sign."""
    try:
        return _Composer(text, findings, expand).document()
    except yaml.MarkedYAMLError as error:
        raise malformed(error, text) from None
    except yaml.YAMLError as error:
        raise Malformed(f"This is not YAML: {error}.", "Save it as plain text in UTF-8.", spot_at(1, 1)) from None


class _Composer:
    def __init__(self, text: str, findings: Findings, expand: Expand | None) -> None:
        self._next = cast("Callable[[], Event]", yaml.CSafeLoader(text).get_event)
        self._findings = findings
        self._expand = expand
        self._anchors: dict[str, tuple[object, int, Spot]] = {}
        self._open: set[str] = set()
        self._path: list[Step] = []
        self._size = 0

    def document(self) -> object:
        self._next()
        if isinstance(self._next(), StreamEndEvent):
            return None
        root, _ = self._value(self._next())
        self._next()
        event = self._next()
        if isinstance(event, DocumentStartEvent):
            raise Malformed("A second document begins here.", "Keep one document; remove the line ---.", _spot(event))
        return root

    def _value(self, event: Event) -> tuple[object, Spot]:
        if isinstance(event, AliasEvent):
            return self._alias(event)
        self._size += 1
        if self._size > MAX_VALUES:
            raise _too_many(event)
        before, anchor = self._size, event.anchor  # type: ignore[attr-defined]
        if anchor:
            self._open.add(anchor)
        if isinstance(event, ScalarEvent):
            value = self._scalar(event)
        elif len(self._path) >= MAX_DEPTH:
            raise Malformed(f"This is nested more than {MAX_DEPTH} deep.", "A fleet file is flat.", _spot(event))
        else:
            self._check_tag(event)
            value = self._mapping() if isinstance(event, MappingStartEvent) else self._list()
        spot = _spot(event)
        if anchor:
            self._open.discard(anchor)
            self._remember(anchor, value, self._size - before + 1, spot)
        return value, spot

    def _remember(self, anchor: str, value: object, size: int, spot: Spot) -> None:
        self._anchors[anchor] = value, size, spot
        if len(self._anchors) > MAX_ANCHORS:
            raise Malformed(f"There are more than {MAX_ANCHORS:,} anchors.", "Use fewer of them.", spot)

    def _alias(self, event: AliasEvent) -> tuple[object, Spot]:
        if event.anchor in self._open:
            raise Malformed(f'"*{event.anchor}" stands within itself.', "Write the inner part out.", _spot(event))
        if event.anchor not in self._anchors:
            raise Malformed(
                f'"*{event.anchor}" is an alias, and nothing before it is marked &{event.anchor}.',
                "If it is meant as text, put it in quotes.",
                _spot(event),
            )
        value, size, spot = self._anchors[event.anchor]
        self._size += size
        if self._size > MAX_VALUES:
            raise _too_many(event)
        # A scalar is wrong where it is used; what is inside a mapping or a list keeps its own places.
        return value, spot if isinstance(value, Table | Listing) else _spot(event)

    def _scalar(self, event: ScalarEvent) -> object:
        word, tag = event.value, event.tag
        if tag is not None:
            self._check_tag(event)
        is_plain = event.style == "" if tag is None else tag not in ("!", f"{_TAG}str")
        if "$" in word and self._expand is not None:
            expanded = self._expand(word, tuple(self._path), _spot(event))
            if expanded != word:
                return BROKEN if expanded is None else Expanded(expanded)
        return resolve(word) if is_plain else word

    def _list(self) -> Listing:
        items = Listing()
        event = self._next()
        while not isinstance(event, SequenceEndEvent):
            self._path.append(len(items))
            value, spot = self._value(event)
            self._path.pop()
            items.append(value)
            items.places.append(place_of(spot, spot))
            event = self._next()
        return items

    def _mapping(self) -> Table:
        table = Table()
        merged: list[tuple[object, Spot]] = []
        event = self._next()
        while not isinstance(event, MappingEndEvent):
            key, stands_at = self._key(event)
            self._path.append(key)
            value, spot = self._value(self._next())
            if key == _MERGE and event.style == "":  # type: ignore[attr-defined]
                merged.append((value, spot))
            elif key in table:
                self._twice(key, stands_at, table)
            else:
                table[key] = value
                table.places[key] = place_of(stands_at, spot)
            self._path.pop()
            event = self._next()
        for value, spot in merged:
            self._merge(table, value, spot)
        return table

    def _key(self, event: Event) -> tuple[str, Spot]:
        self._size += 1
        spot = _spot(event)
        if not isinstance(event, ScalarEvent):
            raise Malformed("A key must be text.", "Put a key that begins with a bracket or a star in quotes.", spot)
        if event.tag is not None:
            self._check_tag(event)
        if event.anchor:
            self._remember(event.anchor, event.value, 1, spot)
        return event.value, spot

    def _twice(self, key: str, spot: Spot, table: Table) -> None:
        first = line_of(key_spot(table.places[key]))
        words = f'The key "{key}" stands here twice; the first is on line {first}.', "Remove one of them."
        self._findings.add(words, path=path_words(self._path), spot=spot)

    def _merge(self, table: Table, value: object, spot: Spot) -> None:
        """Add what the table does not have itself; of several mappings the first counts."""
        for source in value if isinstance(value, Listing) else [value]:
            if not isinstance(source, Table):
                raise Malformed('"<<" takes a mapping, or a list of mappings.', "Write <<: *name.", spot)
            self._size += len(source)
            if self._size > MAX_VALUES:
                raise Malformed(f"Merges add up to more than {MAX_VALUES:,} values.", "Use fewer of them.", spot)
            for key, inherited in source.items():
                if key not in table:
                    table[key] = inherited
                    table.places[key] = source.places[key]

    def _check_tag(self, event: Event) -> None:
        tag = event.tag  # type: ignore[attr-defined]
        if tag is not None and tag not in _TAGS:
            words = (
                f'The tag "{tag.replace(_TAG, "!!")}" is not known.',
                "Remove it; put text that begins with ! in quotes.",
            )
            self._findings.add(words, path=path_words(self._path), spot=_spot(event))


def _too_many(event: Event) -> Malformed:
    return Malformed(
        f"The file has more than {MAX_VALUES:,} values, aliases counted as if written out.",
        "Split it, or use fewer aliases.",
        _spot(event),
    )


def _spot(event: Event) -> Spot:
    mark = event.start_mark
    return spot_at(mark.line + 1, mark.column + 1)  # type: ignore[union-attr]
