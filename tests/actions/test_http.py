"""Requests: what a server is sent, what is kept of its answer, and what is said before (SPEC section 5)."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver

from rota.actions.http import Http
from rota.actions.http_answer import KEPT
from rota.core.definition import HttpAction, PythonAction
from rota.core.run import RunState
from rota.ports.action import Result, Work
from tests.actions.bench import Shelf, make_output, make_work, unique, yes

pytestmark = pytest.mark.anyio

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1"))
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Seen:
    """A server that answers all alike and remembers what it was sent."""

    def __init__(self, answer: Callable[[], web.StreamResponse] = web.Response) -> None:
        self._answer = answer
        self.requests: list[web.BaseRequest] = []
        self.bodies: list[bytes] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.content.read())
        return self._answer()


@asynccontextmanager
async def serving(handler: Handler, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """A server on a free port of this machine, by its URL."""
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, host, 0)
    await site.start()
    try:
        yield f"http://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def client(resolver: AbstractResolver | None = None) -> AsyncIterator[Http]:
    http = Http(allowed=LOOPBACK, resolver=resolver)
    try:
        yield http
    finally:
        await http.close()


def request(url: str, **given: Any) -> Work:  # noqa: ANN401 - the structs check it
    facts = {name: given.pop(name) for name in ("input", "token", "agent", "attempt") if name in given}
    return make_work(HttpAction(url=url, **given), **facts)


async def perform(work: Work, http: Http | None = None) -> tuple[Result, Shelf]:
    """Do the work to its end, with everything kept."""
    shelf = Shelf()
    output = make_output(work, shelf)
    try:
        async with client() as own:
            return await (http or own).perform(work, output, yes), shelf
    finally:
        await output.finish()


async def answered(body: bytes, **given: Any) -> tuple[Result, Shelf]:  # noqa: ANN401 - the server checks it
    async with serving(Seen(lambda: web.Response(body=body, **given))) as url:
        return await perform(request(url))


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
async def test_method_arrives_when_it_is_given(method: str) -> None:
    async with serving(seen := Seen()) as url:
        result, _ = await perform(request(f"{url}/a%20b?c=d&e=%2F#f", method=method))
    assert result.outcome.state == RunState.SUCCEEDED
    assert [(sent.method, sent.raw_path) for sent in seen.requests] == [(method, "/a%20b?c=d&e=%2F")]


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("", "/"),
        ("?q=1", "/?q=1"),
        ("/a/../b//c;d", "/a/../b//c;d"),
        ("/%7Eme%2f%41?sig=a%2Fb%2B%3D+&x", "/%7Eme%2f%41?sig=a%2Fb%2B%3D+&x"),
        ("/ü?ö=€", "/%C3%BC?%C3%B6=%E2%82%AC"),
        ('/"<{|}>', "/%22%3C%7B%7C%7D%3E"),
    ],
)
async def test_url_is_sent_as_it_is_written_when_it_needs_no_quotes(written: str, sent: str) -> None:
    async with serving(seen := Seen()) as url:
        result, _ = await perform(request(url + written))
    assert (result.outcome.state, [one.raw_path for one in seen.requests]) == (RunState.SUCCEEDED, [sent])


async def test_credentials_of_the_url_arrive_as_basic_authorization_when_given() -> None:
    async with serving(seen := Seen()) as url:
        await perform(request(url.replace("//", "//me:a%40b@")))
    assert seen.requests[0].headers["Authorization"] == "Basic bWU6YUBi"


async def test_headers_and_body_arrive_when_they_are_given() -> None:
    headers = {"X-Colour": "blü", "Accept": "text/csv", "content-type": "text/csv"}
    async with serving(seen := Seen()) as url:
        await perform(request(url, method="POST", headers=headers, body="a;ü\r\n", input="not this"))
    (sent,) = seen.requests
    assert {name: sent.headers[name] for name in headers} == headers
    assert sent.headers.getall("Content-Type") == ["text/csv"]
    assert seen.bodies == ["a;ü\r\n".encode()]


@pytest.mark.parametrize(
    ("body", "kind"), [('{"a": 1}', "application/json"), ("a=1", "text/plain; charset=utf-8"), ("", None)]
)
async def test_type_of_the_body_is_told_when_the_job_does_not_say(body: str, kind: str | None) -> None:
    async with serving(seen := Seen()) as url:
        await perform(request(url, method="POST", body=body))
    assert seen.bodies == [body.encode()]
    assert kind in (None, seen.requests[0].headers["Content-Type"])


async def test_input_is_the_body_when_the_job_has_none() -> None:
    """Its input (webhook body, chat text, parent's output; ≤ 1 MiB)."""
    text = "ü" * 500_000
    async with serving(seen := Seen()) as url:
        await perform(request(url, method="POST", input=text))
    assert seen.bodies == [text.encode()]


async def test_server_knows_the_run_when_it_is_called() -> None:
    """HTTP gets the same as headers, with `Idempotency-Key`."""
    async with serving(seen := Seen()) as url:
        work = request(url, agent="claude", attempt=3, token=41)
        await perform(work)
    sent = seen.requests[0].headers
    named = ("Rota-Run-Id", "Rota-Job", "Rota-Agent", "Rota-Attempt", "Rota-Trace-Id", "Rota-Fencing-Token")
    assert [sent[name] for name in named] == [work.run_id, "nightly", "claude", "3", work.trace_id, "41"]
    assert (sent["Idempotency-Key"], sent["Traceparent"]) == (work.run_id, work.identity["TRACEPARENT"])


async def test_identity_wins_when_the_job_sets_the_same_names() -> None:
    forged = {"rota-run-id": "forged", "ROTA-FENCING-TOKEN": "999", "idempotency-key": "x", "traceparent": "y"}
    async with serving(seen := Seen()) as url:
        work = request(url, headers=forged)
        await perform(work)
    sent = seen.requests[0].headers
    assert [sent.getall(name) for name in forged] == [
        [work.run_id],
        ["7"],
        [work.run_id],
        [work.identity["TRACEPARENT"]],
    ]


async def test_agent_is_not_named_when_there_is_none() -> None:
    async with serving(seen := Seen()) as url:
        await perform(request(url))
    assert "Rota-Agent" not in seen.requests[0].headers


async def test_url_is_allowed_when_its_scheme_is_in_capitals() -> None:
    async with serving(Seen()) as url, client() as http:
        work = request(url.replace("http", "HTTP"))
        assert await http.preflight(work) is None
        assert (await perform(work, http))[0].outcome.http_status == 200


async def test_jobs_share_no_cookies_when_they_call_the_same_host() -> None:
    seen = Seen(lambda: web.Response(headers={"Set-Cookie": "session=hunter2; Path=/"}))
    async with serving(seen) as url, client() as http:
        for _ in range(2):
            await perform(request(url.replace("127.0.0.1", "localhost")), http)
    assert [dict(sent.cookies) for sent in seen.requests] == [{}, {}]


@pytest.mark.parametrize("status", [200, 201, 204, 206, 299])
async def test_run_succeeds_when_the_status_is_between_200_and_299(status: int) -> None:
    async with serving(Seen(lambda: web.Response(status=status))) as url:
        result, _ = await perform(request(url))
    assert (result.outcome.state, result.outcome.http_status) == (RunState.SUCCEEDED, status)


@pytest.mark.parametrize("status", [304, 400, 401, 403, 404, 408, 409, 410, 425, 429, 500, 502, 503, 504, 599])
async def test_run_fails_and_may_be_tried_again_when_the_status_is_not_expected(status: int) -> None:
    """Only a failed preflight is permanent."""
    async with serving(seen := Seen(lambda: web.Response(status=status, text="last words"))) as url:
        outcome = (await perform(request(url)))[0].outcome
    assert (outcome.state, outcome.reason, outcome.http_status) == (RunState.FAILED, "status", status)
    assert outcome.error == f"HTTP status {status}, expected 200-299"
    assert outcome.output == ("" if status == 304 else "last words")
    assert len(seen.requests) == 1


@pytest.mark.parametrize(("status", "state"), [(404, "succeeded"), (302, "succeeded"), (200, "failed")])
async def test_expected_status_decides_when_it_is_given(status: int, state: str) -> None:
    """Success is exit code 0 or the expected status."""
    async with serving(Seen(lambda: web.Response(status=status))) as url:
        outcome = (await perform(request(url, expect=(302, 404))))[0].outcome
    assert (outcome.state, outcome.error) == (state, "HTTP status 200, expected 302, 404" if status == 200 else "")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_redirect_is_not_followed_when_a_server_asks_for_it(status: int, method: str) -> None:
    """Redirects off by default."""
    async with serving(other := Seen()) as there:
        first = Seen(lambda: web.Response(status=status, headers={"Location": f"{there}/x"}))
        async with serving(first) as url:
            outcome = (await perform(request(url, method=method)))[0].outcome
        assert (outcome.state, outcome.http_status) == (RunState.FAILED, status)
        assert outcome.error.endswith(f"; redirects are not followed, so put {there}/x into the job's URL")
    assert (len(first.requests), other.requests) == (1, [])


@pytest.mark.parametrize("text", ['{"ü": [1, null]}', "[]", "3", ' "a" ', '\ufeff{"bom": true}'])
async def test_json_is_the_result_when_the_body_is_json(text: str) -> None:
    """JSON kept as JSON for the planner."""
    result, shelf = await answered(text.encode(), content_type="application/json")
    kept = text.removeprefix("\ufeff")
    assert (result.result, result.response, result.outcome.output, shelf.text()) == (kept, kept, kept, kept)


@pytest.mark.parametrize("text", ["", "hello", "{", "NaN", "[Infinity]", "[" * 50_000, "1" * 5_000 + "x", "{'a': 1}"])
async def test_text_is_only_the_response_when_the_body_is_no_json(text: str) -> None:
    result, shelf = await answered(text.encode(), content_type="application/json")
    assert (result.result, result.response, shelf.text()) == (None, text, text)


@pytest.mark.parametrize("charset", ["utf-8", "latin-1", "utf-16", "windows-1252", "iso-8859-15"])
async def test_text_is_read_in_its_character_set_when_that_is_told(charset: str) -> None:
    result, _ = await answered("Grüße".encode(charset), headers={"Content-Type": f"text/plain; charset={charset}"})
    assert result.response == "Grüße"


@pytest.mark.parametrize(
    "kind", ["", "text/html", "text/html; charset=", *(f"a/b; charset={name}" for name in ("hex", "zip", "idna", "?"))]
)
async def test_text_is_read_as_utf_8_when_its_character_set_is_none(kind: str) -> None:
    result, _ = await answered("Grüße \0\xff".encode() + b"\xff", headers={"Content-Type": kind})
    assert result.response == "Grüße \ufffdÿ\ufffd"


@pytest.mark.parametrize("size", [KEPT - 1, KEPT, KEPT + 1, 3_000_000])
@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
async def test_response_is_kept_up_to_a_hundred_kilobytes_when_it_is_long(size: int, is_packed: bool) -> None:
    """Response body kept up to 100 KB, after decompression."""

    def answer() -> web.Response:
        response = web.Response(body=b"7" * size)
        if is_packed:
            response.enable_compression(web.ContentCoding.gzip)
        return response

    async with serving(Seen(answer)) as url:
        result, shelf = await perform(request(url))
    text = "7" * min(size, KEPT)
    assert result.response == text + ("\n[cut]" if size > KEPT else "")
    assert (result.outcome.output, shelf.text()) == (text, text)
    assert result.outcome.state == RunState.SUCCEEDED


@pytest.mark.parametrize("body", [b"\xff" * KEPT, "€".encode() * KEPT, "€".encode("utf-16-le") * (KEPT // 2)])
async def test_response_is_no_longer_as_text_when_its_bytes_are_few(body: bytes) -> None:
    charset = "utf-16-le" if body.startswith(b"\xac") else "utf-8"
    result, _ = await answered(body, headers={"Content-Type": f"text/plain; charset={charset}"})
    text = (result.response or "").removesuffix("\n[cut]")
    assert KEPT - 4 < len(text.encode()) <= KEPT
    assert set(text) <= {"€", "\ufffd"}


async def test_secrets_are_resolved_and_stay_out_of_the_record_when_a_server_repeats_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Stored as references (`env:`, `file:`), redacted in every form."""
    monkeypatch.setenv("MY_TOKEN", "Bearer hunter2-öä")
    (tmp_path / "key").write_text('say "friend" and\\enter\n')
    headers = {"Authorization": "env:MY_TOKEN", "X-Key": f"file:{tmp_path / 'key'}", "X-Plain": "blue"}

    async def repeat(sent: web.BaseRequest) -> web.Response:
        told = {name: sent.headers[name] for name in headers} | {"bare": "hunter2-öä"}
        return web.json_response(told, status=302, headers={"Location": "/?k=hunter2-%C3%B6%C3%A4"})

    async with serving(repeat) as url:
        result, shelf = await perform(request(url, headers=headers))
    hidden = {"Authorization": "[secret]", "X-Key": "[secret]", "X-Plain": "blue", "bare": "[secret]"}
    assert json.loads(result.result or "") == json.loads(shelf.text()) == hidden
    assert all(word not in str((result, shelf.chunks)) for word in ("hunter2", "friend", "enter"))


@pytest.mark.parametrize("shown", range(1, 12))
async def test_beginning_of_a_secret_is_not_kept_when_the_response_is_cut_within_it(
    shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", secret := "hunter2-swordfish")
    body = "." * (KEPT - shown) + secret
    async with serving(Seen(lambda: web.Response(text=body))) as url:
        result, shelf = await perform(request(url, headers={"X-Key": "env:MY_TOKEN"}))
    assert result.response == "." * (KEPT - shown) + "\n[cut]"
    assert set(shelf.text()) == {"."}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"url": "ftp://example.org/"}, "The URL ftp://example.org/ is not allowed; use http or https, and a host."),
        ({"url": "file:///etc/passwd"}, "The URL file:///etc/passwd is not allowed; use http or https, and a host."),
        (
            {"headers": {"X": "env:NO_SUCH_VARIABLE"}},
            "The secret env:NO_SUCH_VARIABLE is not set; set the environment variable NO_SUCH_VARIABLE.",
        ),
        (
            {"headers": {"X": "file:/no/such/file"}},
            "The secret file:/no/such/file cannot be read: [Errno 2] No such file or directory: '/no/such/file'.",
        ),
        (
            {"headers": {"X": "env:WITH_BREAK"}},
            "The value of the header X has a line break or is no text; correct it.",
        ),
        ({"headers": {"X": "env:NO_TEXT"}}, "The value of the header X has a line break or is no text; correct it."),
        ({"headers": {"a b": "c"}}, "The header name 'a b' is not valid; use letters, digits and hyphens."),
        ({"headers": {"A\r\nB": "c"}}, "The header name 'A\\r\\nB' is not valid; use letters, digits and hyphens."),
        ({"headers": {"content-length": "3"}}, "The header content-length is set by Rota itself; remove it."),
        (
            {"url": "http://me:hunter2@127.0.0.1/", "headers": {"authorization": "x"}},
            "The URL has a user name and there is an Authorization header; remove one of them.",
        ),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value),
)
async def test_run_fails_for_good_with_a_cure_when_its_preflight_fails(
    given: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL is allowed, secrets resolve. Failure: `permanent_failure`, with a sentence saying what to fix."""
    monkeypatch.setenv("WITH_BREAK", "hunter2\r\nX-Admin: 1")
    monkeypatch.setenv("NO_TEXT", os.fsdecode(b"\xff\xfe"))
    async with serving(seen := Seen()) as url, client() as http:
        work = request(**({"url": url} | given))
        assert await http.preflight(work) == sentence
        outcome = (await perform(work, http))[0].outcome
    assert (outcome.state, outcome.error) == (RunState.PERMANENT_FAILURE, sentence)
    assert seen.requests == []


@pytest.mark.parametrize("url", ["http://me:hunter2@a:99999/", "http://me:hunter2@[::1", "http://me:hunter2@/"])
async def test_password_is_not_told_when_a_url_cannot_be_read(url: str) -> None:
    sentence = await Http(allowed=()).preflight(request(url))
    assert sentence is not None
    assert "hunter2" not in sentence


async def test_nothing_is_sent_when_the_start_is_refused() -> None:
    """At most one start per attempt: the claim commits before the side effect."""

    async def refused() -> bool:
        return False

    async with serving(seen := Seen()) as url, client() as http:
        work = request(url)
        result = await http.perform(work, make_output(work, Shelf()), refused)
    assert (result.outcome.state, result.outcome.reason) == (RunState.CANCELLED, "fenced")
    assert seen.requests == []


async def test_start_is_on_record_when_the_request_arrives() -> None:
    asked: list[int] = []
    seen = Seen()

    async def started() -> bool:
        asked.append(len(seen.requests))
        return True

    async with serving(seen) as url, client() as http:
        work = request(url, headers={"X-Tag": unique()})
        await http.perform(work, make_output(work, shelf := Shelf()), started)
    assert (asked, len(seen.requests), shelf.text()) == ([0], 1, "")


async def test_other_actions_are_refused_when_given_to_a_request() -> None:
    work = make_work(PythonAction(target="os:getpid"))
    with pytest.raises(TypeError, match="nightly is no request"):
        await Http(allowed=()).perform(work, make_output(work, Shelf()), yes)
