"""Streams: every line once, in order, for many watchers, across reconnects, until the run or the server ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rota.api.application import Doors
from rota.api.routes import JOB, RUN
from rota.operations import jobs, output, runs
from rota.operations.events import EventReader
from rota.ports.caller import Role
from rota.ports.records import micros
from rota.testing import FakeClock
from tests.api.house import House, open_house, seed
from tests.stores import Servers, opened

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
WATCHERS, LINES = 200, 120


class Message(NamedTuple):
    id: str
    event: str
    data: Any


async def messages(response: Any) -> AsyncIterator[Message]:  # noqa: ANN401 - aiohttp's own
    """What a browser would make of a stream."""
    fields: dict[str, str] = {}
    async for raw in response.content:
        line = raw.decode().rstrip("\n")
        if not line:
            if "data" in fields:
                yield Message(fields.get("id", ""), fields["event"], json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


async def collect(house: House, path: str, *, most: int | None = None, after: str | None = None) -> list[Message]:
    """What a stream gives until it ends, or until there is enough."""
    found: list[Message] = []
    headers = {} if after is None else {"Last-Event-ID": after}
    async with house.open("GET", path, headers=headers) as response:
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert response.headers["Cache-Control"] == "no-store"
        async for message in messages(response):
            found.append(message)
            if most is not None and len(found) >= most:
                break
    return found


async def write_lines(house: House, run_id: str, first: int, last: int) -> None:
    at = micros(house.site.clock.now())
    rows = [(run_id, number, "stdout", at, f"line {number}\n") for number in range(first, last + 1)]
    await house.site.store.write(lambda tx: tx.insert_output(chunk=rows))


async def come_true(look: Callable[[], bool]) -> None:
    """Wait for a fact, without guessing how long it takes."""
    async with asyncio.timeout(20):
        while not look():
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that are looked at by readers."""
    calls: list[str] = []
    real = output.read_output

    async def counted(site: Any, *, run: str, **rest: Any) -> Any:  # noqa: ANN401
        calls.append(run)
        return await real(site, run=run, **rest)

    monkeypatch.setattr("rota.operations.following.read_output", counted)
    return calls


