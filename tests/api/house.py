"""A real server on a real store, asked over real HTTP; and a store in which the documented examples make sense."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from yarl import URL

from rota.api.application import Doors, make_application
from rota.api.faces import HEADERS, Face, Place
from rota.api.metrics import Meter
from rota.api.routes import AGENT, JOB, PROPOSED, RUN, TOKEN, WORDS
from rota.api.server import serve
from rota.app import make_site
from rota.core.run import Cause, RunState
from rota.ledger.rows import queue_row, run_row
from rota.ledger.site import Site
from rota.operations import hints, jobs, limits, tokens
from rota.operations.premises import Premises
from rota.ports.caller import Role
from rota.ports.clock import Clock
from rota.ports.records import JobRecord, instant, micros
from rota.ports.store import Store, Transaction

WAITING = "run_0650a1b2c3d4e60000a1b2c3d4"
RUNNING = "run_0650a1b2c3d4e70000a1b2c3d4"
FENCING_TOKEN = 7


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON is anything
        return json.loads(self.text)


class House:
    """A server, and somebody with a token for everything who asks it."""

    def __init__(self, site: Site, url: str, doors: Doors, client: aiohttp.ClientSession, admin: str) -> None:
        self.site = site
        self.url = url
        self.doors = doors
        self.client = client
        self.admin = admin
        self.stopped = asyncio.Event()

    async def token(self, role: Role, **fields: Any) -> str:  # noqa: ANN401
        return (await tokens.create_token(self.site, name=f"a {role}", role=role, **fields)).token

    async def ask(
        self,
        method: str,
        path: str,
        *,
        token: str | None = "",
        headers: Mapping[str, str] | None = None,
        **body: Any,  # noqa: ANN401
    ) -> Answer:
        """Ask and read the whole answer. Without another token the admin asks; ``None`` is nobody."""
        async with self.open(method, path, token=token, headers=headers, **body) as response:
            return Answer(response.status, response.headers, await response.text())

    def open(
        self,
        method: str,
        path: str,
        *,
        token: str | None = "",
        headers: Mapping[str, str] | None = None,
        **body: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401 - aiohttp's own
        secret = self.admin if token == "" else token
        authorization = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        target = URL(self.url + path, encoded=True)
        return self.client.request(method, target, headers={**authorization, **(headers or {})}, **body)

    async def ask_example(self, face: Face, **options: Any) -> Answer:  # noqa: ANN401
        """Ask as the document says."""
        method, path, rest = example_request(face)
        headers = {**rest.pop("headers"), **options.pop("headers", {})}
        return await self.ask(method, path, headers=headers, **rest, **options)


def example_request(face: Face) -> tuple[str, str, dict[str, Any]]:
    """Method, path and the rest of a request made of the documented examples."""
    examples = face.route.examples
    path = face.route.full_path
    for one in face.at(Place.PATH):
        path = path.replace(f"{{{one.name}}}", quote(str(examples[one.name]), safe=""))
    asked = {one.name: examples[one.name] for one in face.at(Place.QUERY)}
    query = urlencode(
        {name: str(one).lower() if isinstance(one, bool) else one for name, one in asked.items()}, doseq=True
    )
    headers = {HEADERS[one.name]: str(examples[one.name]) for one in face.at(Place.HEADER)}
    rest: dict[str, Any] = {"headers": headers}
    if face.at(Place.BODY):
        rest["json"] = {one.name: examples[one.name] for one in face.at(Place.BODY)}
    return face.route.method, f"{path}?{query}" if query else path, rest


@asynccontextmanager
async def open_house(
    store: Store,
    *,
    hosts: Sequence[str] = (),
    clock: Clock | None = None,
    meter: Meter | None = None,
    is_ready: Callable[[], bool] = lambda: True,
) -> AsyncIterator[House]:
    """A server for as long as the block lasts."""
    site = make_site(store)
    site = site if clock is None else msgspec.structs.replace(site, clock=clock)
    application = make_application(site, premises(), hosts=hosts, meter=meter, is_ready=is_ready)
    admin = (await tokens.create_token(site, name="admin", role=Role.ADMIN)).token
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as client:
        stopped = asyncio.Event()
        serving = asyncio.create_task(
            serve(application, host="127.0.0.1", port=0, on_started=address.set_result, stopped=stopped)
        )
        house = House(site, await address, application.state.doors, client, admin)
        house.stopped = stopped
        try:
            yield house
        finally:
            stopped.set()
            await serving


def premises() -> Premises:
    return Premises(database="rota.db", token_file="rota.token", log_folder=".", is_serving=True)  # noqa: S106


async def seed(site: Site) -> None:
    """Everything that the documented examples speak of."""
    await jobs.add_job(site, name=JOB, definition=WORDS, agent=AGENT)
    await jobs.propose_job(site, name=PROPOSED, definition=WORDS, agent=AGENT)
    await hints.set_hint(site, job=JOB, every="30m", reason="the build is red")
    await limits.set_limit(site, name="local", size=4)
    await tokens.create_token(site, name=TOKEN, role=Role.READ)
    job = await jobs.find_job(site, JOB)
    await site.store.write(lambda tx: _insert_runs(tx, site, job))


async def _insert_runs(tx: Transaction, site: Site, job: JobRecord) -> None:
    at = instant(int(RUN[4:18], 16))
    trace = "0" * 32
    ended = run_row(RUN, job, now=at, cause=Cause.MANUAL, trace_id=trace, state=RunState.SUCCEEDED, input="hello")
    waiting = run_row(WAITING, job, now=at, cause=Cause.MANUAL, trace_id=trace)
    await tx.insert_runs(new=[ended, waiting])
    await tx.enqueue(new=[queue_row(WAITING, job, cause=Cause.MANUAL, start_after=site.clock.now())])
    await tx.insert_output(chunk=[(RUN, number, "stdout", micros(at), f"line {number}\n") for number in range(1, 6)])


async def start_run(site: Site, job: str = JOB, run_id: str = RUNNING) -> str:
    """A run under way, and the token that it has."""
    record, now = await jobs.find_job(site, job), micros(site.clock.now())
    columns = (
        run_id,
        record.id,
        record.name,
        "0" * 32,
        record.agent,
        "manual",
        "local",
        None,
        None,
        now,
        0,
        None,
        "[]",
    )
    await site.store.write(
        lambda tx: tx.insert_started_runs(new=[columns], now=now, worker=site.worker, token=FENCING_TOKEN)
    )
    return tokens.run_token(await tokens.run_signing_key(site), run_id, FENCING_TOKEN)


async def end_run(site: Site, run_id: str) -> None:
    row = (run_id, "succeeded", *[None] * 8)
    await site.store.write(lambda tx: tx.end_runs(ended=[row], now=micros(site.clock.now())))
