"""Fleet files applied: whole or not at all, without losing what jobs have been through."""

from __future__ import annotations

import random  # noqa: TID251 - seeded
import textwrap
from pathlib import Path

import pytest

from rota.errors import ConflictError, FleetError
from rota.ledger.site import Site
from rota.operations import agents, auditing, jobs, limits, runs
from rota.operations.fleets import FleetChanges, FleetText, apply_file, check_fleet, diff_fleet
from rota.operations.watching import FleetWatch
from rota.testing import FakeClock, HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, HOUR, MINUTE, OK, clocks, job, runs_of, save, states

pytestmark = pytest.mark.anyio

FILE = """\
fleet: {name: home, timezone: Europe/Berlin}
pools: {local: 50}
agents:
  coder:
    description: writes code
    max_concurrent: 3
    command: ["true"]
    schedules:
      nightly: {cron: "0 2 * * *"}
      check: {every: 5m}
jobs:
  backup: {daily: "03:00", command: ["true"]}
"""


def source(text: str = FILE, file: str = "/fleet/rota.yaml") -> FleetText:
    return FleetText(text=textwrap.dedent(text), file=file)


def told(changes: FleetChanges) -> list[str]:
    return [f"{one.change} {one.job}" for one in changes.changes]


async def test_a_file_becomes_agents_jobs_and_limits(site: Site) -> None:
    applied = await apply_file(site, source=source())
    assert told(applied) == ["added coder/nightly", "added coder/check", "added backup"]
    shown = {one.name: one for one in (await jobs.list_jobs(site)).items}
    assert set(shown) == {"coder/nightly", "coder/check", "backup"}
    assert {one.timezone for one in shown.values()} == {"Europe/Berlin"}
    nightly = shown["coder/nightly"]
    assert (nightly.agent, nightly.fleet, nightly.file, nightly.line) == ("coder", "home", "/fleet/rota.yaml", 9)
    (agent,) = (await agents.list_agents(site)).items
    assert (agent.name, agent.description, agent.max_concurrent, agent.jobs) == ("coder", "writes code", 3, 2)
    sizes = {(one.scope, one.name): one.size for one in (await limits.list_limits(site)).items}
    assert sizes["pool", "local"] == 50


async def test_a_file_applied_again_changes_nothing(site: Site) -> None:
    await apply_file(site, source=source())
    before = {one.name: one for one in (await jobs.list_jobs(site)).items}
    again = await apply_file(site, source=source())
    assert (told(again), again.unchanged) == ([], 3)
    assert {one.name: one for one in (await jobs.list_jobs(site)).items} == before


async def test_next_times_failure_counts_and_history_stay_when_a_file_is_applied(site: Site, hand: HandCranked) -> None:
    hand.action._decide = lambda _: (MINUTE, FAILED)
    await apply_file(site, source=source())
    await hand.crank(NOW + 20 * MINUTE)
    before = await jobs.show_job(site, job="coder/check")
    assert before.failure_count > 0
    moved = FILE.replace("agents:", "# a comment\nagents:").replace("writes code", "writes better code")
    changes = await apply_file(site, source=source(moved.replace("{every: 5m}", "{every: 5m, description: new}")))
    assert told(changes) == ["edited coder/check"]
    assert [(one.field, one.before, one.after) for one in changes.changes[0].fields] == [("description", None, "new")]
    after = await jobs.show_job(site, job="coder/check")
    assert (after.failure_count, after.next_run_at, after.last_run_at) == (
        before.failure_count,
        before.next_run_at,
        before.last_run_at,
    )
    assert (before.line, after.line) == (10, 11)
    assert len((await runs.list_runs(site, job="coder/check")).items) >= 1


async def test_state_is_kept_by_apply_and_the_file_decides_only_when_it_changes_its_mind(site: Site) -> None:
    await apply_file(site, source=source())
    await jobs.disable_job(site, job="backup")
    await jobs.pause_job(site, job="coder/check")
    await limits.set_limit(site, name="local", size=7)
    await apply_file(site, source=source(FILE.replace("writes code", "writes")))
    shown = {one.name: one.status for one in (await jobs.list_jobs(site)).items}
    assert (shown["backup"], shown["coder/check"]) == ("disabled", "paused")
    sizes = {one.name: one.size for one in (await limits.list_limits(site)).items}
    assert sizes["local"] == 7
    off = FILE.replace('cron: "0 2 * * *"', 'cron: "0 2 * * *", enabled: false')
    assert told(await apply_file(site, source=source(off))) == ["disabled coder/nightly"]
    await jobs.enable_job(site, job="coder/nightly")
    assert told(await apply_file(site, source=source(off))) == []
    assert (await jobs.show_job(site, job="coder/nightly")).status == "idle"
    assert told(await apply_file(site, source=source())) == ["enabled coder/nightly"]


