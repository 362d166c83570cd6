"""Jobs through the operations that every door calls, on every database."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from rota.core.job import JobStatus
from rota.core.settlement import SettleRules
from rota.errors import ChangedError, ConflictError, FleetError, ForbiddenError, NotFoundError, ScheduleError
from rota.ledger.site import Site
from rota.operations import auditing, coming, explaining, jobs, runs
from rota.ports.caller import Caller, Door, Role
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, HOUR, MINUTE, job, save

pytestmark = pytest.mark.anyio

TICK = {"every": "5m", "command": ["true"]}


async def test_a_job_is_saved_in_the_words_of_the_file_and_shown_in_them(site: Site) -> None:
    saved = await jobs.add_job(site, name="tick", definition=TICK, timezone="Europe/Berlin")
    assert saved.next_times[:2] == (NOW, NOW + 5 * MINUTE)
    shown = await jobs.show_job(site, job="tick")
    assert shown.definition == {"every": "5m", "command": ["true"], "timezone": "Europe/Berlin"}
    assert (shown.status, shown.type, shown.in_words) == (
        "idle",
        "every",
        "every 5m, counted from the end of the previous run, the first at once",
    )


async def test_everything_wrong_is_said_at_once_when_a_definition_cannot_be_accepted(site: Site) -> None:
    with pytest.raises(FleetError) as refused:
        await jobs.add_job(site, name="tick", definition={"evry": "5m", "command": [], "timeout": "5x"})
    assert len(refused.value.problems) >= 3
    assert (await jobs.list_jobs(site)).items == ()


async def test_an_edit_is_refused_when_somebody_else_changed_the_job_meanwhile(site: Site) -> None:
    await jobs.add_job(site, name="tick", definition=TICK)
    seen = await jobs.show_job(site, job="tick")
    await jobs.edit_job(site, job="tick", definition=TICK | {"every": "6m"}, version=seen.version)
    with pytest.raises(ChangedError):
        await jobs.edit_job(site, job="tick", definition=TICK | {"every": "7m"}, version=seen.version)
    assert (await jobs.show_job(site, job="tick")).schedule == "every 6m"


async def test_a_proposed_job_runs_only_when_a_person_accepted_it(site: Site, hand: HandCranked) -> None:
    await jobs.propose_job(site, name="tick", definition=TICK)
    await hand.crank(NOW + HOUR)
    assert (await runs.list_runs(site)).items == ()
    with pytest.raises(ConflictError, match="rota job accept tick"):
        await jobs.enable_job(site, job="tick")
    assert (await jobs.accept_job(site, job="tick")).status == JobStatus.IDLE
    await hand.crank(NOW + 2 * HOUR)
    assert (await runs.list_runs(site)).items
    with pytest.raises(ConflictError, match="nothing to accept"):
        await jobs.accept_job(site, job="tick")


async def test_pages_of_jobs_meet_without_gap_or_repeat(site: Site, hand: HandCranked) -> None:
    await save(hand, *(job(f"j{number:02}", agent="coder" if number % 2 else None) for number in range(25)))
    names: list[str] = []
    after = None
    while True:
        page = await jobs.list_jobs(site, after=after, limit=4)
        names += [one.name for one in page.items]
        if page.next is None:
            break
        after = page.next
    assert names == [f"j{number:02}" for number in range(25)]
    odd = await jobs.list_jobs(site, agent="coder", limit=5)
    assert [one.name for one in odd.items] == ["j01", "j03", "j05", "j07", "j09"]
    assert odd.next == "j09"
    assert [one.name for one in (await jobs.list_jobs(site, contains="J2")).items] == [f"j{n}" for n in range(20, 25)]
    assert (await jobs.list_jobs(site, status=JobStatus.PAUSED)).items == ()


async def test_every_change_is_on_record_with_who_what_and_through_which_door(site: Site) -> None:
    await jobs.add_job(site, name="tick", definition=TICK)
    await jobs.edit_job(site, job="tick", definition=TICK | {"every": "6m"})
    await jobs.pause_job(site, job="tick", note="holiday")
    await jobs.resume_job(site, job="tick")
    await jobs.disable_job(site, job="tick")
    await jobs.enable_job(site, job="tick")
    requested = await jobs.run_job(site, job="tick")
    await runs.cancel_run(site, run=requested.run_id, reason="enough")
    await jobs.remove_job(site, job="tick")
    found = (await auditing.list_audit(site)).items[::-1]
    assert [one.operation for one in found] == [
        "job.add",
        "job.edit",
        "job.pause",
        "job.resume",
        "job.disable",
        "job.enable",
        "job.run",
        "run.cancel",
        "job.remove",
    ]
    assert {(one.caller, one.door) for one in found} == {("ada", "cli")}
    edit = found[1]
    assert (edit.before, edit.after) == (
        {"every": "5m", "command": ["true"], "timezone": "UTC"},
        {"every": "6m", "command": ["true"], "timezone": "UTC"},
    )
    assert found[2].after == {"until": None, "note": "holiday"}
    of_tick = await auditing.list_audit(site, subject="tick", limit=3)
    assert [one.operation for one in of_tick.items] == ["job.remove", "job.run", "job.enable"]
    rest = await auditing.list_audit(site, subject="tick", after=of_tick.next)
    assert [one.operation for one in rest.items][-1] == "job.add"


async def test_a_time_that_has_passed_is_refused_where_one_to_come_is_meant(site: Site) -> None:
    with pytest.raises(ScheduleError, match="a time to come"):
        await jobs.add_job(site, name="late", definition={"at": "2020-01-01T00:00", "command": ["true"]})
    await jobs.add_job(site, name="tick", definition=TICK)
    with pytest.raises(ScheduleError, match="a time to come"):
        await jobs.pause_job(site, job="tick", until=NOW)


async def test_after_a_pause_the_next_time_is_shown_as_it_will_be(site: Site, hand: HandCranked) -> None:
    await save(hand, job("report", "0 12 * * *"))
    await jobs.pause_job(site, job="report")
    shown = await jobs.resume_job(site, job="report")
    assert (shown.next_run_at, shown.source) == (NOW + 2 * HOUR, "baseline-cron")
    assert (await coming.coming_times_of_job(site, job="report", count=1)).items[0].at == NOW + 2 * HOUR


async def test_a_program_means_a_job_by_its_whole_name_only(site: Site) -> None:
    await jobs.add_job(site, name="tick", definition=TICK)
    program = msgspec.structs.replace(site, caller=Caller(name="ci", door=Door.API))
    assert (await jobs.show_job(site, job="ti")).name == "tick"
    with pytest.raises(NotFoundError):
        await jobs.remove_job(program, job="ti")


async def test_an_id_means_its_own_job_although_another_one_is_named_like_it(site: Site) -> None:
    ids = [(await jobs.add_job(site, name=name, definition=TICK)).id for name in ("a", "m", "z")]
    for job_id in ids:
        await jobs.propose_job(site, name=job_id, definition=TICK)
    assert [(await jobs.show_job(site, job=job_id)).name for job_id in ids] == ["a", "m", "z"]


async def test_the_runs_of_a_removed_job_are_found_by_its_name(site: Site, hand: HandCranked) -> None:
    await save(hand, job("gone"))
    await hand.step()
    await jobs.remove_job(site, job="gone")
    assert len((await runs.list_runs(site, job="gone")).items) == 1
    with pytest.raises(NotFoundError):
        await runs.list_runs(site, job="never")


async def test_a_pause_by_the_engine_is_on_record_too(site: Site, hand: HandCranked) -> None:
    hand.action._decide = lambda _: (MINUTE, FAILED)
    await save(hand, job("flaky", "*/10 * * * *", settle=SettleRules(pause_after=2)))
    await hand.crank(NOW + HOUR)
    (pause,) = (await auditing.list_audit(site)).items
    assert (pause.caller, pause.door, pause.operation, pause.subject) == ("engine", "engine", "job.pause", "flaky")


async def test_nothing_is_on_record_when_a_change_was_refused(site: Site) -> None:
    await jobs.add_job(site, name="tick", definition=TICK)
    with pytest.raises(ConflictError):
        await jobs.add_job(site, name="tick", definition=TICK)
    with pytest.raises(NotFoundError):
        await jobs.pause_job(site, job="tock")
    assert len((await auditing.list_audit(site)).items) == 1


async def test_a_run_sees_its_own_agent_and_nothing_else(site: Site, hand: HandCranked) -> None:
    await save(hand, job("coder/a", agent="coder"), job("coder/b", agent="coder"), job("other"))
    await hand.step()
    own = (await jobs.find_job(site, "coder/a")).id
    caller = Caller(name="run_1", door=Door.API, role=Role.READ, run_id="run_1", job_id=own, agent="coder")
    inside = msgspec.structs.replace(site, caller=caller)
    assert [one.name for one in (await jobs.list_jobs(inside)).items] == ["coder/a", "coder/b"]
    with pytest.raises(NotFoundError):
        await jobs.show_job(inside, job="other")
    assert {run.agent for run in (await runs.list_runs(inside)).items} == {"coder"}
    (stranger,) = (await runs.list_runs(site, job="other")).items
    with pytest.raises(NotFoundError):
        await runs.show_run(inside, run=stranger.id)
    proposed = await jobs.propose_job(inside, name="coder/mine", definition=TICK)
    assert (await jobs.show_job(site, job=proposed.id)).agent == "coder"
    for name, agent in (("coder/mine", "other"), ("other/mine", None), ("mine", None)):
        with pytest.raises(ForbiddenError):
            await jobs.propose_job(inside, name=name, definition=TICK, agent=agent)
    assert (await runs.list_runs(inside, agent="other")).items == ()


async def test_runs_are_found_by_every_facet(site: Site, hand: HandCranked) -> None:
    await save(hand, job("a", agent="coder"), job("b"))
    await hand.crank(NOW + 6 * MINUTE)
    await jobs.run_job(site, job="a")
    await hand.step()
    assert len((await runs.list_runs(site)).items) == 5
    assert len((await runs.list_runs(site, agent="coder")).items) == 3
    assert [run.cause for run in (await runs.list_runs(site, job="a", limit=1)).items] == ["manual"]
    manual = await runs.list_runs(site, cause=jobs_cause("manual"))
    assert [run.job for run in manual.items] == ["a"]
    assert (await runs.list_runs(site, state=(state("failed"),))).items == ()
    assert len((await runs.list_runs(site, state=(state("succeeded"), state("failed")))).items) == 5
    assert len((await runs.list_runs(site, since=NOW + MINUTE)).items) == 3
    assert len((await runs.list_runs(site, until=NOW + MINUTE)).items) == 2
    assert (await runs.list_runs(site, since=NOW + MINUTE, until=NOW + 2 * MINUTE)).items == ()


def state(word: str) -> runs.RunState:
    return runs.RunState(word)


def jobs_cause(word: str) -> runs.Cause:
    return runs.Cause(word)


async def test_the_coming_times_of_all_jobs_are_in_order(site: Site, hand: HandCranked) -> None:
    await save(hand, job("half", "*/30 * * * *"), job("tenth", "*/10 * * * *"), job("by-hand", "manual"))
    found = (await coming.list_coming(site, count=5)).items
    assert [(one.job, (one.at - NOW) // MINUTE) for one in found] == [
        ("tenth", 10),
        ("tenth", 20),
        ("half", 30),
        ("tenth", 30),
        ("tenth", 40),
    ]
    assert [one.at for one in (await coming.coming_times_of_job(site, job="half", count=2)).items] == [
        NOW + 30 * MINUTE,
        NOW + 60 * MINUTE,
    ]
    assert (await coming.coming_times_of_job(site, job="by-hand")).items == ()


async def test_why_says_the_cause_of_a_run_of_the_next_time_and_of_none(site: Site, hand: HandCranked) -> None:
    await save(hand, job("report", "0 12 * * *"))
    requested = await jobs.run_job(site, job="report")
    await hand.step()
    assert (await explaining.explain_run(site, run=requested.run_id)).lines[0] == "cause: manual"
    assert any("baseline-cron" in line for line in (await explaining.explain_job(site, job="report")).lines)
    missed = await explaining.explain_job(site, job="report", at=NOW - timedelta(hours=1))
    assert missed.lines[0].startswith("No due time of report is on record for then")
