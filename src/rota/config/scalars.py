"""Plain words of YAML by the rules of version 1.2: ``on``, ``no``, ``09:00`` and dates are text."""

from __future__ import annotations

import re

from rota.config.tree import written_float, written_int

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
# What a number, a truth or nothing can begin with; all other words are text at one look.
_SUSPECTS = frozenset("0123456789+-.~nNtTfF")
# Longer numbers are text: nothing here counts so far, and reading them takes time that grows with the square.
_MAX_DIGITS = 400


def resolve(word: str) -> object:
    """The value of a plain word."""
    if word and word[0] not in _SUSPECTS:
        return word
    if word in _NULL:
        return None
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    return _number(word)


def _number(word: str) -> object:
    if len(word) > _MAX_DIGITS:
        return word
    if _INT.fullmatch(word):
        return written_int(word, {"0o": 8, "0x": 16}.get(word[:2], 10))
    if _FLOAT.fullmatch(word):
        if word[-1] in "fFnN":
            return float(word.replace(".", ""))
        return written_float(word)
    return word
