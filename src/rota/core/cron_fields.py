"""The grammar of the five cron fields, checked term by term so that an error can name field, value and range."""

from __future__ import annotations

import msgspec

from rota.errors import CronParseError

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class Field(msgspec.Struct, frozen=True):
    """One of the five fields: its name, its range, its names for numbers, and what else it understands."""

    name: str
    low: int
    high: int
    example: str
    names: tuple[str, ...] = ()
    is_day: bool = False

    @property
    def span(self) -> str:
        """The valid range in words, as in ``0-23``."""
        words = f"{self.low}-{self.high}"
        if self.names:
            words += f" or {self.names[0].lower()}-{self.names[-1].lower()}"
        return words


MINUTE = Field("minute", 0, 59, "*/15 * * * *")
HOUR = Field("hour", 0, 23, "0 9 * * *")
DAY = Field("day of month", 1, 31, "0 9 1,15 * *", is_day=True)
MONTH = Field("month", 1, 12, "0 9 1 jan,jul *", names=_MONTHS)
WEEKDAY = Field("day of week", 0, 7, "0 9 * * mon-fri", names=_WEEKDAYS, is_day=True)
FIELDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)


def split_fields(text: str) -> tuple[str, ...]:
    """The five fields of an expression in canonical form: aliases resolved, names as numbers, ``?`` as ``*``."""
    # Letters beyond ASCII may turn into others when made large; they are refused as they are.
    words = [word.upper() if word.isascii() else word for word in _expand_alias(text).split()]
    if len(words) != len(FIELDS):
        raise _wrong_count(text, len(words))
    return tuple(_canonical_field(text, field, word) for field, word in zip(FIELDS, words, strict=True))


def _expand_alias(text: str) -> str:
    stripped = text.strip()
    if not stripped.startswith("@"):
        return text
    if expansion := ALIASES.get(stripped.lower()):
        return expansion
    raise CronParseError(
        text,
        field="expression",
        reason=f'unknown shorthand "{stripped}"; valid are {", ".join(ALIASES)}',
        expected="one of " + " ".join(ALIASES),
        example="@daily",
    )


def _wrong_count(text: str, count: int) -> CronParseError:
    cure = "; seconds are not supported, use every: 30s for short intervals" if count == 6 else ""
    return CronParseError(
        text,
        field="expression",
        reason=f"expected 5 fields, got {count}{cure}",
        expected="minute hour day-of-month month day-of-week",
        example="0 9 * * 1-5",
    )


def _canonical_field(text: str, field: Field, word: str) -> str:
    if word == "?":
        if field.is_day:
            return "*"
        raise _refused(text, field, '"?" is only for the two day fields')
    return ",".join(_canonical_term(text, field, term) for term in word.split(","))


def _canonical_term(text: str, field: Field, term: str) -> str:
    if field is DAY and term in ("L", "LW"):
        return term
    if field is WEEKDAY and "#" in term:
        return _nth_weekday(text, term)
    if field is WEEKDAY and term.endswith("L"):
        return f"{_number(text, field, term[:-1])}L"
    head, slash, step = term.partition("/")
    head = _canonical_range(text, field, head)
    if not slash:
        return head
    step = _step(text, field, step)
    low, _, high = head.partition("-")
    # A range of one value has no second step; "5-5/15" must not be read as "5/15".
    return low if low == high else f"{head}/{step}"


def _nth_weekday(text: str, term: str) -> str:
    day, _, nth = term.partition("#")
    number = _number(text, WEEKDAY, day)
    if nth not in ("1", "2", "3", "4", "5"):
        raise _refused(text, WEEKDAY, f'"#{nth}" must be #1-#5, as in 1#2 for the second Monday')
    return f"{number}#{nth}"


def _canonical_range(text: str, field: Field, head: str) -> str:
    if head == "*":
        return head
    first, dash, last = head.partition("-")
    if dash and not (first and last):
        raise _refused(text, field, f'"{head.lower()}" is not valid')
    low = _number(text, field, first)
    if not dash:
        return str(low)
    high = _number(text, field, last)
    if high < low:
        raise _refused(
            text, field, f'range "{head.lower()}" runs backwards; write {low}-{field.high},{field.low}-{high}'
        )
    return f"{low}-{high}"


def _step(text: str, field: Field, step: str) -> str:
    size = field.high - field.low + 1
    if not _is_digits(step) or not 1 <= int(step) < size:
        raise _refused(text, field, f'step "/{step}" must be 1-{size - 1}')
    return str(int(step))


def _number(text: str, field: Field, word: str) -> int:
    if word in field.names:
        return field.names.index(word) + field.low
    if not _is_digits(word):
        raise _refused(text, field, f'"{word.lower()}" is not valid')
    number = int(word)
    if not field.low <= number <= field.high:
        raise _refused(text, field, f'"{word}" is out of range')
    return number


def _is_digits(word: str) -> bool:
    # Two digits fill every range; longer runs of zeros are typing errors, longer numbers out of range anyway.
    return word.isascii() and word.isdigit() and len(word) <= 4


def _refused(text: str, field: Field, detail: str) -> CronParseError:
    return CronParseError(
        text,
        field=field.name,
        reason=f"{field.name} must be {field.span}: {detail}",
        expected=field.span,
        example=field.example,
    )
