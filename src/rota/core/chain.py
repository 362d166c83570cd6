"""Chains: jobs fired by the settlement of other jobs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum

import msgspec

from rota.core.run import FAILURES, RunState
from rota.errors import ScheduleError

MAX_DEPTH = 10
MAX_FAN_OUT = 25
# Enough for a verdict at the end of any log, and a bound on what a slow pattern can cost.
_SEARCHED = 65_536


class ChainOn(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    DONE = "done"


class ChainPass(StrEnum):
    """What the child gets as its input."""

    NOTHING = "nothing"
    OUTPUT = "output"


class After(msgspec.Struct, frozen=True, tag="after"):
    """Fired when ``job`` settles as ``on`` says and, where given, its output matches ``when``."""

    job: str
    on: ChainOn = ChainOn.SUCCESS
    when: str | None = None
    delay: timedelta = timedelta()
    hands_over: ChainPass = msgspec.field(default=ChainPass.NOTHING, name="pass")


def parse_after(text: str) -> After:
    """Read ``build``, ``build on success``, ``build on failure`` or ``build on done``."""
    match text.split():
        case [job]:
            return After(job)
        case [job, "on", word] if word in tuple(ChainOn):
            return After(job, ChainOn(word))
        case _:
            raise ScheduleError(
                field="after",
                value=text,
                expected="a job, and on success|failure|done",
                example="after build on success",
            )


def format_after(after: After) -> str:
    """The text that ``parse_after`` reads back."""
    return f"{after.job} on {after.on}"


def fires(after: After, state: RunState, output: str) -> bool:
    """Whether a run that ended in this state, with this output, fires the child."""
    return _state_matches(after.on, state) and (after.when is None or matches(after.when, output))


def matches(pattern: str, output: str) -> bool:
    """Plain text is looked for as it is; between slashes it is a regular expression, ``/done in \\d+s/``."""
    tail = output[-_SEARCHED:]
    if len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/"):
        return re.search(pattern[1:-1], tail) is not None
    return pattern in tail


def check_after(after: After) -> None:
    """Refuse a pattern that cannot be compiled and a delay that is negative."""
    if after.delay < timedelta():
        raise ScheduleError(field="after.delay", value=str(after.delay), expected="zero or more", example="5m")
    try:
        matches(after.when or "", "")
    except (re.error, OverflowError, RecursionError) as error:
        raise ScheduleError(
            field="after.when",
            value=after.when or "",
            expected=f"plain text or a valid /pattern/ ({error})",
            example="/[1-9]\\d* failed/",
        ) from None


def find_cycle(parents: Mapping[str, Iterable[str]]) -> tuple[str, ...] | None:
    """A chain that leads back to its start, as job names in order; none when there is none."""
    finished: set[str] = set()
    for start in parents:
        cycle = _walk(start, parents, finished)
        if cycle:
            return cycle
    return None


def find_fan_out(parents: Mapping[str, Iterable[str]]) -> str | None:
    """A job with more children than may be fired at once; none when there is none."""
    children: dict[str, int] = {}
    for names in parents.values():
        for parent in set(names):
            children[parent] = children.get(parent, 0) + 1
    return next((parent for parent, count in children.items() if count > MAX_FAN_OUT), None)


def _state_matches(on: ChainOn, state: RunState) -> bool:
    if state is RunState.SUCCEEDED:
        return on is not ChainOn.FAILURE
    return state in FAILURES and on is not ChainOn.SUCCESS


def _walk(start: str, parents: Mapping[str, Iterable[str]], finished: set[str]) -> tuple[str, ...] | None:
    """Depth first without recursion, so that a long chain cannot exhaust the stack."""
    path: list[str] = [start]
    branches = [iter(parents.get(start, ()))]
    while branches:
        parent = next(branches[-1], None)
        if parent is None:
            finished.add(path.pop())
            branches.pop()
        elif parent in path:
            return (*path[path.index(parent) :], parent)
        elif parent not in finished:
            path.append(parent)
            branches.append(iter(parents.get(parent, ())))
    return None
