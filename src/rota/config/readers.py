"""How each kind of value is read: by the core's own parser wherever it has one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Literal

from pydantic import ValidationInfo

from rota.config.findings import Refusal, shown
from rota.config.scalars import resolve
from rota.config.suggestions import unknown_word
from rota.config.texts import LARGEST, Line, parsed_text, text_of
from rota.config.tree import Expanded
from rota.core.calendar import parse_clock
from rota.core.cron import parse_cron
from rota.core.definition import check_name
from rota.core.duration import parse_duration
from rota.core.quiet import Quiet, QuietDates, check_quiet
from rota.core.schedule import Schedule, parse_instant, parse_schedule
from rota.core.zone import zone_named
from rota.errors import IntervalErrorKind, IntervalParseError, ScheduleError

# A single argument of a command cannot be longer on Linux.
_MAX_COMMAND = 131_072
# Checking periods against each other takes time that grows with the cube of their number.
_MAX_RECURRING = 50
NONE: Literal["none"] = "none"
BACKOFF_WORDS = (NONE, "multiply", "ladder")

Read = Callable[[object, ValidationInfo], object]


def _meant(value: object) -> object:
    """A number or truth that came out of a variable, which holds only text."""
    return resolve(value) if isinstance(value, Expanded) else value


def read_text(value: object, _: ValidationInfo) -> str:
    return text_of(value)


def read_command_text(value: object, _: ValidationInfo) -> str:
    text = text_of(value)
    if len(text) > _MAX_COMMAND:
        raise Refusal(f"This has {len(text):,} characters; a program takes {_MAX_COMMAND:,}.", "Use stdin, or a file.")
    return text


def read_flag(value: object, info: ValidationInfo) -> bool:
    value = _meant(value)
    if isinstance(value, bool):
        return value
    raise Refusal(
        f"This must be true or false, but it is {shown(value)}.", f"Write {info.field_name}: true, without quotes."
    )


def read_true(value: object, info: ValidationInfo) -> bool:
    if value is True:
        return True
    if isinstance(value, dict):
        raise Refusal(
            f"Settings of a {info.field_name} are not in this version yet.", f"Write {info.field_name}: true."
        )
    raise Refusal(f"This must be true, but it is {shown(value)}.", f"Write {info.field_name}: true, or leave it out.")


def number_reader(low: int, high: int, example: int) -> Read:
    def read(value: object, _: ValidationInfo) -> int:
        value = _meant(value)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return int(value)
        span = f"from {low} to {high}" if high < LARGEST else f"from {low}"
        quoted = " without quotes" if isinstance(value, str) and value.strip().isdecimal() else ""
        raise Refusal(
            f"This must be a whole number {span}, but it is {shown(value)}.",
            f"Write it{quoted}, for example: {example}",
        )

    return read


def real_reader(low: float, high: float, example: str) -> Read:
    def read(value: object, _: ValidationInfo) -> float:
        value = _meant(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # Compared before it becomes a float, which a large enough whole number cannot.
        if is_number and low <= value <= high:  # type: ignore[operator]
            return float(value)  # type: ignore[arg-type]
        span = f"from {low:g} to {high:g}" if high <= 1_000 else f"from {low:g}"
        raise Refusal(
            f"This must be a number {span}, but it is {shown(value)}.",
            f"Write it without quotes or signs, for example: {example}",
        )

    return read


def _key_of(info: ValidationInfo) -> str:
    return info.field_name or "duration"


def read_duration(value: object, info: ValidationInfo) -> timedelta:
    return parse_duration(parsed_text(value), field=_key_of(info))


def read_duration_or_zero(value: object, info: ValidationInfo) -> timedelta:
    text = parsed_text(value)
    if text.strip() == "0":
        return timedelta()
    try:
        return parse_duration(text, field=_key_of(info))
    except IntervalParseError as error:
        if error.kind is IntervalErrorKind.ZERO:
            return timedelta()
        raise


def read_duration_or_none(value: object, info: ValidationInfo) -> timedelta | Literal["none"]:
    return NONE if value == NONE else read_duration(value, info)


def word_reader(*known: str) -> Read:
    def read(value: object, _: ValidationInfo) -> str:
        word = parsed_text(value)
        if word in known:
            return word
        raise Refusal(*unknown_word(word, known))

    return read


def read_name(value: object, info: ValidationInfo) -> str:
    name = parsed_text(value)
    check_name(_key_of(info), name)
    return name


def read_zone(value: object, _: ValidationInfo) -> str:
    name = parsed_text(value)
    if len(name) > 100:
        raise ScheduleError(field="timezone", value=name[:40], expected="an IANA zone name", example="Europe/Berlin")
    zone_named(name)
    return name


def read_cron(value: object, _: ValidationInfo) -> str:
    return parse_cron(" ".join(parsed_text(value).split())).text


def read_clock(value: object, info: ValidationInfo) -> time:
    return parse_clock(parsed_text(value), field=_key_of(info))


def read_instant(value: object, info: ValidationInfo) -> datetime:
    field = "from" if info.field_name == "begins_at" else _key_of(info)
    return parse_instant(parsed_text(value), field=field)


def read_schedule(value: object, info: ValidationInfo) -> Schedule:
    if isinstance(value, dict):
        raise Refusal(
            "This must be one line of text, but it is a mapping.",
            'Write its key beside the others instead, such as every: 5m or cron: "0 9 * * *".',
        )
    return parse_schedule(parsed_text(value), now=info.context)  # type: ignore[arg-type]


def read_delay_from_now(value: object, info: ValidationInfo) -> Schedule:
    return parse_schedule(f"in {parsed_text(value)}", now=info.context)  # type: ignore[arg-type]


def read_backoff_step(value: object, _: ValidationInfo) -> timedelta | str:
    text = parsed_text(value)
    if isinstance(text, Line) and not text.strip()[:1].isdigit():
        if text in BACKOFF_WORDS:
            return text
        message, cure = unknown_word(text, BACKOFF_WORDS)
        raise Refusal(message, f"{cure} Or list the waits: [30s, 1m, 5m].")
    return parse_duration(text, field="backoff")


def with_time_left(periods: list[Quiet]) -> list[Quiet]:
    """Quiet periods that leave some time of the week."""
    if sum(not isinstance(period, QuietDates) for period in periods) > _MAX_RECURRING:
        raise Refusal(f"At most {_MAX_RECURRING} hours and weekdays can stand here.", "Use fewer of them.")
    check_quiet(periods)
    return periods
