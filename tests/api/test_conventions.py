"""What all routes have in common: ETags, keys, pages, filters, instants, errors, places of what was made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from rota.api.routes import JOB, RUN, WORDS
from rota.errors import StoreUnavailableError
from rota.operations import jobs, output
from rota.ports.store import Store
from tests.api.house import House

pytestmark = pytest.mark.anyio
NIGHTLY = "/api/v1/jobs/coder%2Fnightly"


async def walked(house: House, path: str) -> AsyncIterator[list[dict[str, Any]]]:
    """The pages of a list, by their links."""
    answer = await house.ask("GET", path)
    while True:
        assert answer.status == 200, answer.text
        yield answer.json["items"]
        link = answer.headers.get("Link")
        if link is None:
            assert answer.json["next"] is None
            return
        target, relation = link.split("; ")
        assert relation == 'rel="next"'
        answer = await house.ask("GET", target.strip("<>"))


async def test_an_edit_with_an_etag_happens_only_if_nobody_came_before(each_house: House) -> None:
    body = {"definition": {"every": "10m", "command": ["/bin/true"]}}
    shown = await each_house.ask("GET", NIGHTLY)
    etag = shown.headers["ETag"]
    assert etag == f'"{shown.json["version"]}"'
    assert (await each_house.ask("PUT", NIGHTLY, json=body, headers={"If-Match": etag})).status == 200
    late = await each_house.ask("PUT", NIGHTLY, json=body, headers={"If-Match": etag})
    assert (late.status, late.json["type"]) == (412, "urn:rota:problem:changed")
    fresh = await each_house.ask("GET", NIGHTLY)
    assert fresh.headers["ETag"] != etag
    assert fresh.json["schedule"] == "every 10m"
    assert (await each_house.ask("PUT", NIGHTLY, json=body, headers={"If-Match": fresh.headers["ETag"]})).status == 200


@pytest.mark.parametrize("etag", ['"x"', "1", 'W/"1"', '"1", "2"', '"0"', '"-1"', '"99999999999999999999"'])
async def test_what_is_no_etag_of_ours_never_matches(etag: str, shared_house: House) -> None:
    answer = await shared_house.ask("PUT", NIGHTLY, json={"definition": WORDS}, headers={"If-Match": etag})
    assert answer.status == 412


async def test_any_version_will_do_for_a_star_and_without_the_header(house: House) -> None:
    for headers in ({"If-Match": "*"}, {}):
        assert (await house.ask("PUT", NIGHTLY, json={"definition": WORDS}, headers=headers)).status == 200


async def test_a_key_asks_for_one_run_however_often_it_is_sent(each_house: House) -> None:
    asked = [each_house.ask("POST", f"{NIGHTLY}/run", headers={"Idempotency-Key": "once"}) for _ in range(10)]
    answers = await asyncio.gather(*asked)
    assert sorted(answer.status for answer in answers) == [200] * 9 + [202]
    assert len({answer.json["run_id"] for answer in answers}) == 1
    assert {answer.headers["Location"] for answer in answers} == {f"/api/v1/runs/{answers[0].json['run_id']}"}
    assert (await each_house.ask("GET", answers[0].headers["Location"])).json["state"] in ("queued", "skipped")


async def test_a_retry_can_have_a_key_too(house: House) -> None:
    asked = [await house.ask("POST", f"/api/v1/runs/{RUN}/retry", headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status for answer in asked] == [202, 200]
    assert (await house.ask("GET", f"/api/v1/runs/{asked[0].json['run_id']}")).json["input"] == "hello"


@pytest.mark.parametrize(("key", "status"), [("x" * 200, 202), ("x" * 201, 422), ("ключ", 400), ("a\tb", 400)])
async def test_keys_are_short_and_printable(key: str, status: int, shared_house: House) -> None:
    answer = await shared_house.ask("POST", f"{NIGHTLY}/run", headers={"Idempotency-Key": key})
    assert answer.status == status


async def test_what_was_made_is_found_where_the_answer_says(house: House) -> None:
    for path, name in (("/api/v1/jobs", "team/a b".replace(" ", ".")), ("/api/v1/proposals", "team/idea")):
        made = await house.ask("POST", path, json={"name": name, "definition": WORDS})
        assert made.status == 201
        assert made.headers["Location"] == f"/api/v1/jobs/{quote(name, safe='')}"
        assert (await house.ask("GET", made.headers["Location"])).json["name"] == name
    body = {"begin": "2025-01-01T00:00:00Z", "end": "2025-01-03T00:00:00Z"}
    filled = await house.ask("POST", f"{NIGHTLY}/backfill", json=body)
    found = await house.ask("GET", filled.headers["Location"])
    assert sorted(run["id"] for run in found.json["items"]) == sorted(filled.json["run_ids"])
    again = await house.ask("POST", "/api/v1/jobs", json={"name": "team/idea", "definition": WORDS})
    assert (again.status, again.json["type"]) == (409, "urn:rota:problem:conflict")


async def test_pages_of_jobs_are_walked_to_the_end(each_house: House) -> None:
    for number in range(23):
        await jobs.add_job(each_house.site, name=f"many/{number:02}", definition=WORDS, agent="many")
    pages = [page async for page in walked(each_house, "/api/v1/jobs?limit=5&agent=many&contains=many%2F")]
    assert [len(page) for page in pages] == [5, 5, 5, 5, 3]
    assert [job["name"] for page in pages for job in page] == [f"many/{number:02}" for number in range(23)]


async def test_pages_of_runs_output_and_audit_are_walked_to_the_end(each_house: House) -> None:
    asked = [(await jobs.run_job(each_house.site, job=JOB)).run_id for _ in range(11)]
    pages = [page async for page in walked(each_house, "/api/v1/runs?limit=4&cause=manual")]
    assert [run["id"] for page in pages for run in page][:11] == asked[::-1]
    assert len({run["id"] for page in pages for run in page}) == 13
    output = [page async for page in walked(each_house, f"/api/v1/runs/{RUN}/output?limit=2")]
    assert [piece["text"] for page in output for piece in page] == [f"line {number}\n" for number in range(1, 6)]
    audit = [entry async for page in walked(each_house, "/api/v1/audit?limit=3") for entry in page]
    assert len({entry["id"] for entry in audit}) == len(audit) >= 11


async def test_filters_of_runs(shared_house: House) -> None:
    async def ids(query: str) -> set[str]:
        return {run["state"] for run in (await shared_house.ask("GET", f"/api/v1/runs?{query}")).json["items"]}

    assert await ids("state=succeeded") == {"succeeded"}
    assert await ids("state=succeeded&state=queued") == {"succeeded", "queued"}
    assert await ids("state=failed") == set()
    assert await ids("job=coder%2Fnightly&since=2020-01-01T00:00:00%2B02:00") == {"succeeded", "queued"}
    assert await ids("until=2020-01-01T00:00:00Z") == set()
    assert await ids("agent=nobody") == set()
    for query in ("state=done", "state=", "cause=luck", "since=yesterday", "since=2026-01-01T00:00:00", "since=5"):
        assert (await shared_house.ask("GET", f"/api/v1/runs?{query}")).status == 422, query
    assert (await shared_house.ask("GET", "/api/v1/runs?job=nobody")).status == 404


async def test_filters_of_jobs(shared_house: House) -> None:
    for query, count in (("status=proposed", 1), ("agent=coder", 2), ("agent=x", 0), ("contains=NIGHT", 1)):
        assert len((await shared_house.ask("GET", f"/api/v1/jobs?{query}")).json["items"]) == count, query


@pytest.mark.parametrize(
    "limit", ["0", "-1", "1001", "1.0", "1e2", "x", "", "9" * 30, "null", "true", "%2B5", "0x10", "٣", "5&limit=6"]
)
async def test_numbers_in_a_query_are_whole_and_within_their_limits(limit: str, shared_house: House) -> None:
    answer = await shared_house.ask("GET", f"/api/v1/jobs?limit={quote(limit, safe='&=%')}")
    assert (answer.status, answer.json["field"]) == (422, "limit")


@pytest.mark.parametrize(
    ("until", "status"),
    [
        ("2040-01-01T09:00:00+05:30", 200),
        ("2040-01-01T09:00:00Z", 200),
        ("9998-12-31T23:59:59Z", 200),
        ("2040-01-01T09:00:00", 422),
        ("1969-12-31T23:59:59Z", 422),
        ("9999-01-01T00:00:00Z", 422),
        ("9999-12-31T23:59:59-12:00", 422),
        ("0001-01-01T00:00:00+14:00", 422),
        ("2040-02-30T00:00:00Z", 422),
        ("tomorrow", 422),
        (1893456000, 422),
        (True, 422),
    ],
)
async def test_instants_have_an_offset_and_lie_in_times_that_count(
    until: object, status: int, shared_house: House
) -> None:
    answer = await shared_house.ask("POST", f"{NIGHTLY}/pause", json={"until": until})
    assert answer.status == status, answer.text
    if status == 200:
        assert answer.json["paused_until"].endswith("Z")
    else:
        assert answer.json["field"] == "until"


async def test_a_job_is_named_by_its_name_or_its_id_and_never_by_the_beginning_of_either(shared_house: House) -> None:
    """A program that asks for a removal twice must not remove another job the second time."""
    shown = (await shared_house.ask("GET", NIGHTLY)).json
    for name in (shown["id"], "%63oder%2fnightly"):
        assert (await shared_house.ask("GET", f"/api/v1/jobs/{name}")).json["id"] == shown["id"]
    for name in ("coder", "coder%2Fni", shown["id"][:-1], "coder/nightly"):
        assert (await shared_house.ask("GET", f"/api/v1/jobs/{name}")).status == 404
        assert (await shared_house.ask("DELETE", f"/api/v1/jobs/{name}")).status in (404, 405)


async def test_a_job_is_removed_only_as_it_was_seen_when_it_is_asked_so(each_house: House) -> None:
    body = {"name": "short-lived", "definition": WORDS}
    assert (await each_house.ask("POST", "/api/v1/jobs", json=body)).status == 201
    path = "/api/v1/jobs/short-lived"
    etag = (await each_house.ask("GET", path)).headers["ETag"]
    assert (await each_house.ask("PUT", path, json={"definition": WORDS})).status == 200
    assert (await each_house.ask("DELETE", path, headers={"If-Match": etag})).status == 412
    fresh = (await each_house.ask("GET", path)).headers["ETag"]
    assert (await each_house.ask("DELETE", path, headers={"If-Match": fresh})).status == 200
    assert (await each_house.ask("DELETE", path)).status == 404


async def test_everything_that_is_wrong_with_a_definition_is_told_at_once(shared_house: House) -> None:
    words = {"crn": "0 3 * * *", "command": ["/bin/true"], "timeout": "5x"}
    answer = await shared_house.ask("POST", "/api/v1/jobs", json={"name": "bad", "definition": words})
    assert (answer.status, answer.json["type"]) == (422, "urn:rota:problem:input")
    found = {problem["path"] for problem in answer.json["problems"]}
    assert {"crn", "timeout"} <= found
    assert set(answer.json["problems"][0]) == {"message", "cure", "path", "file", "line", "column"}


async def test_a_fleet_file_is_checked_with_lines_and_cures(shared_house: House) -> None:
    source = {"text": "jobs:\n  a:\n    every: 5x\n    command: [x]\n  b:\n    evry: 5m\n"}
    answer = await shared_house.ask("POST", "/api/v1/fleet/check", json={"source": source})
    assert answer.status == 422
    assert {problem["line"] for problem in answer.json["problems"]} >= {3, 6}


async def test_a_value_that_is_refused_says_what_would_do(shared_house: House) -> None:
    answer = await shared_house.ask("GET", "/api/v1/schedules/preview?schedule=every+5x")
    assert answer.status == 422
    assert {"field", "value", "expected", "example"} <= set(answer.json)
    missing = await shared_house.ask("POST", "/api/v1/jobs", json={"name": "x"})
    assert (missing.status, missing.json["field"]) == (422, "definition")
    near = await shared_house.ask("GET", "/api/v1/jobs?stauts=idle")
    assert near.json["detail"] == 'There is no parameter "stauts". Did you mean "status"?'


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/api/v1/tokens", {"name": "x", "role": "root"}, "one of these: read, operate, admin"),
        ("GET", "/api/v1/jobs?status=done", None, "one of these: idle, running, disabled, paused, proposed, ended"),
        ("GET", "/api/v1/runs?state=failed&state=done", None, "one of these: held, queued, running, "),
        ("DELETE", f"{NIGHTLY}/hints?kind=x", None, "one of these: interval, oneshot, pause"),
    ],
)
async def test_a_word_that_is_none_is_answered_with_those_there_are(
    method: str, path: str, body: object, expected: str, shared_house: House
) -> None:
    answer = await shared_house.ask(method, path, json=body)
    assert answer.status == 422
    assert answer.json["expected"].startswith(expected)


@pytest.mark.parametrize(
    ("method", "path", "header"),
    [("PUT", NIGHTLY, "If-Match"), ("DELETE", NIGHTLY, "If-Match"), ("POST", f"{NIGHTLY}/run", "Idempotency-Key")],
)
async def test_a_condition_that_says_nothing_is_not_taken_for_none(
    method: str, path: str, header: str, shared_house: House
) -> None:
    body = {"definition": WORDS} if method == "PUT" else None
    answer = await shared_house.ask(method, path, json=body, headers={header: ""})
    assert (answer.status, answer.json["type"]) == (400, "urn:rota:problem:malformed")


async def test_what_is_asked_of_a_run_that_ended_does_not_fit(shared_house: House) -> None:
    assert (await shared_house.ask("POST", f"/api/v1/runs/{RUN}/cancel")).status == 409
    assert (await shared_house.ask("POST", "/api/v1/jobs/coder%2Fnightly/accept")).status == 409


async def test_a_store_that_is_away_is_a_reason_to_come_back(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> None:
        raise StoreUnavailableError("The database cannot be used now: secret-host refuses.")

    monkeypatch.setattr(type(house.site.store), "read", away)
    for path in ("/api/v1/jobs", "/api/v1/events/stream", "/metrics"):
        answer = await house.ask("GET", path)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
        assert "secret-host" not in answer.text


async def test_what_nobody_expected_is_logged_and_not_told(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good = type(house.site.store).read
    calls = 0

    async def broken(store: Store, body: object) -> object:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise RuntimeError("a secret")
        return await good(store, body)  # type: ignore[arg-type]

    monkeypatch.setattr(type(house.site.store), "read", broken)
    answer = await house.ask("GET", "/api/v1/jobs")
    assert (answer.status, answer.json["type"]) == (500, "urn:rota:problem:internal")
    assert "secret" not in answer.text
    assert "a secret" in caplog.text


async def test_output_is_read_from_any_place(shared_house: House) -> None:
    found = await shared_house.ask("GET", f"/api/v1/runs/{RUN}/output?after=3")
    assert [piece["sequence"] for piece in found.json["items"]] == [4, 5]
    back = await shared_house.ask("GET", f"/api/v1/runs/{RUN}/output?before=5&limit=2")
    assert [piece["sequence"] for piece in back.json["items"]] == [3, 4]
    assert "Link" not in back.headers
    assert (await output.read_output(shared_house.site, run=RUN, after=5)).items == ()
