"""Findings of the doctor: what was looked at, how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

_SHOWN = 10
_NAMED = 3


class Status(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at. Where it is not well, the cure says what to do."""

    check: str
    status: Status
    message: str
    cure: str = ""


Findings = tuple[Finding, ...]


def ok(check: str, message: str) -> Findings:
    return (Finding(check=check, status=Status.OK, message=message),)


def warning(check: str, message: str, cure: str) -> Finding:
    return Finding(check=check, status=Status.WARNING, message=message, cure=cure)


def failure(check: str, message: str, cure: str) -> Finding:
    return Finding(check=check, status=Status.FAILURE, message=message, cure=cure)


def found(check: str, faults: Sequence[Finding], *, well: str) -> Findings:
    """The faults, the worst first and not too many of them; if there are none, that all is well."""
    if not faults:
        return ok(check, well)
    ordered = sorted(faults, key=lambda fault: fault.status is not Status.FAILURE)
    left = len(ordered) - _SHOWN
    more = [warning(check, f"{left} more like these.", "Cure the first ones, then look again: rota doctor")]
    return (*ordered[:_SHOWN], *(more if left > 0 else ()))


def named(names: Iterable[str]) -> str:
    """Some names in a sentence, the first of them if there are many."""
    every = list(dict.fromkeys(names))
    rest = len(every) - _NAMED
    return ", ".join(every[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
