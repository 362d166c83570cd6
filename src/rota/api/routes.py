"""The HTTP face of every operation: its method, its path, how it answers, and an example of each parameter."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

PREFIX = "/api/v1"

JOB = "coder/nightly"
PROPOSED = "coder/proposal"
AGENT = "coder"
RUN = "run_0650a1b2c3d4e50000a1b2c3d4"
EVENT = "evt_0650a1b2c3d4e50000a1b2c3d4.0"
TOKEN = "ci"  # noqa: S105 - its name, not its secret
BEGIN, END = "2025-01-01T00:00:00Z", "2025-01-08T00:00:00Z"
LATER = "2040-01-01T09:00:00Z"
WORDS = {"cron": "0 3 * * *", "command": ["/bin/echo", "good night"], "timeout": "10m"}
SOURCE = {
    "text": 'jobs:\n  hello:\n    every: 5m\n    command: ["/bin/echo", "hello"]\n',
    "file": "rota.yaml",
    "environment": {},
    "timezone": "Europe/Berlin",
}


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where an operation is found. What is asked is read from its signature."""

    operation: str
    method: str
    path: str
    status: int = 200
    refusals: tuple[int, ...] = ()
    """What the operation itself may answer instead, besides what every request may get."""
    location: str | None = None
    """Where to find what was made, filled in from the answer."""
    examples: Mapping[str, object] = {}

    @property
    def full_path(self) -> str:
        return PREFIX + self.path


def _get(operation: str, path: str, *refusals: int, **examples: object) -> Route:
    return Route(operation=operation, method="GET", path=path, refusals=refusals, examples=examples)


def _post(operation: str, path: str, *refusals: int, **examples: object) -> Route:
    return Route(operation=operation, method="POST", path=path, refusals=refusals, examples=examples)


def _put(operation: str, path: str, *refusals: int, **examples: object) -> Route:
    return Route(operation=operation, method="PUT", path=path, refusals=refusals, examples=examples)


def _delete(operation: str, path: str, *refusals: int, **examples: object) -> Route:
    return Route(operation=operation, method="DELETE", path=path, refusals=refusals, examples=examples)


def _made(route: Route, status: int, location: str | None = None) -> Route:
    return msgspec.structs.replace(route, status=status, location=location)


_LOOKS = (
    _get("overview.show", "/overview"),
    _get("timeline.show", "/timeline", begin=BEGIN, end=END, agent=AGENT, contains="night", lanes=30),
)

_JOBS = (
    _get(
        "job.list",
        "/jobs",
        agent=AGENT,
        status="idle",
        fleet="main",
        contains="night",
        failing=False,
        after="a",
        limit=50,
    ),
    _made(
        _post("job.add", "/jobs", 409, name="coder/weekly", definition=WORDS, agent=AGENT, timezone="Europe/Berlin"),
        201,
        "/jobs/{name}",
    ),
    _made(
        _post(
            "job.propose", "/proposals", 409, name="coder/idea", definition=WORDS, agent=AGENT, timezone="Europe/Berlin"
        ),
        201,
        "/jobs/{name}",
    ),
    _post(
        "job.preview",
        "/jobs/preview",
        text="every: 5m\ncommand: [/bin/echo, hello]\n",
        definition={"quiet": "22:00-07:00"},
        name="coder/weekly",
        agent=AGENT,
        timezone="Europe/Berlin",
    ),
    _get("job.show", "/jobs/{job}", 404, 409, job=JOB),
    _put("job.edit", "/jobs/{job}", 404, 409, 412, job=JOB, definition=WORDS, version='"1"', timezone="Europe/Berlin"),
    _delete("job.remove", "/jobs/{job}", 404, 409, 412, job=JOB, version="*"),
    _post("job.pause", "/jobs/{job}/pause", 404, 409, job=JOB, until=LATER, note="until the release is out"),
    _post("job.resume", "/jobs/{job}/resume", 404, 409, job=JOB),
    _post("job.enable", "/jobs/{job}/enable", 404, 409, job=JOB),
    _post("job.disable", "/jobs/{job}/disable", 404, 409, job=JOB),
    _post("job.accept", "/jobs/{job}/accept", 404, 409, job=PROPOSED),
    _made(
        _post("job.run", "/jobs/{job}/run", 404, 409, job=JOB, key="deploy-4711", input='{"ticket": 4711}'),
        202,
        "/runs/{run_id}",
    ),
    _get("job.next", "/jobs/{job}/next", 404, 409, job=JOB, count=5),
    _get("job.why", "/jobs/{job}/why", 404, 409, job=JOB, at=BEGIN),
    _get("job.history", "/jobs/{job}/history", 404, 409, job=JOB),
    _get("job.outcomes", "/outcomes", job=[JOB], limit=30, after="a"),
    _get("job.chain", "/jobs/{job}/chain", 404, 409, job=JOB),
)

