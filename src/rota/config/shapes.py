"""The keys of a job, of an agent, and of what all jobs share: their shape, for reading and for editors."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from rota.config.kinds import (
    BackoffStep,
    Clock,
    CronText,
    Duration,
    DurationOrNone,
    DurationOrZero,
    Flag,
    FromNow,
    Group,
    Instant,
    Jitter,
    Name,
    OnlyTrue,
    QuietText,
    ScheduleLine,
    Text,
    Word,
    Zone,
    one_of,
    whole,
)
from rota.config.parts import (
    TEXT,
    AfterShape,
    HttpShape,
    MonthlyShape,
    OnceShape,
    OverlapShape,
    RetryShape,
    Shape,
    Variables,
    WeeklyShape,
)
from rota.config.readers import BACKOFF_WORDS, with_time_left
from rota.config.texts import alone
from rota.core.catchup import CatchUp
from rota.core.liveness import OnSilence
from rota.core.overlap import Overlap
from rota.core.quiet import QuietPolicy
from rota.core.schedule import First

MAX_LIMIT = 100_000
# A day of quiet for every day of a year.
MAX_QUIET = 366

_OVERLAP_WORDS = [word.value for word in Overlap]


class Rules(Shape):
    """What may stand in the defaults, on an agent, and on a job."""

    description: Text | None = Field(None, description="What it is for.")
    timezone: Zone | None = Field(
        None,
        description="An IANA zone. Default: the agent's, else the fleet's, else the machine's.",
        examples=["Europe/Berlin"],
    )
    prompt: Text | None = Field(None, description="What the agent is told.")
    cwd: Text | None = Field(
        None,
        description="Where a command runs; relative to the file's folder, which is the default.",
        examples=["~/src/app"],
    )
    env: Annotated[Variables, Group(dict, "{API_KEY: env:MY_KEY}")] | None = Field(
        None,
        description="Variables of a command; env:NAME and file:PATH are secrets, looked up when a run starts.",
        examples=[{"API_KEY": "env:CODER_KEY"}],
    )
    stdin: Text | None = Field(None, description="What a command reads.")
    shell: Flag | None = Field(None, description="Whether /bin/sh reads the command. Default: false.")
    pool: Name | None = Field(
        None,
        description="The pool whose slots its runs take. Default: local, remote for http, inline for python.",
        examples=["gpu"],
    )
    concurrency_key: Text | None = Field(None, description="Runs with the same key never overlap.", examples=["repo-1"])
    overlap: (
        Annotated[
            OverlapShape,
            Group(
                dict,
                "skip",
                short=lambda word: {"policy": word},
                short_schema={"type": "string", "enum": _OVERLAP_WORDS},
            ),
        ]
        | None
    ) = Field(None, description="What a new run does while another one is live. Default: skip.", examples=["queue"])
    max_waiting: Annotated[int, whole(1, example=1)] | None = Field(
        None, description="How many runs may wait with overlap: queue. Default: 1."
    )
    start_within: DurationOrZero | None = Field(
        None, description="How late an occurrence may start. Default: 5m.", examples=["5m"]
    )
    catch_up: Annotated[CatchUp, one_of(CatchUp)] | None = Field(
        None, description="What becomes of missed due times. Default: skip, and latest for one-time jobs."
    )
    catch_up_window: DurationOrZero | None = Field(None, description="How far back. Default: 1d.", examples=["1d"])
    catch_up_limit: Annotated[int, whole(0, example=10)] | None = Field(None, description="How many. Default: 10.")
    retry: Annotated[RetryShape, Group(dict, "{max: 2}")] | None = Field(
        None, description="New attempts after a failure.", examples=[{"max": 2}]
    )
    pause_after: Annotated[int, whole(1, example=5)] | None = Field(
        None, description="After so many failures in a row the job is paused. Default: never."
    )
    notify_after: Annotated[int, whole(1, example=1)] | None = Field(
        None, description="After so many failures in a row there is a notice. Default: 1."
    )
    backoff: (
        Annotated[
            list[BackoffStep],
            Group(list, "[30s, 1m, 5m]", short=alone, short_schema={"type": "string", "enum": list(BACKOFF_WORDS)}),
        ]
        | None
    ) = Field(
        None,
        description="How failures stretch the schedule: none, multiply, ladder, or your own ladder of waits.",
        examples=[["30s", "1m", "5m", "15m", "60m"], "none"],
    )
    quiet: (
        Annotated[
            list[QuietText],
            Field(max_length=MAX_QUIET),
            AfterValidator(with_time_left),
            Group(list, "[22:00-07:00, sat]", short=alone, short_schema=TEXT),
        ]
        | None
    ) = Field(
        None,
        description="Hours, weekdays and dates without scheduled runs.",
        examples=["22:00-07:00", ["sat", "2026-12-24..2026-12-26"]],
    )
    quiet_policy: Annotated[QuietPolicy, one_of(QuietPolicy)] | None = Field(
        None, description="Whether occurrences in quiet hours are skipped, or move to their end. Default: skip."
    )
    begins_at: Instant | None = Field(None, alias="from", description="Not before.", examples=["2026-12-01T09:00"])
    until: Instant | None = Field(None, description="Not after.", examples=["2026-12-31T23:59"])
    max_runs: Annotated[int, whole(1, example=10)] | None = Field(None, description="After so many the job ends.")
    stagger: DurationOrZero | None = Field(
        None, description="Moves the job by a share of this that follows from its name.", examples=["2m"]
    )
    jitter: Jitter | None = Field(None, description="Per cent of an interval that chance may add, 0-10.", examples=[5])
    min_interval: Duration | None = Field(None, description="Never more often than this.", examples=["5m"])
    max_interval: Duration | None = Field(None, description="Never less often than this.", examples=["1d"])
    queue_timeout: DurationOrNone | None = Field(
        None, description="How long a run may wait. Default: none.", examples=["2h", "none"]
    )
    timeout: DurationOrNone | None = Field(
        None,
        description="How long a run may take. Default: 1h, 30s for http, none for python.",
        examples=["30m", "none"],
    )
    silence_after: Duration | None = Field(
        None, description="Without any sign for so long, a run counts as silent. Default: 10m.", examples=["10m"]
    )
    on_silence: Annotated[OnSilence, one_of(OnSilence)] | None = Field(
        None, description="Whether a silent run is flagged or fails. Default: flag."
    )


class WithAction(Rules):
    """What an agent and a job have beside the rules: the action."""

    command: Annotated[list[Word], Group(list, "[./run.sh, --all]", short=alone, short_schema=TEXT)] | None = Field(
        None,
        description="A program and its arguments; as one text it is split like a shell would, but no shell reads it.",
        examples=[["./backup.sh", "--all"], "./backup.sh --all"],
    )
    http: (
        Annotated[HttpShape, Group(dict, "https://example.org", short=lambda url: {"url": url}, short_schema=TEXT)]
        | None
    ) = Field(None, description="A request, or just its URL.", examples=["https://example.org/tick"])
    python: Text | None = Field(
        None, description="A callable of the program that embeds Rota.", examples=["reports.nightly:run"]
    )


class JobShape(WithAction):
    """One job: one schedule, one action, and rules."""

    once: Annotated[OnceShape, Group(dict, "{at: 2026-12-01T09:00}")] | None = Field(
        None, description="One time.", examples=[{"at": "2026-12-01T09:00", "keep": False}]
    )
    at: Instant | None = Field(
        None, description="One time; without an offset, on the job's wall clock.", examples=["2026-12-01T09:00"]
    )
    from_now: FromNow | None = Field(None, alias="in", description="One time, so long from now.", examples=["20m"])
    keep: Flag | None = Field(None, description="With at or in: false removes the job after a success. Default: true.")
    every: Duration | None = Field(
        None, description="An interval, from the end of the previous run.", examples=["5m", "1h30m"]
    )
    first: Annotated[First, one_of(First)] | None = Field(
        None, description="With every: whether a new job runs now, or after one interval. Default: now."
    )
    cron: CronText | None = Field(
        None, description="Five cron fields or a shorthand; in quotes.", examples=["0 9 * * 1-5", "@daily"]
    )
    daily: Clock | None = Field(None, description="Every day at a time.", examples=["09:00"])
    weekly: Annotated[WeeklyShape, Group(dict, '{on: [mon, thu], at: "09:00"}')] | None = Field(
        None, description="On weekdays.", examples=[{"on": ["mon", "thu"], "at": "09:00"}]
    )
    monthly: Annotated[MonthlyShape, Group(dict, '{on: 31, at: "09:00"}')] | None = Field(
        None, description="On one day of each month.", examples=[{"on": "last fri", "at": "09:00"}]
    )
    manual: OnlyTrue | None = Field(None, description="Only run by hand.")
    webhook: OnlyTrue | None = Field(None, description="Fired by a request from outside.")
    chat: OnlyTrue | None = Field(None, description="Fired by a chat message.")
    after: (
        Annotated[AfterShape, Group(dict, "{job: build}", short=lambda name: {"job": name}, short_schema=TEXT)] | None
    ) = Field(None, description="Fired when another job ends.", examples=["build", {"job": "build", "on": "failure"}])
    schedule: ScheduleLine | None = Field(
        None, description="Any schedule as one line.", examples=["every 5m first after", "weekly mon,thu 09:00"]
    )


_ENABLED = Field(None, description="false: the job is there, but does not run. Default: true.")


class FileJobShape(JobShape):
    """One job of a fleet file."""

    enabled: Flag | None = _ENABLED
    renamed_from: Name | None = Field(None, description="The name it had before: its history stays.")


class DefaultsShape(Rules):
    """What every job has unless its agent or itself says otherwise."""

    enabled: Flag | None = _ENABLED


class AgentShape(WithAction):
    """An agent: an action with its surroundings and limits, and the schedules it works by."""

    enabled: Flag | None = _ENABLED
    max_concurrent: Annotated[int, whole(1, MAX_LIMIT, example=2)] | None = Field(
        None, description="How many of its runs may be under way at once. Default: 1."
    )
    schedules: dict[Name, FileJobShape] | None = Field(
        None, description="Its jobs, by name: the job nightly of the agent coder is coder/nightly."
    )


class FleetShape(Shape):
    """The fleet itself."""

    name: Name | None = Field(None, description='Default: "main".', examples=["home"])
    description: Text | None = Field(None, description="What it is for.")
    timezone: Zone | None = Field(
        None, description="The zone of every job that has none of its own.", examples=["Europe/Berlin"]
    )


class EngineShape(Shape):
    """Settings of the engine."""

    poll: Duration | None = Field(None, description="How often it looks without being asked. Default: 30s.")
    beat: Duration | None = Field(None, description="How often a worker shows that it lives. Default: 15s.")
    dead_after: Annotated[int, whole(1, 1_000, example=4)] | None = Field(
        None, description="After so many missed beats a worker is dead. Default: 4."
    )
    scan: Duration | None = Field(None, description="How often it looks for dead workers. Default: 5s.")
    snapshot: Duration | None = Field(None, description="How often runs and machine are looked at. Default: 60s.")
    fire_batch: Annotated[int, whole(1, MAX_LIMIT, example=1000)] | None = Field(
        None, description="How many due jobs one transaction fires. Default: 1000."
    )
    claim_batch: Annotated[int, whole(1, MAX_LIMIT, example=1000)] | None = Field(
        None, description="How many runs one transaction starts. Default: 1000."
    )
    max_concurrent: Annotated[int, whole(1, MAX_LIMIT, example=8)] | None = Field(
        None, description="How many runs may be under way in all."
    )
    max_jitter: DurationOrZero | None = Field(
        None, description="Over how long a crowd after an outage is spread. Default: 30s.", examples=["30s"]
    )
    jitter_threshold: Annotated[int, whole(0, MAX_LIMIT, example=3)] | None = Field(
        None, description="From how many on it is a crowd. Default: 3."
    )
    drain: DurationOrZero | None = Field(
        None, description="How long a stop waits for running work. Default: 30s.", examples=["30s"]
    )


PoolSize = Annotated[int, whole(0, MAX_LIMIT, example=2)]


class FileShape(Shape):
    """A fleet file."""

    fleet: Annotated[FleetShape, Group(dict, "{name: home}")] | None = Field(None, description="The fleet itself.")
    engine: Annotated[EngineShape, Group(dict, "{poll: 30s}")] | None = Field(
        None, description="Settings of the engine."
    )
    pools: Annotated[dict[Name, PoolSize], Group(dict, "{local: 2}")] | None = Field(
        None,
        description="How many runs each pool starts at once: local (child processes, 1), remote (http, 10), "
        "inline (python, 10), and pools of your own.",
        examples=[{"local": 2, "gpu": 1}],
    )
    defaults: DefaultsShape | None = Field(None, description="What every job has unless told otherwise.")
    agents: dict[Name, AgentShape] | None = Field(None, description="The agents, by name.")
    jobs: dict[Name, FileJobShape] | None = Field(None, description="Jobs that belong to no agent, by name.")