async def test_a_schedule_removed_mid_run_finishes_and_its_queued_runs_are_cancelled(
    site: Site, hand: HandCranked
) -> None:
    hand.action._decide = lambda _: (HOUR / 2, OK)
    await apply_file(site, source=source())
    await hand.step()
    waiting = await jobs.run_job(site, job="coder/check")
    (running,) = (await runs.list_runs(site, state=(runs.RunState.RUNNING,))).items
    gone = FILE.replace("      check: {every: 5m}\n", "")
    assert told(await apply_file(site, source=source(gone))) == ["removed coder/check"]
    assert (await runs.show_run(site, run=waiting.run_id)).reason == "job_removed"
    assert (await runs.show_run(site, run=running.id)).state == "running"
    await hand.crank(NOW + 2 * HOUR)
    assert (await runs.show_run(site, run=running.id)).state == "succeeded"


async def test_a_renamed_job_keeps_its_history_also_when_it_takes_the_name_of_a_removed_one(
    site: Site, hand: HandCranked
) -> None:
    await apply_file(site, source=source())
    await hand.crank(NOW + MINUTE)
    first = FILE.replace("check: {every: 5m}", "look: {every: 5m, renamed_from: coder/check}")
    changes = await apply_file(site, source=source(first))
    assert told(changes) == ["renamed coder/look"]
    assert len((await runs.list_runs(site, job="coder/look")).items) == 1
    assert told(await apply_file(site, source=source(first))) == []
    taken = FILE.replace("nightly: {cron", "gone: {cron").replace(
        "check: {every: 5m}", "nightly: {renamed_from: coder/look, every: 5m}"
    )
    changes = await apply_file(site, source=source(taken))
    assert sorted(told(changes)) == ["added coder/gone", "edited coder/nightly", "removed coder/look"]


async def test_nothing_is_changed_when_one_part_cannot_be_accepted(site: Site, hand: HandCranked) -> None:
    await apply_file(site, source=source())
    await save(hand, job("taken"))
    with pytest.raises(ConflictError, match="added by hand: taken"):
        await apply_file(site, source=source(FILE.replace("backup:", "taken:")))
    with pytest.raises(FleetError):
        await apply_file(site, source=source(FILE.replace("5m", "5x")))
    with pytest.raises(ConflictError, match=r"was applied from /fleet/rota\.yaml"):
        await apply_file(site, source=source(file="/other/rota.yaml"))
    assert {one.name for one in (await jobs.list_jobs(site)).items} == {
        "coder/nightly",
        "coder/check",
        "backup",
        "taken",
    }


async def test_a_file_takes_over_when_it_is_told_to(site: Site, hand: HandCranked) -> None:
    await save(hand, job("backup", "every 1h"))
    await hand.step()
    applied = await apply_file(site, source=source(), takes_over=True)
    assert "edited backup" in told(applied)
    assert (await jobs.show_job(site, job="backup")).file == "/fleet/rota.yaml"
    assert len((await runs.list_runs(site, job="backup")).items) == 1
    moved = await apply_file(site, source=source(file="/elsewhere/rota.yaml"), takes_over=True)
    assert {field.field for one in moved.changes for field in one.fields} == {"cwd"}
    assert (await jobs.show_job(site, job="backup")).file == "/elsewhere/rota.yaml"


async def test_a_job_from_a_file_is_changed_there_and_nowhere_else(site: Site) -> None:
    await apply_file(site, source=source())
    for change in (
        jobs.edit_job(site, job="backup", definition={"every": "5m", "command": ["true"]}),
        jobs.remove_job(site, job="backup"),
    ):
        with pytest.raises(ConflictError, match=r"backup comes from /fleet/rota\.yaml:12"):
            await change


async def test_what_is_only_proposed_gives_way_to_a_file(site: Site) -> None:
    await jobs.propose_job(site, name="backup", definition={"manual": True, "command": ["true"]})
    assert "edited backup" in told(await apply_file(site, source=source()))
    assert (await jobs.show_job(site, job="backup")).status == "idle"


async def test_one_time_that_has_passed_is_not_made_up_for(site: Site, hand: HandCranked) -> None:
    text = "jobs:\n  old: {at: 2020-01-01T00:00, command: ['true']}\n"
    await apply_file(site, source=source(text))
    await hand.crank(NOW + HOUR)
    await apply_file(site, source=source(text.replace("command", "description: again, command")))
    await hand.crank(NOW + 2 * HOUR)
    assert await runs_of(hand, "old") == []
    assert (await jobs.show_job(site, job="old")).status == "ended"


