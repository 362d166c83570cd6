"""Visits: who looks at which page, and what the address asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from rota.api.reading import in_utc
from rota.errors import ScheduleError
from rota.ledger.site import Site
from rota.operations.inputs import Instant
from rota.operations.premises import Premises
from rota.ports.caller import Caller, Role

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")
Pairs = Sequence[tuple[str, str]]


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """One request for a page. ``site`` has the caller; ``values`` are the names in the path."""

    site: Site
    premises: Premises
    path: str
    values: Mapping[str, str]
    query: Pairs
    theme: str

    @property
    def caller(self) -> Caller:
        return self.site.caller

    @property
    def now(self) -> datetime:
        return self.site.clock.now()

    def may(self, role: Role) -> bool:
        return self.caller.role.covers(role)

    def text(self, name: str) -> str | None:
        """The value of a parameter; none if it is missing or empty."""
        return next((value.strip() for key, value in self.query if key == name and value.strip()), None)

    def texts(self, name: str) -> tuple[str, ...]:
        """Every value of a parameter, each once."""
        return tuple(dict.fromkeys(value.strip() for key, value in self.query if key == name and value.strip()))

    def chosen(self, name: str, kind: type[E]) -> E | None:
        text = self.text(name)
        return None if text is None else _of(kind, name, text)

    def all_chosen(self, name: str, kind: type[E]) -> tuple[E, ...]:
        return tuple(_of(kind, name, text) for text in self.texts(name))

    def instant(self, name: str) -> datetime | None:
        """A time, or how long ago: ``2026-11-18T09:00Z`` or ``6h``."""
        text = self.text(name)
        return None if text is None else _instant(name, text, self.now)

    def link(self, **changes: str | None) -> str:
        """The address of this page with some parameters changed, from the beginning of its list."""
        kept = [(key, value) for key, value in self.query if key not in changes and key != "after" and value]
        pairs = [*kept, *((key, value) for key, value in changes.items() if value is not None)]
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path

    def linked(self, name: str, values: Sequence[str]) -> str:
        """The address with these values of a repeated parameter and no others of it."""
        kept = [one for one in self.query if one[0] not in (name, "after") and one[1]]
        return f"{self.path}?{urlencode([*kept, *((name, value) for value in values)])}"

    def toggled(self, name: str, value: str) -> str:
        """The address with one value of a repeated parameter added or taken away."""
        pair = (name, value)
        kept = [one for one in self.query if one != pair and one[0] != "after" and one[1]]
        pairs = kept if pair in self.query else [*kept, pair]
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path


def _of(kind: type[E], name: str, text: str) -> E:
    try:
        return kind(text)
    except ValueError:
        raise ScheduleError(field=name, value=text, expected=", ".join(kind), example=next(iter(kind))) from None


def _instant(name: str, text: str, now: datetime) -> datetime:
    from rota.core.duration import parse_duration  # noqa: PLC0415

    try:
        at = msgspec.convert(text, Instant)
    except msgspec.ValidationError:
        wait: timedelta = parse_duration(text, field=name)
        return now - wait
    return in_utc(name, at)


def whole(name: str, text: str | None, *, default: int, most: int) -> int:
    """A number in an address, within its limits."""
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
        raise ScheduleError(field=name, value=text, expected=f"a number from 1 to {most}", example=str(default))
    return int(text)


Context = dict[str, Any]
"""What a template is given."""
