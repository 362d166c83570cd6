"""Every error that Rota raises on purpose.

SchedulerError
├── InputError (also a ValueError)      a value that cannot be accepted: field, value, expected, example
│   ├── IntervalParseError              .input .kind
│   ├── CronParseError                  .expression .field .reason
│   └── ScheduleError                   zones, calendars, quiet hours, limits, money
├── RunStateError                       a run asked to move where the table of states does not lead
├── FleetError                          .problems: everything that is wrong with a fleet file or a definition
├── NotFoundError                       no job, run or worker of this name
├── ForbiddenError                      whoever asks may not
├── ConflictError                       the request does not fit what is there
│   └── ChangedError                    somebody else changed it meanwhile
├── StoreError                          the database
│   ├── StoreUnavailableError           away, locked, full: nothing was written
│   ├── SchemaError                     tables of another version
│   └── EngineLockedError               another engine holds the file
├── ScheduleTriggerError                .agent .schedule
└── SchedulerShutdownError              .timed_out .running_job_count
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec


class SchedulerError(Exception):
    """The root: catch this to catch everything that Rota raises on purpose."""


class InputError(SchedulerError, ValueError):
    """A value that cannot be accepted. The message names the field, the value, what is valid, and an example."""

    def __init__(self, message: str, *, field: str, value: str, expected: str, example: str) -> None:
        super().__init__(message)
        self.field = field
        self.value = value
        self.expected = expected
        self.example = example


class IntervalErrorKind(StrEnum):
    EMPTY = "empty"
    MISSING_UNIT = "missing_unit"
    MISSING_NUMBER = "missing_number"
    UNKNOWN_UNIT = "unknown_unit"
    ZERO = "zero"
    NEGATIVE = "negative"
    OVERFLOW = "overflow"


class IntervalParseError(InputError):
    """A duration that cannot be read, such as ``5x`` or ``0m``."""

    EXPECTED = "a duration of more than zero and at most 36525d"

    def __init__(self, reason: str, *, text: str, kind: IntervalErrorKind, field: str = "duration") -> None:
        super().__init__(
            f'Invalid {field} "{text}": {reason}. Expected {self.EXPECTED}. Example: "5m"',
            field=field,
            value=text,
            expected=self.EXPECTED,
            example="5m",
        )
        self.input = text
        self.kind = kind


class CronParseError(InputError):
    """A cron expression that cannot be read, or that no date ever matches."""

    def __init__(self, expression: str, *, field: str, reason: str, expected: str, example: str) -> None:
        super().__init__(
            f'Invalid cron expression "{expression}" - {reason}. Example: "{example}"',
            field=field,
            value=expression,
            expected=expected,
            example=example,
        )
        self.expression = expression
        self.reason = reason


class ScheduleError(InputError):
    """A zone, calendar rule, quiet hour, limit or amount that cannot be accepted."""

    def __init__(self, *, field: str, value: str, expected: str, example: str) -> None:
        super().__init__(
            f'Invalid {field} "{value}": expected {expected}. Example: {example}',
            field=field,
            value=value,
            expected=expected,
            example=example,
        )


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong: where, what, and what to do about it. Lines and columns count from 1; 0 is nowhere."""

    message: str
    cure: str = ""
    path: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line or "", self.column or "") if part)
        words = [f"{place}:" if place else "", f"{self.path}:" if self.path else "", self.message, self.cure]
        return " ".join(word for word in words if word)


class FleetError(SchedulerError):
    """A fleet file, or a definition in its words, that cannot be accepted. Everything that is wrong is listed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class RunStateError(SchedulerError):
    """A move of a run that the table of states does not allow."""

    def __init__(self, current: str | None, target: str, *, allowed: tuple[str, ...]) -> None:
        super().__init__(
            f"A run cannot go from {current or 'nothing'} to {target}; "
            f"from there it may become: {', '.join(allowed) or 'nothing, it has ended'}"
        )
        self.current = current
        self.target = target
        self.allowed = allowed


class ScheduleTriggerError(SchedulerError):
    """The action of a schedule raised."""

    def __init__(self, message: str, *, agent: str, schedule: str) -> None:
        super().__init__(message)
        self.agent = agent
        self.schedule = schedule


class SchedulerShutdownError(SchedulerError):
    """A stop that ran into its time limit."""

    def __init__(self, message: str, *, timed_out: bool, running_job_count: int) -> None:
        super().__init__(message)
        self.timed_out = timed_out
        self.running_job_count = running_job_count


class StoreError(SchedulerError):
    """The database cannot do what was asked of it. The message says what to do."""


class StoreUnavailableError(StoreError):
    """The database is away, locked or out of space; nothing was written, and trying again is safe."""


class SchemaError(StoreError):
    """The tables are not those that this version of Rota needs."""


class EngineLockedError(StoreError):
    """Another engine holds the database file."""


class NotFoundError(SchedulerError):
    """No job, run or worker has this name or id."""


class ForbiddenError(SchedulerError):
    """Whoever asks may not do this."""


class ConflictError(SchedulerError):
    """The request does not fit what is there now, such as a name that is taken."""


class ChangedError(ConflictError):
    """It was changed by somebody else since it was looked at."""


class GiveWayError(StoreError):
    """A transaction met another one and must be asked for again."""