async def test_two_fleets_live_side_by_side_and_do_not_touch_each_other(site: Site) -> None:
    await apply_file(site, source=source())
    other = "fleet: {name: work}\njobs:\n  mail: {every: 5m, command: ['true']}\n"
    assert told(await apply_file(site, source=source(other, file="/work/rota.yaml"))) == ["added mail"]
    with pytest.raises(ConflictError, match='the fleet "home": backup'):
        await apply_file(site, source=source(other.replace("mail", "backup"), file="/work/rota.yaml"))
    assert len((await jobs.list_jobs(site)).items) == 4


async def test_a_fleet_gets_another_name_in_its_file_when_it_is_told_to(site: Site, hand: HandCranked) -> None:
    await apply_file(site, source=source())
    await hand.crank(NOW + 20 * MINUTE)
    before = {one.name: one for one in (await jobs.list_jobs(site)).items}
    renamed = FILE.replace("name: home", "name: house").replace("  backup:", "  saved:")
    with pytest.raises(ConflictError, match='If "home" was the name of this fleet: rota apply --take-over'):
        await apply_file(site, source=source(renamed))
    applied = await apply_file(site, source=source(renamed), takes_over=True)
    assert sorted(told(applied)) == ["added saved", "edited coder/check", "edited coder/nightly", "removed backup"]
    assert applied.limits == ()
    after = {one.name: one for one in (await jobs.list_jobs(site)).items}
    assert {one.fleet for one in after.values()} == {"house"}
    for name in ("coder/check", "coder/nightly"):
        assert (after[name].id, after[name].next_run_at) == (before[name].id, before[name].next_run_at)
    assert [one.fleet for one in (await agents.list_agents(site)).items] == ["house"]
    assert [one.name for one in await site.store.read(lambda tx: tx.fleets())] == ["house"]
    assert told(await apply_file(site, source=source(renamed))) == []


async def test_the_usual_size_comes_back_when_a_file_no_longer_says_one(site: Site) -> None:
    sized = FILE.replace("local: 50", "local: 50, remote: 2, own: 4")
    await apply_file(site, source=source(sized))
    plain = FILE.replace("pools: {local: 50}\n", "").replace("    max_concurrent: 3\n", "")
    applied = await apply_file(site, source=source(plain))
    assert {(one.name, one.before, one.after) for one in applied.limits} == {
        ("local", 50, 1),
        ("remote", 2, 10),
        ("own", 4, 1),
        ("coder", 3, 1),
    }
    assert (await apply_file(site, source=source(plain))).limits == ()


async def test_the_size_that_another_fleet_gives_a_pool_stays(site: Site) -> None:
    await apply_file(site, source=source())
    other = "fleet: {name: work}\npools: {local: 7}\n"
    await apply_file(site, source=source(other, file="/work/rota.yaml"))
    applied = await apply_file(site, source=source(FILE.replace("pools: {local: 50}\n", "")))
    assert [(one.name, one.after) for one in applied.limits] == [("local", 7)]


async def test_a_diff_says_what_apply_would_do_and_does_nothing(site: Site) -> None:
    await apply_file(site, source=source())
    changed = FILE.replace("5m", "10m").replace("  backup:", "  saved:")
    found = await diff_fleet(site, source=source(changed))
    assert not found.is_applied
    assert sorted(told(found)) == ["added saved", "edited coder/check", "removed backup"]
    assert (await jobs.show_job(site, job="coder/check")).schedule == "every 5m"
    assert told(await apply_file(site, source=source(changed))) == told(found)


async def test_a_wait_counts_from_when_the_file_was_first_applied(site: Site, hand: HandCranked) -> None:
    text = "jobs:\n  soon: {in: 20m, command: ['true']}\n"
    await apply_file(site, source=source(text))
    await hand.crank(NOW + 10 * MINUTE)
    assert told(await apply_file(site, source=source(text + "# later\n"))) == []
    await hand.crank(NOW + HOUR)
    assert clocks(await runs_of(hand, "soon")) == ["10:20"]


async def test_one_time_that_is_not_kept_is_not_run_again_when_its_file_is_applied_again(
    site: Site, hand: HandCranked
) -> None:
    rest = "keep: false, command: ['true']"
    text = f"jobs:\n  soon: {{in: 20m, {rest}}}\n  due: {{at: 2026-03-02T10:30, {rest}}}\n"
    await apply_file(site, source=source(text))
    await hand.crank(NOW + HOUR)
    assert told(await apply_file(site, source=source(text + "# later\n"))) == []
    await hand.crank(NOW + 2 * HOUR)
    assert clocks(await runs_of(hand, "soon")) == ["10:20"]
    assert clocks(await runs_of(hand, "due")) == ["10:30"]
    assert {one.status for one in (await jobs.list_jobs(site)).items} == {"ended"}
    assert sorted(told(await apply_file(site, source=source("jobs: {}\n")))) == ["removed due", "removed soon"]


