"""Servers that misbehave, or are not there: requests stay bounded, end when told to, and say what to do."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import ssl
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from rota.actions.http import Http
from rota.actions.http_answer import KEPT
from rota.core.run import RunState
from tests.actions.bench import IS_LONG, MEGABYTE, Shelf, make_output, until, yes
from tests.actions.test_http import LOOPBACK, client, perform, request

pytestmark = pytest.mark.anyio

OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


class Peer:
    """What a raw server has seen of its callers."""

    def __init__(self) -> None:
        self.calls = 0
        self.pieces = 0
        self.is_gone = asyncio.Event()


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter, Peer], Awaitable[None]]


@asynccontextmanager
async def talking(talk: Talk, context: ssl.SSLContext | None = None) -> AsyncIterator[tuple[str, Peer]]:
    """A server that says whatever it likes."""
    peer = Peer()
    tasks: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer.calls += 1
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await talk(reader, writer, peer)
        peer.is_gone.set()
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(answer(reader, writer))
        tasks.add(task)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", peer
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def saying(data: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: Peer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(data)
        await writer.drain()

    return talk


def repeating(first: bytes, piece: bytes) -> Talk:
    """Without end, as fast as it is read."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(first)
        while True:
            writer.write(piece)
            await writer.drain()
            peer.pieces += 1
            await anyio.lowlevel.checkpoint()

    return talk


async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter, peer: Peer) -> None:
    await reader.readuntil(b"\r\n\r\n")
    peer.pieces += 10
    await reader.read()


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(OK + b"Content-Length: 1000000\r\n\r\n")
    while not reader.at_eof():
        writer.write(b".")
        await writer.drain()
        peer.pieces += 1
        with suppress(TimeoutError):
            async with asyncio.timeout(0.005):
                await reader.read(1)


async def dripping_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not reader.at_eof():
        writer.write(b".")
        await writer.drain()
        peer.pieces += 1
        with suppress(TimeoutError):
            async with asyncio.timeout(0.005):
                await reader.read(1)


async def not_listening(_: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer) -> None:
    """Takes a connection, and never reads."""
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    peer.pieces += 10
    await asyncio.Event().wait()


@pytest.mark.parametrize("talk", [silent, dripping, dripping_headers], ids=lambda talk: talk.__name__)
async def test_request_ends_at_once_and_hangs_up_when_its_run_is_cancelled(talk: Talk) -> None:
    """Cancelling `perform` ends the work, for certain, before it returns."""
    async with talking(talk) as (url, peer), client() as http:
        work = request(url)
        task = asyncio.create_task(http.perform(work, make_output(work, Shelf()), yes))
        await until(lambda: peer.pieces >= 10)
        assert not task.done()
        task.cancel()
        with anyio.fail_after(1), pytest.raises(asyncio.CancelledError):
            await task
        with anyio.fail_after(5):
            await peer.is_gone.wait()


async def test_request_ends_at_once_when_its_run_is_cancelled_while_it_is_sent() -> None:
    async with talking(not_listening) as (url, peer), client() as http:
        work = request(url, method="POST", body="x" * (32 * MEGABYTE))
        task = asyncio.create_task(http.perform(work, make_output(work, Shelf()), yes))
        await until(lambda: peer.pieces)
        task.cancel()
        with anyio.fail_after(1), pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("talk", [silent, dripping], ids=lambda talk: talk.__name__)
async def test_timeout_is_the_run_s_own_when_an_answer_is_slow(talk: Talk) -> None:
    """Slow drip: bounded."""
    async with talking(talk) as (url, peer), client() as http:
        work = request(url)
        with anyio.fail_after(5), pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await http.perform(work, make_output(work, Shelf()), yes)
        assert peer.calls == 1


async def test_output_is_live_when_an_answer_comes_slowly() -> None:
    async with talking(dripping) as (url, _), client() as http:
        work = request(url)
        output = make_output(work, Shelf())
        task = asyncio.create_task(http.perform(work, output, yes))
        await until(lambda: output.tail().startswith("....."))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await output.finish()


async def test_answer_is_enough_when_a_server_does_not_read_the_body() -> None:
    async def hasty(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: Peer) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        await asyncio.Event().wait()

    async with talking(hasty) as (url, _):
        with anyio.fail_after(5):
            result, _shelf = await perform(request(url, method="POST", body="x" * (32 * MEGABYTE)))
    assert (result.outcome.http_status, result.response) == (413, "no")


@pytest.mark.parametrize(
    "head", [b"\r\n", b"Content-Length: 99999999999\r\n\r\n"], ids=["until it closes", "a long length"]
)
async def test_reading_stops_when_a_body_has_no_end(head: bytes) -> None:
    async with talking(repeating(OK + head, b"x" * 65_536)) as (url, peer):
        with anyio.fail_after(10):
            result, shelf = await perform(request(url))
            await peer.is_gone.wait()
    assert (result.response, shelf.text()) == ("x" * KEPT + "\n[cut]", "x" * KEPT)
    assert result.outcome.state == RunState.SUCCEEDED


