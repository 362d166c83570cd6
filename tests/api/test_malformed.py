"""What is not even a request: refused with a status of the 400s, whatever it is, and never a failure of ours."""

from __future__ import annotations

import asyncio

import pytest

from rota.api.faces import Place, make_faces
from rota.api.routes import WORDS
from tests.api.house import House, example_request

pytestmark = pytest.mark.anyio
FACES = make_faces()
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("piece", ["%00", "a%00b", "%ff", "%c3%28", "%ed%a0%80", "%f8%88%80%80%80", "%c0%af"])
async def test_paths_and_queries_are_utf8_without_nul(piece: str, shared_house: House) -> None:
    for path in (f"/api/v1/jobs/{piece}", f"/api/v1/jobs?contains={piece}", f"/api/v1/jobs?{piece}=1", f"/{piece}"):
        answer = await shared_house.ask("GET", path)
        assert (answer.status, answer.json["type"]) == (400, "urn:rota:problem:malformed"), path


async def test_every_route_refuses_nul_in_its_path_and_query(shared_house: House) -> None:
    for face in FACES:
        method, path, rest = example_request(face)
        for one in face.at(Place.PATH):
            answer = await shared_house.ask(method, face.route.full_path.replace(f"{{{one.name}}}", "%00"), **rest)
            assert answer.status == 400, face.operation.name
        answer = await shared_house.ask(method, path.partition("?")[0] + "?x=%00", **rest)
        assert answer.status == 400, face.operation.name


@pytest.mark.parametrize(
    "body",
    [
        b'{"name": "a\\u0000b"}',
        b'{"a\\u0000b": 1}',
        b'{"name": "\\ud800"}',
        b'{"name": "\\udc00\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"definition": {"env": {"A": ["\\ud83d"]}}}',
        b'{"name": "\xff"}',
        b'{"name": "\xed\xa0\x80"}',
        '{"name": "x"}'.encode("utf-16"),
        b'\xef\xbb\xbf{"name": "x"}',
        b'{"name": "x", "name": "y"}',
        b'{"definition": {"env": {"A": "1", "A": "2"}}}',
        b'{"size": NaN}',
        b'{"size": Infinity}',
        b'{"size": -Infinity}',
        b'{"size": 1e999}',
        b'{"size": ' + b"9" * 10_000 + b"}",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"definition":' + b"[" * 70 + b"]" * 70 + b"}",
        b"{'name': 'x'}",
        b'{"name": "x",}',
        b'{"name": "x"} {}',
        b'{"name": "\n"}',
        b"\x00",
        b"nul",
        b"\x1f\x8b\x08\x00",
    ],
)
async def test_bodies_that_are_no_json_or_cannot_be_kept(body: bytes, shared_house: House) -> None:
    for method, path in (("POST", "/api/v1/jobs"), ("PUT", "/api/v1/jobs/coder%2Fnightly"), ("PUT", "/api/v1/pools/x")):
        answer = await shared_house.ask(method, path, data=body, headers=JSON)
        assert (answer.status, answer.json["type"]) == (400, "urn:rota:problem:malformed")


@pytest.mark.parametrize("value", [10**18, -(10**18), 10**30, 1.5, "4", None, True, [], {}])
async def test_numbers_that_are_none_or_too_large(value: object, shared_house: House) -> None:
    for body in ({"size": value}, {"size": 1, "scope": value}):
        answer = await shared_house.ask("PUT", "/api/v1/pools/local", json=body)
        assert answer.status == 422, answer.text


@pytest.mark.parametrize(
    "value", [None, 1, "x", [], [["x"]], True, {"cron": 10**30}, {"every": None}, {"env": {"A": {}}}]
)
async def test_definitions_of_any_shape_are_refused_politely(value: object, shared_house: House) -> None:
    answer = await shared_house.ask("POST", "/api/v1/jobs", json={"name": "shapeless", "definition": value})
    assert answer.status == 422, answer.text


async def test_depth_up_to_the_limit_is_read(shared_house: House) -> None:
    nested: object = "x"
    for _ in range(60):
        nested = [nested]
    body = {"name": "deep", "definition": {**WORDS, "command": nested}}
    assert (await shared_house.ask("POST", "/api/v1/jobs", json=body)).status == 422


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET http://localhost/api/v1/jobs HTTP/1.1\r\nHost: localhost",
        b"GET api HTTP/1.1\r\nHost: localhost",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost",
        b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nHost: evil.example",
        b"GET /api/v1/jobs HTTP/1.1",
        b"GET /api/v1/jobs HTTP/1.0",
        b"GET /api/v1/\xff HTTP/1.1\r\nHost: localhost",
        b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nX: a\x00b",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: localhost",
        b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost",
        b"\x16\x03\x01\x02\x00\x01",
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1",
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2",
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999",
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: nonsense",
    ],
)
async def test_raw_requests_that_no_client_would_send(request_line: bytes, shared_house: House) -> None:
    host, port = shared_house.url.removeprefix("http://").split(":")
    token = b"\r\nAuthorization: Bearer " + shared_house.admin.encode()
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request_line + token + b"\r\nConnection: close\r\n\r\n")
        answer = await reader.readline()
    finally:
        writer.close()
    assert answer.startswith(b"HTTP/1.1 4"), answer


async def test_a_client_that_goes_away_in_the_middle_of_its_body_hurts_nobody(shared_house: House) -> None:
    host, port = shared_house.url.removeprefix("http://").split(":")
    for _ in range(5):
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nAuthorization: Bearer "
            + shared_house.admin.encode()
            + b'\r\nContent-Type: application/json\r\n\r\n{"name'
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()
    assert (await shared_house.ask("GET", "/healthz")).status == 200
