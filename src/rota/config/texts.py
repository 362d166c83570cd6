"""Text as a fleet file has it: numbers as they were written, nothing that cannot be kept, no endless lines to parse."""

from __future__ import annotations

import math

from rota.config.findings import Refusal, shown
from rota.config.tree import WrittenFloat, WrittenInt

LARGEST = 2**63 - 1
# Nothing that is parsed is longer; what is longer must not be looked at for long.
_MAX_PARSED = 1_000


class Line(str):
    """A text that stands alone where a list could stand."""

    __slots__ = ()


def text_of(value: object) -> str:
    """A text; numbers are taken as they were written."""
    match value:
        case str():
            # Only a text that stands alone is more than its letters later on.
            text = value if isinstance(value, Line) else str(value)
        case WrittenInt() | WrittenFloat():
            return value.text
        case int() if not isinstance(value, bool) and abs(value) <= LARGEST:
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case bool():
            word = "true" if value else "false"
            raise Refusal(f"This must be text, but {word} is a truth value.", f'Put it in quotes: "{word}".')
        case _:
            raise Refusal(
                f"This must be text, but it is {shown(value)}.", "Write one text; put it in quotes if in doubt."
            )
    if "\0" in text or not (text.isascii() or _is_whole(text)):
        raise Refusal(f"This text holds a NUL character or half a character: {text[:40]!a}.", "Remove that character.")
    return text


def alone(value: object) -> list[str]:
    """One text as a list that still shows that it was one text."""
    return [Line(text_of(value))]


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parsed_text(value: object) -> str:
    """A text that is going to be parsed, and is therefore not long."""
    text = text_of(value)
    if len(text) > _MAX_PARSED:
        raise Refusal(f"This text has {len(text):,} characters; at most {_MAX_PARSED:,} are read here.", "Shorten it.")
    return text