async def test_every_change_of_a_file_is_on_record(site: Site) -> None:
    await apply_file(site, source=source())
    await apply_file(site, source=source(FILE.replace("5m", "6m")))
    found = [(one.operation, one.subject) for one in (await auditing.list_audit(site)).items]
    assert found[:2] == [("fleet.apply", "home"), ("job.edit", "coder/check")]
    assert found[2:] == [
        ("fleet.apply", "home"),
        ("pool.set", "coder"),
        ("pool.set", "local"),
        ("job.add", "backup"),
        ("job.add", "coder/check"),
        ("job.add", "coder/nightly"),
    ]
    await apply_file(site, source=source(FILE.replace("5m", "6m").replace("local: 50", "local: 51")))
    latest = (await auditing.list_audit(site)).items[1]
    assert (latest.operation, latest.before, latest.after) == (
        "pool.set",
        {"scope": "pool", "size": 50},
        {"scope": "pool", "size": 51},
    )


async def test_a_summary_counts_what_is_in_a_file(site: Site) -> None:
    summary = await check_fleet(site, source=source())
    assert (summary.fleet, summary.jobs, summary.agents, summary.warnings) == ("home", 3, 1, ())


async def test_no_due_time_is_lost_or_repeated_when_files_are_applied_all_the_time(
    site: Site, hand: HandCranked, clock: FakeClock
) -> None:
    chance = random.Random(7)  # noqa: S311
    tick = "jobs:\n  tick: {{cron: '*/5 * * * *', command: ['true'], description: '{}'}}\n"
    text = tick + "  pad: {{every: 7m, command: ['true']}}\n"
    await apply_file(site, source=source(text.format("first")))
    at = NOW
    while at < NOW + 6 * HOUR:
        at += MINUTE * chance.choice((1, 2, 3, 5, 5, 10))
        await hand.crank(at)
        await apply_file(site, source=source(text.format(chance.random())))
    found = await runs_of(hand, "tick")
    expected = [NOW + 5 * MINUTE * number for number in range(1, int((clock.now() - NOW) / (5 * MINUTE)) + 1)]
    assert clocks(found) == [f"{due:%H:%M}" for due in expected]
    assert await states(hand, "tick") == {"succeeded": len(expected)}


async def test_a_watched_file_is_applied_when_it_changes_and_kept_when_it_is_broken(
    site: Site, clock: FakeClock, tmp_path: Path
) -> None:
    path = tmp_path / "rota.yaml"
    path.write_text(FILE)
    watch = FleetWatch(site, path, {}, "UTC")
    await watch.apply()
    assert len((await jobs.list_jobs(site)).items) == 3

    async def looks(count: int = 3) -> None:
        for _ in range(count):
            clock.set(await watch.look())

    path.write_text(FILE.replace("  backup:", "  saved:"))
    await looks()
    assert {one.name for one in (await jobs.list_jobs(site)).items} == {"coder/nightly", "coder/check", "saved"}
    path.write_text("jobs: [")
    await looks()
    assert len((await jobs.list_jobs(site)).items) == 3
    path.unlink()
    await looks()
    assert len((await jobs.list_jobs(site)).items) == 3
    path.write_text(FILE)
    await looks()
    assert {one.name for one in (await jobs.list_jobs(site)).items} == {"coder/nightly", "coder/check", "backup"}


async def test_a_file_that_is_being_written_is_left_alone_until_it_is_whole(
    site: Site, clock: FakeClock, tmp_path: Path
) -> None:
    path = tmp_path / "rota.yaml"
    path.write_text(FILE)
    watch = FleetWatch(site, path, {}, "UTC")
    await watch.apply()
    path.write_text(FILE + "  half: {every: 5m, ")
    clock.set(await watch.look())
    path.write_text(FILE + "  half: {every: 5m, command: ['true']}\n")
    clock.set(await watch.look())
    assert len((await jobs.list_jobs(site)).items) == 3
    clock.set(await watch.look())
    assert len((await jobs.list_jobs(site)).items) == 4


async def test_a_watched_file_says_when_its_settings_wait_for_the_next_start(
    site: Site, clock: FakeClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "rota.yaml"
    path.write_text(FILE)
    watch = FleetWatch(site, path, {}, "UTC")
    await watch.apply()

    async def warnings_after(text: str) -> int:
        caplog.clear()
        path.write_text(text)
        for _ in range(3):
            clock.set(await watch.look())
        return sum("next start" in str(vars(one)) for one in caplog.records)

    assert await warnings_after(FILE + "# later\n") == 0
    assert await warnings_after(FILE + "engine: {max_concurrent: 2}\n") == 1
    assert await warnings_after(FILE + "engine: {max_concurrent: 2} # later\n") == 0
