"""Chains: jobs fired by the settlement of other jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from rota.core.duration import MAX_DURATION, format_duration, parse_duration
from rota.core.run import FAILURES, RunState
from rota.errors import ScheduleError

MAX_DEPTH = 10
MAX_FAN_OUT = 25
# Enough for a verdict at the end of any log.
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
    """Read ``build``, or ``build on failure delay 5m pass output when tests failed``; ``when`` takes the rest."""
    head, found, when = f"{text} ".partition(" when ")
    job, *words = head.split() or [""]
    given = dict(zip(words[::2], words[1::2], strict=False))
    is_known = set(given) <= {"on", "delay", "pass"} and len(words) == 2 * len(given)
    is_said = given.get("on", "success") in tuple(ChainOn) and given.get("pass", "nothing") in tuple(ChainPass)
    if not (job and is_known and is_said and bool(found) == bool(when.strip())):
        raise ScheduleError(
            field="after",
            value=text,
            expected="a job, on success|failure|done, and if you like delay, pass output, when PATTERN",
            example="after build on success",
        )
    return After(
        job,
        ChainOn(given.get("on", ChainOn.SUCCESS)),
        when.strip() or None,
        parse_duration(given["delay"], field="after.delay") if "delay" in given else timedelta(),
        ChainPass(given.get("pass", ChainPass.NOTHING)),
    )


def format_after(after: After) -> str:
    """The text that ``parse_after`` reads back."""
    delay = f" delay {format_duration(after.delay)}" if after.delay else ""
    hands_over = f" pass {after.hands_over}" if after.hands_over is not ChainPass.NOTHING else ""
    when = f" when {after.when}" if after.when else ""
    return f"{after.job} on {after.on}{delay}{hands_over}{when}"


def fires(after: After, state: RunState, output: str) -> bool:
    """Whether a run that ended in this state, with this output, fires the child."""
    return _state_matches(after.on, state) and (after.when is None or matches(after.when, output))


def matches(pattern: str, output: str) -> bool:
    """Plain text is looked for as it is; between slashes it is a regular expression, ``/done in \\d+s/``."""
    tail = output[-_SEARCHED:]
    if len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/"):
        # RE2 takes linear time, whatever the pattern; a stray half of a character is not its business.
        return _compiled(pattern[1:-1]).search(tail.encode("utf-8", "replace").decode()) is not None
    return pattern in tail


def check_after(after: After) -> None:
    """Refuse a pattern that cannot be compiled and a delay that is negative or longer than a century."""
    if not timedelta() <= after.delay <= MAX_DURATION:
        raise ScheduleError(
            field="after.delay", value=str(after.delay), expected="a duration from zero to 36525d", example="5m"
        )
    matches(after.when or "", "")


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:  # noqa: ANN401 - the library has no types
    # Imported only where a chain has a pattern: it costs more than the rest of the core.
    import re2  # noqa: PLC0415

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if isinstance(error, re2.error) else "half a character"
        raise ScheduleError(
            field="after.when",
            value=f"/{pattern}/",
            expected=f"plain text or a valid /pattern/ ({reason.decode() if isinstance(reason, bytes) else reason})",
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
