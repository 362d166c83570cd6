"""The kinds of value in a fleet file: how each is read, and how JSON Schema describes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from rota.config.findings import Refusal, shown
from rota.config.readers import (
    NONE,
    Read,
    number_reader,
    read_backoff_step,
    read_clock,
    read_command_text,
    read_cron,
    read_delay_from_now,
    read_duration,
    read_duration_or_none,
    read_duration_or_zero,
    read_flag,
    read_instant,
    read_name,
    read_schedule,
    read_text,
    read_true,
    read_zone,
    real_reader,
    word_reader,
)
from rota.config.texts import LARGEST, parsed_text
from rota.config.tree import BROKEN
from rota.core.calendar import parse_month_day, parse_weekday
from rota.core.quiet import Quiet, parse_quiet
from rota.core.schedule import Schedule

Json = dict[str, Any]


class Known(ValueError):  # noqa: N818 - never leaves this room
    """About this value a problem has been noted already."""


class Kind:
    """How a value is read, and how JSON Schema describes it."""

    def __init__(self, read: Read, schema: Json) -> None:
        self._read = read
        self._schema = schema

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return dict(self._schema)

    def _checked(self, value: object, info: ValidationInfo) -> object:
        if value is BROKEN:
            raise Known
        return self._read(value, info)


class Group:
    """A mapping or list of its own shape, which may also be written short, as one text or one item."""

    def __init__(
        self,
        wanted: type,
        example: str,
        *,
        short: Callable[[Any], object] | None = None,
        short_schema: Json | None = None,
    ) -> None:
        self._wanted = wanted
        self._example = example
        self._short = short
        self._short_schema = short_schema

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._long, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        inner = handler(schema["schema"])
        return {"anyOf": [self._short_schema, inner]} if self._short_schema else inner

    def _long(self, value: object) -> object:
        if value is BROKEN:
            raise Known
        if isinstance(value, self._wanted):
            return value
        if self._short is not None and not isinstance(value, dict | list | bool) and value is not None:
            return self._short(value)
        words = "a list" if self._wanted is list else "a mapping"
        raise Refusal(f"This must be {words}, but it is {shown(value)}.", f"For example: {self._example}")


def one_of(words: type[StrEnum]) -> Kind:
    """One of the words of an enumeration."""
    known = tuple(word.value for word in words)
    return Kind(word_reader(*known), {"type": "string", "enum": list(known)})


_TEXT = {"type": "string"}
_DURATION = {"type": "string", "pattern": r"^\s*[0-9][0-9.]*\s*[a-zA-Z]", "examples": ["30s", "5m", "1h30m", "2d"]}
_CLOCK = {"type": "string", "pattern": r"^\s*([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?\s*$"}
_NAME = {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$"}


def whole(low: int, high: int = LARGEST, *, example: int) -> Kind:
    """A whole number within bounds."""
    bounds: Json = {"type": "integer", "minimum": low} | ({"maximum": high} if high < LARGEST else {})
    return Kind(number_reader(low, high, example), bounds)


Text = Annotated[str, Kind(read_text, _TEXT)]
# Numbers are welcome among arguments and variables.
Word = Annotated[str, Kind(read_command_text, {"type": ["string", "number"]})]
Flag = Annotated[bool, Kind(read_flag, {"type": "boolean"})]
OnlyTrue = Annotated[bool, Kind(read_true, {"const": True})]
Duration = Annotated[timedelta, Kind(read_duration, _DURATION)]
DurationOrZero = Annotated[timedelta, Kind(read_duration_or_zero, {"type": ["string", "integer"]})]
DurationOrNone = Annotated[
    timedelta | Literal["none"], Kind(read_duration_or_none, {"anyOf": [_DURATION, {"const": NONE}]})
]
BackoffStep = Annotated[timedelta | str, Kind(read_backoff_step, _DURATION)]
Jitter = Annotated[float, Kind(real_reader(0, 10, "5"), {"type": "number", "minimum": 0, "maximum": 10})]
Factor = Annotated[float, Kind(real_reader(1, 1.7976931348623157e308, "2"), {"type": "number", "minimum": 1})]
Name = Annotated[str, Kind(read_name, _NAME)]
Zone = Annotated[str, Kind(read_zone, _TEXT)]
CronText = Annotated[str, Kind(read_cron, _TEXT)]
Clock = Annotated[time, Kind(read_clock, _CLOCK)]
Instant = Annotated[datetime, Kind(read_instant, _TEXT)]
ScheduleLine = Annotated[Schedule, Kind(read_schedule, _TEXT)]
FromNow = Annotated[Schedule, Kind(read_delay_from_now, _DURATION)]
QuietText = Annotated[Quiet, Kind(lambda value, _: parse_quiet(parsed_text(value)), _TEXT)]
Day = Annotated[int, Kind(lambda value, _: parse_weekday(parsed_text(value), field="weekly.on"), _TEXT)]
MonthRule = Annotated[
    object,
    Kind(
        lambda value, _: parse_month_day(parsed_text(value)),
        {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 31}, _TEXT]},
    ),
]
