"""Who may: every route for everybody who may come along, by which name, and from which page."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.api.faces import Face, make_faces
from rota.api.guards import SAFE_METHODS
from rota.api.routes import JOB, RUN, WORDS
from rota.operations import jobs, tokens
from rota.operations.registry import Operation
from rota.ports.caller import Role
from tests.api.house import House, end_run, example_request, open_house, start_run
from tests.stores import Servers, opened

pytestmark = pytest.mark.anyio
FACES = make_faces()
GUARDED = [face for face in FACES if face.route.method not in SAFE_METHODS or face.operation.is_stream]
PAGES = ("/metrics", "/api/v1/openapi.json")
# What a migration has done, the list of migrations says.
CHANGING = [
    face
    for face in FACES
    if face.operation.role is not Role.READ and face.route.method != "GET" and face.operation.name != "db.migrate"
]
# The example of an edit is about the first version; after a removal the others would have nothing to talk about.
ORDER = {"job.edit": 0, "job.remove": 2}
# Whether there is something before and after, where there is not both.
KEPT = {
    **dict.fromkeys(("job.add", "job.propose", "job.run", "run.retry", "backfill.start"), (False, True)),
    **dict.fromkeys(("fleet.apply", "token.create", "token.link"), (False, True)),
    **dict.fromkeys(("job.remove", "hint.revert", "token.revoke"), (True, False)),
    "db.vacuum": (False, False),
}
OTHER_RUN = "run_0650a1b2c3d4e80000a1b2c3d4"


async def status_of(house: House, face: Face, token: str | None, **headers: str) -> int:
    """What a route answers first; streams go on after that."""
    method, path, rest = example_request(face)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with house.open(method, path, token=token, **{**rest, "headers": rest["headers"] | named}) as response:
        return int(response.status)


async def everybody(house: House) -> dict[str, str | None]:
    """A token of each kind."""
    revoked = await house.token(Role.ADMIN)
    await tokens.revoke_token(house.site, token=f"tok_{revoked.split('_')[1]}")
    ended = await start_run(house.site, run_id=OTHER_RUN)
    await end_run(house.site, OTHER_RUN)
    return {
        "nobody": None,
        "bad": f"rota_{'0' * 26}_{'0' * 48}",
        "revoked": revoked,
        "expired": await expired(house),
        "ended run": ended,
        "read": await house.token(Role.READ),
        "operate": await house.token(Role.OPERATE),
        "run": await start_run(house.site),
        "admin": house.admin,
    }


async def expired(house: House) -> str:
    secret = "0" * 48
    await house.site.store.write(
        lambda tx: tx.insert_token(
            id="tok_old",
            name="old",
            role="admin",
            kind="token",
            parent=None,
            hash=tokens._hash(secret),
            now=1_000_000,
            made_by="test",
            expires_at=2_000_000,
        )
    )
    return f"rota_old_{secret}"


def refusal(operation: Operation, who: str) -> int | None:
    """The status that somebody gets instead of an answer; none when they may."""
    if who not in (*Role, "run"):
        return 401
    is_allowed = operation.is_for_runs if who == "run" else Role(who).covers(operation.role)
    return None if is_allowed else 403


async def test_every_route_for_everybody(house: House) -> None:
    """SPEC 11, "Who may"."""
    people = await everybody(house)
    in_order = sorted(FACES, key=lambda face: face.operation.name == "job.remove")
    wrong = {}
    for who, token in people.items():
        for face in in_order:
            wanted, found = refusal(face.operation, who), await status_of(house, face, token)
            is_right = found not in (401, 403, 421) and found < 500 if wanted is None else found == wanted
            if not is_right:
                wrong[who, face.operation.name] = (found, wanted)
    assert wrong == {}


async def test_whoever_has_no_token_learns_nothing(shared_house: House) -> None:
    paths = (*PAGES, "/", "/nothing", "/api/v1/nothing", "/api/v1/jobs", f"/api/v1/runs/{RUN}", "/api/v1/runs/run_none")
    answers = [
        await shared_house.ask(method, path, token=None) for path in paths for method in ("GET", "POST", "OPTIONS")
    ]
    assert {answer.status for answer in answers} == {401}
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {'Bearer realm="rota"'}
    assert len({(answer.json["detail"], answer.json["type"]) for answer in answers}) == 1


async def test_pages_beside_the_operations(house: House) -> None:
    people = await everybody(house)
    for path in PAGES:
        found = {who: (await house.ask("GET", path, token=token)).status for who, token in people.items()}
        assert {who for who, status in found.items() if status == 401} == {
            *("nobody", "bad", "revoked", "expired", "ended run"),
        }
        assert [found[role] for role in Role] == [200, 200, 200]
        assert found["run"] == (403 if path == "/metrics" else 200)
    for path in ("/healthz", "/readyz"):
        assert (await house.ask("GET", path, token=None)).status == 200
        assert (await house.ask("POST", path, token=None)).status == 405


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic YWRtaW46",
        "bearer",
        "Token {admin}",
        "{admin}",
        "Bearer {admin}x",
        "Bearer\t{admin}",
    ],
)
async def test_only_a_bearer_token_lets_in(given: str, shared_house: House) -> None:
    header = {"Authorization": given.format(admin=shared_house.admin)}
    assert (await shared_house.ask("GET", "/api/v1/jobs", token=None, headers=header)).status == 401


async def test_the_scheme_is_bearer_in_any_case(shared_house: House) -> None:
    header = {"Authorization": f"bEARER {shared_house.admin}"}
    assert (await shared_house.ask("GET", "/api/v1/jobs", token=None, headers=header)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.localhost",
        "127.0.0.2",
        "127.0.0.1.nip.io",
        "[::2]",
        "0",
        "localhost:",
    ],
)
async def test_a_name_that_is_not_ours_gets_no_answer_on_any_route(host: str, shared_house: House) -> None:
    statuses = {await status_of(shared_house, face, shared_house.admin, Host=host) for face in FACES}
    pages = {
        (await shared_house.ask("GET", path, headers={"Host": host})).status for path in (*PAGES, "/healthz", "/readyz")
    }
    assert statuses | pages == {421}


async def test_our_names_count_with_any_port_and_in_any_case(tmp_path: Path, servers: Servers) -> None:
    async with opened("sqlite", tmp_path, servers) as store, open_house(store, hosts=["Rota.Example"]) as house:
        for host in (
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:7682",
            "[::1]",
            "[::1]:80",
            "rota.example",
            "ROTA.example:99",
        ):
            assert (await house.ask("GET", "/healthz", headers={"Host": host})).status == 200, host


async def test_pages_of_other_sites_cannot_change_or_follow_anything(shared_house: House) -> None:
    own = shared_house.url
    for face in GUARDED:
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": own + ".evil.example"},
            {"Origin": "http://localhost:1"},
            {"Sec_Fetch_Site": "cross-site"},
            {"Sec_Fetch_Site": "same-site"},
            {"Origin": own, "Sec_Fetch_Site": "cross-site"},
        ):
            assert await status_of(shared_house, face, shared_house.admin, **headers) == 403, (
                face.operation.name,
                headers,
            )


async def test_a_stream_is_guarded_however_its_path_is_written(shared_house: House) -> None:
    for path in ("/api/v1/events/strea%6D", "/api/v1/events/%73tream"):
        assert (await shared_house.ask("GET", path, headers={"Origin": "https://evil.example"})).status == 403


async def test_our_own_page_and_programs_may(shared_house: House) -> None:
    for headers in ({}, {"Origin": shared_house.url}, {"Origin": shared_house.url, "Sec-Fetch-Site": "same-origin"}):
        answer = await shared_house.ask("POST", "/api/v1/jobs/coder%2Fnightly/pause", headers=headers)
        assert answer.status == 200


async def test_reading_from_another_site_gives_no_leave_to_see_the_answer(shared_house: House) -> None:
    answer = await shared_house.ask("GET", "/api/v1/jobs", headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


async def test_a_cookie_lets_in_but_changes_need_our_own_page(shared_house: House) -> None:
    cookie = {"Cookie": f"theme=dark; rota_token={shared_house.admin}"}
    path = "/api/v1/jobs/coder%2Fnightly/pause"
    assert (await shared_house.ask("GET", "/api/v1/jobs", token=None, headers=cookie)).status == 200
    assert (await shared_house.ask("POST", path, token=None, headers=cookie)).status == 403
    assert (
        await shared_house.ask("POST", path, token=None, headers={**cookie, "Origin": shared_house.url})
    ).status == 200
    assert (await shared_house.ask("GET", "/api/v1/jobs", token=None, headers={"Cookie": "rota_token=x"})).status == 401


async def test_a_run_sees_what_belongs_to_its_agent_and_nothing_else(house: House) -> None:
    await jobs.add_job(house.site, name="other/job", definition=WORDS, agent="other")
    run = await jobs.run_job(house.site, job="other/job")
    token = await start_run(house.site)
    listed = await house.ask("GET", "/api/v1/jobs", token=token)
    assert {job["agent"] for job in listed.json["items"]} == {"coder"}
    assert (await house.ask("GET", "/api/v1/jobs/other%2Fjob", token=token)).status == 404
    assert (await house.ask("POST", "/api/v1/jobs/other%2Fjob/run", token=token)).status == 404
    for path in ("", "/why", "/output", "/output/stream"):
        assert (await house.ask("GET", f"/api/v1/runs/{run.run_id}{path}", token=token)).status == 404
    assert (await house.ask("GET", f"/api/v1/runs/{RUN}", token=token)).status == 200
    assert (await house.ask("POST", "/api/v1/jobs/coder%2Fnightly/run", token=token)).status == 202


async def test_a_run_without_an_agent_sees_its_own_job_on_full_pages(each_house: House) -> None:
    house = each_house
    await jobs.add_job(house.site, name="alone", definition=WORDS)
    await jobs.add_job(house.site, name="other/job", definition=WORDS, agent="other")
    own = (await jobs.run_job(house.site, job="alone")).run_id
    for _ in range(3):
        await jobs.run_job(house.site, job="other/job")
    token = await start_run(house.site, job="alone")
    for query in ("limit=1", "limit=2", "limit=1&job=alone", "limit=1&state=queued"):
        listed = (await house.ask("GET", f"/api/v1/runs?{query}", token=token)).json
        assert {run["job"] for run in listed["items"]} == {"alone"}, query
        assert listed["next"] in (None, *(run["id"] for run in listed["items"])), query
    assert own in {run["id"] for run in (await house.ask("GET", "/api/v1/runs", token=token)).json["items"]}
    for agent in ("other", "coder"):
        listed = (await house.ask("GET", f"/api/v1/runs?limit=1&agent={agent}", token=token)).json
        assert listed == {"items": [], "next": None}


async def test_who_may_propose_cannot_have_it_run(house: House) -> None:
    token = await house.token(Role.OPERATE)
    body = {"name": "idea", "definition": {"cron": "* * * * *", "command": ["/bin/true"]}}
    assert (await house.ask("POST", "/api/v1/proposals", json=body, token=token)).status == 201
    stretch = {"begin": "2025-01-01T00:00:00Z", "end": "2025-01-01T01:00:00Z"}
    assert (await house.ask("POST", "/api/v1/jobs/idea/run", token=token)).json["is_skipped"]
    for path, given in (("backfill", stretch), ("enable", None), ("accept", None)):
        assert (await house.ask("POST", f"/api/v1/jobs/idea/{path}", json=given, token=token)).status in (403, 409)
    states = {run["state"] for run in (await house.ask("GET", "/api/v1/runs?job=idea")).json["items"]}
    assert states == {"skipped"}


async def test_what_is_done_is_audited_under_the_name_of_the_token(house: House) -> None:
    token = await house.token(Role.OPERATE)
    await house.ask("POST", "/api/v1/jobs/coder%2Fnightly/pause", token=token)
    (latest,) = (await house.ask("GET", "/api/v1/audit?limit=1&subject=coder/nightly")).json["items"]
    assert (latest["operation"], latest["caller"], latest["door"], latest["subject"]) == (
        *("job.pause", "a operate", "api"),
        JOB,
    )


async def test_every_change_is_on_record_with_who_what_before_and_after(each_house: House) -> None:
    await start_run(each_house.site)
    for face in sorted(CHANGING, key=lambda face: ORDER.get(face.operation.name, 1)):
        name = face.operation.name
        assert (await each_house.ask_example(face)).status == face.route.status, name
        (latest,) = (await each_house.ask("GET", "/api/v1/audit?limit=1")).json["items"]
        # What is done to many is on record for each of them.
        done = name.removesuffix("_many")
        assert (latest["operation"], latest["caller"], latest["door"]) == (done, "admin", "api")
        assert latest["subject"]
        assert (latest["before"] is not None, latest["after"] is not None) == KEPT.get(done, (True, True)), name


async def test_the_same_on_both_databases(each_house: House) -> None:
    for role, status in ((Role.READ, 403), (Role.OPERATE, 200)):
        answer = await each_house.ask("POST", "/api/v1/jobs/coder%2Fnightly/pause", token=await each_house.token(role))
        assert answer.status == status
    assert (await each_house.ask("GET", "/api/v1/jobs", token=await start_run(each_house.site))).status == 200