@pytest.mark.parametrize("members", [1, 16])
async def test_memory_stays_small_when_the_body_is_a_gzip_bomb(members: int) -> None:
    """Size cap after decompression."""
    bomb = gzip.compress(bytes((256 if IS_LONG else 64) * MEGABYTE)) * members
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    async with talking(saying(head + bomb)) as (url, _):
        tracemalloc.start()
        try:
            result, shelf = await perform(request(url))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak - len(bomb) < 20 * MEGABYTE
    assert result.response == "\ufffd" * (KEPT // 3) + "\n[cut]"
    assert len(shelf.text()) == KEPT // 3


@pytest.mark.parametrize("line", [b"X-%d: y\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"x" * 65_536])
async def test_request_ends_when_the_head_of_an_answer_has_no_end(line: bytes) -> None:
    first = b"" if line.startswith(b"HTTP") else b"HTTP/1.1 200 OK\r\n"
    async with talking(repeating(first, line)) as (url, _), client() as http:
        work = request(url)
        with anyio.fail_after(10), suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                result = await http.perform(work, make_output(work, Shelf()), yes)
                assert (result.outcome.state, result.outcome.reason) == (RunState.FAILED, "connection")
                assert len(result.outcome.error) < 2_000


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (b"", "closed the connection before its answer"),
        (b"HTTP/1.1 200", "closed the connection before its answer"),
        (OK + b"Content-Length: 9\r\n\r\nhalf", "is not whole"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhalf", "is not whole"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "is not "),
        (OK + b"Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\nno gzip", "is not "),
        (OK + b"Content-Encoding: br\r\nContent-Length: 5\r\n\r\nno br", "is not "),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "is not valid HTTP"),
        (b"HTTP/1.1 abc\r\n\r\n", "is not valid HTTP"),
    ],
)
async def test_run_fails_with_a_cure_and_is_sent_once_when_the_answer_is_broken(said: bytes, sentence: str) -> None:
    """Another attempt is for the job's `retry` to allow; GET is no exception."""
    async with talking(saying(said)) as (url, peer):
        outcome = (await perform(request(f"{url}/x")))[0].outcome
    assert (outcome.state, outcome.reason) == (RunState.FAILED, "connection")
    assert outcome.error.startswith(f"GET {url}/x: ")
    assert sentence in outcome.error
    assert outcome.error.endswith(("look into its log", "check the URL's port"))
    assert peer.calls == 1


async def test_run_fails_with_a_cure_when_nothing_listens() -> None:
    async with talking(silent) as (url, _):
        pass
    result, shelf = await perform(request(url.replace("//", "//me:hunter2@")))
    assert (result.outcome.state, result.outcome.reason, shelf.text()) == (RunState.FAILED, "connection", "")
    place = url.removeprefix("http://")
    assert result.outcome.error.startswith(f"GET {url}: no connection to {place} (")
    assert result.outcome.error.endswith("; check that the service runs and the URL's port")


async def test_run_fails_with_a_cure_when_the_host_is_unknown() -> None:
    outcome = (await perform(request("http://no-such-host.invalid/tick")))[0].outcome
    assert (outcome.state, outcome.reason) == (RunState.FAILED, "connection")
    assert outcome.error.startswith("GET http://no-such-host.invalid/tick: the host no-such-host.invalid was not found")
    assert outcome.error.endswith("; check its name and the DNS")


async def test_run_fails_with_a_cure_when_the_server_speaks_no_tls() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: Peer) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with talking(plain) as (url, _):
        outcome = (await perform(request(url.replace("http", "https"))))[0].outcome
    assert (outcome.state, outcome.reason) == (RunState.FAILED, "connection")
    assert outcome.error.endswith("check the URL's scheme and port")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
async def test_run_fails_with_a_cure_when_nobody_vouches_for_a_certificate(tmp_path: Path) -> None:
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout key -out certificate"
    await anyio.run_process(made.split(), cwd=tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    async with talking(saying(OK + b"\r\nsecret"), context) as (url, peer):
        result, _ = await perform(request(url.replace("http", "https")))
    assert (result.outcome.state, result.outcome.reason) == (RunState.FAILED, "connection")
    assert "is not trusted" in result.outcome.error
    assert result.outcome.error.endswith("renew it or trust its issuer")
    assert (result.response, peer.pieces) == (None, 0)


async def test_request_can_be_sent_when_the_session_was_closed_before() -> None:
    http = Http(allowed=LOOPBACK)
    async with talking(saying(OK + b"\r\nhello")) as (url, _):
        for _turn in range(2):
            assert (await perform(request(url), http))[0].response == "hello"
            await http.close()
    await http.close()


async def test_our_proxy_settings_stay_here_when_a_request_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with talking(saying(OK + b"\r\n")) as (url, _):
        assert (await perform(request(url)))[0].outcome.state == RunState.SUCCEEDED


async def test_each_run_has_a_connection_of_its_own_when_a_server_would_keep_it_open() -> None:
    """A server may close a kept one just as the next run is sent, and that run would fail for nothing."""

    async def keeping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: Peer) -> None:
        while not reader.at_eof():
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    async with talking(keeping) as (url, peer), client() as http:
        for _turn in range(3):
            assert (await perform(request(url), http))[0].response == "hi"
    assert peer.calls == 3
