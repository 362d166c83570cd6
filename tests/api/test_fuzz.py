"""Whatever the document allows, and whatever it does not: no failure of ours, no answer that is not documented."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rota.api.faces import Face, Place, make_faces
from rota.api.openapi import describe
from tests.api.house import open_house, seed
from tests.stores import Servers, opened

FACES = [face for face in make_faces() if not face.operation.is_stream]
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


def strategy(face: Face) -> st.SearchStrategy[Any]:
    """Requests as documented and not as documented, about things that are there and things that are not."""
    operation = SCHEMA.find_operation_by_id(face.operation.name)
    modes = list(GenerationMode) if face.parameters else [GenerationMode.POSITIVE]
    there = {one.name: face.route.examples[one.name] for one in face.at(Place.PATH)}
    # What is removed once would be missed by all that follow.
    places = [there, None] if there and face.operation.name != "job.remove" else [None]
    return st.one_of(
        [operation.as_strategy(generation_mode=mode, path_parameters=place) for mode in modes for place in places]
    )


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.operation.name)
def test_nothing_that_can_be_asked_breaks_it(face: Face, address: Address) -> None:
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
    @given(case=strategy(face))
    def ask(case: Any) -> None:  # noqa: ANN401 - schemathesis' own
        headers = {"Authorization": f"Bearer {address.token}"}
        response = case.call(base_url=address.url, headers=headers, timeout=PATIENCE)
        case.validate_response(response, checks=CHECKS)

    ask()