_RUNS = (
    _get(
        "run.list",
        "/runs",
        404,
        409,
        job=JOB,
        agent=AGENT,
        state=["failed", "timed_out"],
        cause="schedule",
        priority=1,
        since=BEGIN,
        until=END,
        after=RUN,
        limit=50,
    ),
    _get(
        "run.count",
        "/runs/count",
        404,
        409,
        job=JOB,
        agent=AGENT,
        state=["failed", "timed_out"],
        cause="schedule",
        priority=1,
        since=BEGIN,
        until=END,
    ),
    _get("run.show", "/runs/{run}", 404, 409, run=RUN),
    _get("run.why", "/runs/{run}/why", 404, 409, run=RUN),
    _get("run.family", "/runs/{run}/family", 404, 409, run=RUN),
    _get("run.output", "/runs/{run}/output", 404, 409, run=RUN, after=0, before=4, limit=500, most_bytes=65536),
    _get("run.follow", "/runs/{run}/output/stream", 404, 409, run=RUN, after=0),
    _post("run.cancel", "/runs/{run}/cancel", 404, 409, run="run_0650a1b2c3d4e60000a1b2c3d4", reason="by_hand"),
    _made(_post("run.retry", "/runs/{run}/retry", 404, 409, run=RUN, key="again-4711"), 202, "/runs/{run_id}"),
    _post("run.cancel_many", "/runs/cancel", runs=["run_0650a1b2c3d4e70000a1b2c3d4"], reason="by_hand"),
    _post("run.retry_many", "/runs/retry", runs=[RUN]),
)

_REST = (
    _get("event.list", "/events", after=EVENT, limit=50),
    _get("event.follow", "/events/stream", after=EVENT),
    _get(
        "schedule.preview",
        "/schedules/preview",
        schedule="0 9 * * mon-fri",
        timezone="Europe/Berlin",
        count=5,
        after=BEGIN,
    ),
    _get("fleet.next", "/fleet/next", count=10),
    _post("fleet.check", "/fleet/check", source=SOURCE),
    _post("fleet.diff", "/fleet/diff", 409, source=SOURCE, takes_over=False),
    _post("fleet.apply", "/fleet/apply", 409, source=SOURCE, takes_over=False),
    _get("fleet.schema", "/fleet/schema"),
    _get("fleet.example", "/fleet/example", programs=["claude"], timezone="Europe/Berlin", folder="fleet"),
    _get("fleet.simulate", "/fleet/simulate", 404, days=7, agent=AGENT, begin=LATER),
    _get("backfill.preview", "/jobs/{job}/backfill", 404, 409, job=JOB, begin=BEGIN, end=END, per_minute=60),
    _made(
        _post("backfill.start", "/jobs/{job}/backfill", 404, 409, job=JOB, begin=BEGIN, end=END, per_minute=60),
        201,
        "/runs?job={job}&cause=backfill",
    ),
    _get("hint.list", "/hints", 404, 409, job=JOB),
    _post(
        "hint.set",
        "/jobs/{job}/hints",
        404,
        409,
        job=JOB,
        every="30m",
        at=None,
        pause_until=None,
        ttl="2h",
        reason="the build is red",
    ),
    _delete("hint.revert", "/jobs/{job}/hints", 404, 409, job=JOB, kind="interval"),
    _get("agent.list", "/agents"),
    _get("agent.show", "/agents/{agent}", 404, agent=AGENT),
    _get("pool.list", "/pools"),
    _put("pool.set", "/pools/{name}", 404, name="local", size=4, scope="pool"),
    _get("worker.list", "/workers", limit=50),
    _get("settings.show", "/settings"),
    _get("worker.snapshots", "/workers/snapshots", worker="wrk_1", since=BEGIN, limit=120),
    _get("worker.heartbeats", "/workers/heartbeats"),
    _get("doctor.check", "/doctor"),
    _get("db.check", "/db/check"),
    _post("db.migrate", "/db/migrate"),
    _post("db.vacuum", "/db/vacuum"),
    _made(_post("token.create", "/tokens", name="dashboard", role="read", expires_in="90d"), 201),
    _get("token.list", "/tokens"),
    _delete("token.revoke", "/tokens/{token}", 404, 409, token=TOKEN),
    _made(_post("token.link", "/login-links", role="read"), 201),
    _get("audit.list", "/audit", subject=JOB, contains="night", after="adt_0650a1b2c3d4e50000a1b2c3d4", limit=50),
)
ROUTES: tuple[Route, ...] = (*_LOOKS, *_JOBS, *_RUNS, *_REST)
