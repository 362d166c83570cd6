"""The mappings inside a job: their shape, for reading and for editors."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rota.config.kinds import (
    Clock,
    Day,
    Duration,
    DurationOrZero,
    Factor,
    Flag,
    FromNow,
    Group,
    Instant,
    MonthRule,
    Name,
    Text,
    Word,
    one_of,
    whole,
)
from rota.core.chain import ChainOn, ChainPass
from rota.core.overlap import Overlap

TEXT = {"type": "string"}
Variables = dict[Word, Word | None]


class Shape(BaseModel):
    """A mapping with known keys."""

    model_config = ConfigDict(extra="forbid", defer_build=True, arbitrary_types_allowed=True)


class OnceShape(Shape):
    """One due time."""

    at: Instant | None = Field(None, description="The time; without an offset, on the job's wall clock.")
    from_now: FromNow | None = Field(None, alias="in", description="How long from now.", examples=["20m"])
    keep: Flag | None = Field(None, description="false removes the job after a success. Default: true.")


class WeeklyShape(Shape):
    """On weekdays."""

    on: Annotated[list[Day], Group(list, "[mon, thu]", short=lambda text: str(text).split(","), short_schema=TEXT)] = (
        Field(description="The days, mon to sun.", examples=[["mon", "thu"]])
    )
    at: Clock = Field(description="The time of day.", examples=["09:00"])


class MonthlyShape(Shape):
    """On one day of each month."""

    on: MonthRule = Field(
        description="A day 1-31 (a shorter month uses its last), last, or a weekday such as first mon or last fri.",
        examples=[31, "last", "first mon", "last fri"],
    )
    at: Clock = Field(description="The time of day.", examples=["09:00"])


class AfterShape(Shape):
    """Fired when another job ends."""

    job: Name = Field(description="The job that fires this one.", examples=["build", "coder/nightly"])
    on: Annotated[ChainOn, one_of(ChainOn)] | None = Field(None, description="How it must end. Default: success.")
    when: Text | None = Field(
        None, description="Text that its output must hold, or a /regular expression/.", examples=["/[1-9]\\d* failed/"]
    )
    delay: DurationOrZero | None = Field(None, description="How long to wait after its end.", examples=["5m"])
    hands_over: Annotated[ChainPass, one_of(ChainPass)] | None = Field(
        None, alias="pass", description="What this job gets as its input. Default: nothing."
    )


class HttpShape(Shape):
    """A request."""

    url: Text = Field(description="An http or https URL.", examples=["https://example.org/tick"])
    method: Text | None = Field(None, description="Default: GET.", examples=["POST"])
    headers: Annotated[Variables, Group(dict, "{Accept: text/plain}")] | None = Field(
        None,
        description="Headers; env:NAME and file:PATH are secrets, looked up when a run starts.",
        examples=[{"Authorization": "env:API_TOKEN"}],
    )
    body: Text | None = Field(None, description="The body, as text.", examples=['{"ping": true}'])
    expect: (
        Annotated[
            list[Annotated[int, whole(100, 599, example=204)]],
            Group(list, "[200, 204]", short=lambda status: [status], short_schema={"type": "integer"}),
        ]
        | None
    ) = Field(None, description="The statuses that are a success. Default: 200-299.", examples=[[200, 204]])


class RetryShape(Shape):
    """New attempts."""

    max: Annotated[int, whole(0, example=2)] | None = Field(None, description="After a failure. Default: 0.")
    first: Duration | None = Field(None, description="The wait before the first. Default: 30s.")
    factor: Factor | None = Field(None, description="By how much each wait is longer. Default: 2.")
    cap: Duration | None = Field(None, description="The longest wait. Default: 1h.")
    on_lost: Annotated[int, whole(0, example=1)] | None = Field(
        None, description="After the loss of a worker. Default: 1 for GET requests, else 0."
    )
    on_interrupted: Annotated[int, whole(0, example=1)] | None = Field(
        None, description="After a shutdown. Default: 1 for GET requests, else 0."
    )


class OverlapShape(Shape):
    """What a new run does while another run of the job is live."""

    policy: Annotated[Overlap, one_of(Overlap)] | None = Field(None, description="Default: skip.")
    max_waiting: Annotated[int, whole(1, example=1)] | None = Field(
        None, description="How many runs may wait with queue. Default: 1."
    )
