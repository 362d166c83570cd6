"""Whatever the document allows, and whatever it does not: no failure of ours, no answer that is not documented."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rota.api.faces import HEADERS, Face, Place, make_faces
from rota.api.openapi import describe, refusals
from rota.api.openapi import statuses as statuses_of
from rota.api.problems import MEDIA_TYPE
from tests.api.house import open_house, seed
from tests.stores import Servers, opened

# What takes away or changes what the others speak of comes last.
LAST = ("hint.set", "job.edit", "job.remove")
PLAIN = [face for face in make_faces() if not face.operation.is_stream]
FACES = sorted(PLAIN, key=lambda face: LAST.index(face.operation.name) if face.operation.name in LAST else -1)
STREAMS = [face for face in make_faces() if face.operation.is_stream]
DOCUMENT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(describe(make_faces())))
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = 500 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 15

PATIENCE = 60


class Address(NamedTuple):
    url: str
    token: str


@pytest.fixture(scope="module", params=["sqlite", "postgres18"])
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, servers: Servers
) -> Iterator[Address]:
    """A server in a thread of its own, because what asks it here cannot wait."""
    started: SimpleQueue[tuple[Address, asyncio.AbstractEventLoop, asyncio.Event]] = SimpleQueue()

    async def live(folder: Path) -> None:
        async with opened(request.param, folder, servers) as store, open_house(store) as house:
            await seed(house.site)
            over = asyncio.Event()
            started.put((Address(house.url, house.admin), asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(live(tmp_path_factory.mktemp("fuzz"))))
    thread.start()
    found, loop, over = started.get(timeout=60)
    yield found
    loop.call_soon_threadsafe(over.set)
    thread.join(30)


def path_of(face: Face) -> dict[str, str]:
    """What the documented path speaks of. Schemathesis leaves the quoting to whoever gives it a path."""
    return {one.name: quote(str(face.route.examples[one.name]), safe="") for one in face.at(Place.PATH)}


def strategy(face: Face) -> st.SearchStrategy[Any]:
    """Requests as documented and not as documented, about things that are there and things that are not."""
    operation = SCHEMA.find_operation_by_id(face.operation.name)
    modes = list(GenerationMode) if face.parameters else [GenerationMode.POSITIVE]
    there = path_of(face)
    # What is removed once would be missed by all that follow.
    places = [there, None] if there and face.operation.name != "job.remove" else [None]
    return st.one_of(
        [operation.as_strategy(generation_mode=mode, path_parameters=place) for mode in modes for place in places]
    )


def documented(face: Face) -> Any:  # noqa: ANN401
    """The request of the documented examples."""

    def given(place: Place) -> dict[str, Any]:
        return {HEADERS.get(one.name, one.name): face.route.examples[one.name] for one in face.at(place)}

    # Others have changed the job meanwhile.
    headers = given(Place.HEADER) | ({"If-Match": "*"} if "version" in face.route.examples else {})
    body: dict[str, Any] = {"body": given(Place.BODY), "media_type": "application/json"} if face.at(Place.BODY) else {}
    return SCHEMA.find_operation_by_id(face.operation.name).Case(
        path_parameters=path_of(face), query=given(Place.QUERY), headers=headers, **body
    )


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.operation.name)
def test_nothing_that_can_be_asked_breaks_it_and_something_is_answered(face: Face, address: Address) -> None:
    statuses: Counter[int] = Counter()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
    @example(case=documented(face))
    @given(case=strategy(face))
    def ask(case: Any) -> None:  # noqa: ANN401 - schemathesis' own
        headers = {"Authorization": f"Bearer {address.token}"}
        response = case.call(base_url=address.url, headers=headers, timeout=PATIENCE)
        statuses[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    ask()
    assert any(200 <= status < 300 for status in statuses), statuses


@pytest.mark.parametrize("face", STREAMS, ids=lambda face: face.operation.name)
def test_no_request_for_a_stream_breaks_it(face: Face, address: Address) -> None:
    """A stream may go on for ever, so only its beginning is looked at."""
    allowed = {*statuses_of(face), *refusals(face)}
    statuses: Counter[int] = Counter()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
    @example(case=documented(face))
    @given(case=strategy(face))
    def ask(case: Any) -> None:  # noqa: ANN401 - schemathesis' own
        headers = {"Authorization": f"Bearer {address.token}"}
        request = case.as_transport_kwargs(base_url=address.url, headers=headers)
        with requests.request(**request, timeout=PATIENCE, stream=True) as response:
            statuses[response.status_code] += 1
            kind = "text/event-stream" if response.ok else MEDIA_TYPE
            assert response.headers["Content-Type"].startswith(kind)

    ask()
    assert statuses[200]
    assert set(statuses) <= allowed - {500}