async def test_two_hundred_watch_one_run_and_half_of_them_come_back(
    each_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line once, in order, across a reconnect; and one reader for all of them."""
    house = each_house
    run_id = (await jobs.run_job(house.site, job=JOB)).run_id
    path = f"/api/v1/runs/{run_id}/output/stream"
    calls = count_calls(monkeypatch)

    async def steady() -> list[Message]:
        return await collect(house, path)

    async def leaving(most: int) -> list[Message]:
        first = await collect(house, path, most=most)
        return first + await collect(house, path, after=first[-1].id)

    async with asyncio.TaskGroup() as group:
        watching = [
            group.create_task(steady() if number % 2 else leaving(1 + number % LINES)) for number in range(WATCHERS)
        ]
        await come_true(lambda: run_id in house.doors.runs.readers)
        for first in range(1, LINES, 10):
            await write_lines(house, run_id, first, first + 9)
        await come_true(lambda: house.doors.runs.readers[run_id].ring.last == LINES)
        await runs.cancel_run(house.site, run=run_id)
    for task in watching:
        *lines, end = task.result()
        assert [message.data["sequence"] for message in lines] == list(range(1, LINES + 1))
        assert [message.id for message in lines] == [str(number) for number in range(1, LINES + 1)]
        assert {message.event for message in lines} == {"output"}
        assert (end.event, end.data["id"], end.data["state"]) == ("end", run_id, "cancelled")
    await come_true(lambda: not house.doors.runs.readers)
    assert len(calls) < WATCHERS


async def test_a_run_that_has_ended_is_told_whole_and_from_any_place(house: House) -> None:
    path = f"/api/v1/runs/{RUN}/output/stream"
    assert [message.id for message in await collect(house, path)] == ["1", "2", "3", "4", "5", ""]
    assert [message.id for message in await collect(house, path, after="3")] == ["4", "5", ""]
    assert [message.id for message in await collect(house, f"{path}?after=4")] == ["5", ""]
    assert [message.id for message in await collect(house, f"{path}?after=1", after="5")] == [""]
    assert [message.event for message in await collect(house, path, after="99")] == ["end"]
    assert house.doors.runs.readers == {}


async def test_whoever_is_behind_the_ring_reads_from_the_store(house: House) -> None:
    run_id = (await jobs.run_job(house.site, job=JOB)).run_id
    path = f"/api/v1/runs/{run_id}/output/stream"
    await write_lines(house, run_id, 1, 30)
    async with house.open("GET", f"{path}?after=25") as late:
        await come_true(lambda: run_id in house.doors.runs.readers and house.doors.runs.readers[run_id].ring.last == 30)
        reader = house.doors.runs.readers[run_id]
        assert reader.ring.floor == 25
        reader.ring._most_frames = 3
        watching = asyncio.create_task(collect(house, path))
        await write_lines(house, run_id, 31, 60)
        await come_true(lambda: reader.ring.last == 60)
        assert reader.ring.floor == 57
        await runs.cancel_run(house.site, run=run_id)
        seen = [message.data["sequence"] async for message in messages(late) if message.event == "output"]
        assert seen == list(range(26, 61))
        *lines, end = await watching
        assert [message.data["sequence"] for message in lines] == list(range(1, 61))
        assert end.event == "end"


async def test_one_who_asks_from_beyond_the_end_takes_nothing_from_the_others(house: House) -> None:
    run_id = (await jobs.run_job(house.site, job=JOB)).run_id
    path = f"/api/v1/runs/{run_id}/output/stream"
    await write_lines(house, run_id, 1, 5)
    async with house.open("GET", path, headers={"Last-Event-ID": "40"}) as ahead:
        await come_true(lambda: run_id in house.doors.runs.readers)
        watching = asyncio.create_task(collect(house, path))
        await come_true(lambda: house.doors.runs.readers[run_id].watchers == 2)
        for first in range(6, 50, 4):
            await write_lines(house, run_id, first, first + 3)
            await come_true(lambda last=first + 3: house.doors.runs.readers[run_id].ring.last == last)
        await runs.cancel_run(house.site, run=run_id)
        seen = [message.data["sequence"] async for message in messages(ahead) if message.event == "output"]
        assert seen == list(range(41, 50))
    *lines, end = await watching
    assert [message.data["sequence"] for message in lines] == list(range(1, 50))
    assert end.event == "end"


async def test_a_cut_in_the_output_is_a_gap_and_nothing_else(house: House) -> None:
    run_id = (await jobs.run_job(house.site, job=JOB)).run_id
    await write_lines(house, run_id, 1, 50)
    async with house.open("GET", f"/api/v1/runs/{run_id}/output/stream?after=40") as first:
        await come_true(lambda: run_id in house.doors.runs.readers and house.doors.runs.readers[run_id].ring.last == 50)
        await house.site.store.write(lambda tx: tx.trim_output(run_id=run_id, head=6, tail=45))
        watching = asyncio.create_task(collect(house, f"/api/v1/runs/{run_id}/output/stream"))
        await come_true(lambda: house.doors.runs.readers[run_id].watchers == 2)
        await runs.cancel_run(house.site, run=run_id)
        *lines, _ = await watching
        seen = [message.data["sequence"] for message in lines]
        assert seen == sorted(set(seen))
        assert {*range(1, 6), *range(45, 51)} <= set(seen)
        first.close()


async def test_a_reader_stops_when_the_last_watcher_leaves(house: House) -> None:
    run_id = (await jobs.run_job(house.site, job=JOB)).run_id
    one = await house.open("GET", f"/api/v1/runs/{run_id}/output/stream")
    two = await house.open("GET", f"/api/v1/runs/{run_id}/output/stream")
    await come_true(lambda: run_id in house.doors.runs.readers and house.doors.runs.readers[run_id].watchers == 2)
    task = house.doors.runs.readers[run_id].task
    one.close()
    await come_true(lambda: house.doors.runs.readers[run_id].watchers == 1)
    two.close()
    await come_true(lambda: not house.doors.runs.readers and task.done())


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "9" * 30])
async def test_a_place_that_is_none_is_refused_before_the_stream_begins(after: str, shared_house: House) -> None:
    path = f"/api/v1/runs/{RUN}/output/stream"
    for answer in (
        await shared_house.ask("GET", f"{path}?after={after}"),
        await shared_house.ask("GET", path, headers={"Last-Event-ID": after}),
        await shared_house.ask("GET", "/api/v1/events/stream", headers={"Last-Event-ID": after}),
    ):
        assert (answer.status, answer.json["field"]) == (422, "after")


async def test_a_run_that_is_not_there_has_no_stream(shared_house: House) -> None:
    assert (await shared_house.ask("GET", "/api/v1/runs/nothing/output/stream")).status == 404


async def test_events_are_heard_by_all_as_they_happen(each_house: House) -> None:
    house = each_house
    opened_streams = [await house.open("GET", "/api/v1/events/stream") for _ in range(30)]
    asked = [(await jobs.run_job(house.site, job=JOB)).run_id for _ in range(10)]
    for response in opened_streams:
        heard: list[str] = []
        async for message in messages(response):
            assert (message.event, message.id) == ("event", message.data["id"])
            if message.data["event"] == "run.requested":
                heard.append(message.data["run_id"])
            if len(heard) == len(asked):
                break
        assert heard == asked
        response.close()
    await come_true(lambda: house.doors.events.watchers == 0)
    assert house.doors.events.task is None


async def test_events_are_resumed_while_others_listen_each_once(each_house: House) -> None:
    house = each_house
    other = await house.open("GET", "/api/v1/events/stream")
    first = await house.open("GET", "/api/v1/events/stream")
    asked = [(await jobs.run_job(house.site, job=JOB)).run_id for _ in range(4)]
    seen: list[Message] = []
    async for message in messages(first):
        seen.append(message)
        if message.data["run_id"] == asked[1]:
            break
    first.close()
    asked += [(await jobs.run_job(house.site, job=JOB)).run_id for _ in range(4)]
    again = await house.open("GET", "/api/v1/events/stream", headers={"Last-Event-ID": seen[-1].id})
    async for message in messages(again):
        seen.append(message)
        if message.data["event"] == "run.requested" and message.data["run_id"] == asked[-1]:
            break
    again.close()
    other.close()
    ids = [message.id for message in seen]
    assert len(ids) == len(set(ids))
    assert [message.data["run_id"] for message in seen if message.data["event"] == "run.requested"] == asked


async def test_events_are_resumed_when_nobody_listened(each_house: House) -> None:
    """From the store: nothing is missed, and what comes twice has the same id."""
    house = each_house
    asked = [(await jobs.run_job(house.site, job=JOB)).run_id for _ in range(3)]
    known = (await house.ask("GET", "/api/v1/events?limit=1000")).json["items"]
    place = next(event["id"] for event in known if event["run_id"] == asked[0])
    asked += [(await jobs.run_job(house.site, job=JOB)).run_id for _ in range(3)]
    heard: dict[str, str] = {}
    async with house.open("GET", f"/api/v1/events/stream?after={place}") as response:
        async for message in messages(response):
            assert message.id not in heard
            heard[message.id] = message.data["run_id"]
            if len(heard) == 1:
                asked.append((await jobs.run_job(house.site, job=JOB)).run_id)
            if message.data["event"] == "run.requested" and message.data["run_id"] == asked[-1]:
                break
    assert set(asked[1:]) <= set(heard.values())


async def test_a_listener_who_falls_behind_the_ring_misses_nothing(house: House) -> None:
    events = house.doors.events
    stream = await events.join(None)
    place = events._ring.last
    assert (await anext(stream)).startswith(b"retry: ")
    events._ring._most_frames = 2
    asked = [(await jobs.run_job(house.site, job=JOB)).run_id for _ in range(5)]
    await come_true(lambda: events._ring.floor > place)
    text = b""
    while asked[-1].encode() not in text or text.count(b'"run.requested"') < len(asked):
        text += await anext(stream)
    requested = [json.loads(line[6:]) for line in text.decode().splitlines() if line.startswith("data: ")]
    assert [one["run_id"] for one in requested if one["event"] == "run.requested"] == asked
    await stream.aclose()
    events.leave()


async def test_silence_is_broken_by_heartbeats(tmp_path: Path, servers: Servers) -> None:
    clock = FakeClock(NOW)
    async with opened("sqlite", tmp_path, servers) as store, open_house(store, clock=clock) as house:
        await seed(house.site)
        run_id = (await jobs.run_job(house.site, job=JOB)).run_id
        for path in (f"/api/v1/runs/{run_id}/output/stream", "/api/v1/events/stream"):
            async with house.open("GET", path) as response:
                assert await response.content.readline() == b"retry: 1000\n"
                assert await response.content.readline() == b"\n"
                await come_true(lambda: clock.now() + timedelta(seconds=15) in [at for at, _ in clock._waiting])
                clock.set(clock.now() + timedelta(seconds=15))
                assert await response.content.readline() == b": still here\n"


async def test_a_stream_does_not_outlive_its_token(tmp_path: Path, servers: Servers) -> None:
    clock = FakeClock(NOW)
    async with opened("sqlite", tmp_path, servers) as store, open_house(store, clock=clock) as house:
        token = await house.token(Role.READ, expires_in="20s")
        async with house.open("GET", "/api/v1/events/stream", token=token) as response:
            assert await response.content.readline() == b"retry: 1000\n"
            ended = asyncio.create_task(response.content.read())
            for _ in range(2):
                later = clock.now() + timedelta(seconds=15)
                await come_true(lambda later=later: later in [at for at, _ in clock._waiting])
                clock.set(later)
            assert (await ended).count(b": still here") == 1


async def test_streams_end_when_the_server_stops(tmp_path: Path, servers: Servers) -> None:
    async with opened("sqlite", tmp_path, servers) as store:
        async with open_house(store) as house:
            await seed(house.site)
            run_id = (await jobs.run_job(house.site, job=JOB)).run_id
            paths = [f"/api/v1/runs/{run_id}/output/stream", "/api/v1/events/stream"] * 20
            streams = [await house.open("GET", path) for path in paths]
            await come_true(lambda: house.doors.events.watchers == 20)
            house.stopped.set()
            # Each ends as it should, not by a connection that breaks.
            assert [(await stream.read())[:6] for stream in streams] == [b"retry:"] * 40
        assert house.doors.runs.readers == {}
        assert house.doors.events.task is None


async def test_the_reader_of_events_begins_where_the_first_listener_joins(house: House) -> None:
    doors: Doors = house.doors
    assert doors.events.task is None
    assert await EventReader(house.site).read() == []
    before = (await jobs.run_job(house.site, job=JOB)).run_id
    async with house.open("GET", "/api/v1/events/stream") as response:
        after = (await jobs.run_job(house.site, job=JOB)).run_id
        heard = [message async for message in first_of(response)]
    assert [message.data["run_id"] for message in heard] == [after]
    assert before != after


async def first_of(response: Any) -> AsyncIterator[Message]:  # noqa: ANN401
    async for message in messages(response):
        yield message
        return
