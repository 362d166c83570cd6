"""The timeline shows the jobs that are worth a look, and of them what lies within the window. On every database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rota.core.run import RunState
from rota.core.settlement import Outcome
from rota.errors import ScheduleError
from rota.ledger.site import Site
from rota.operations import jobs, timeline
from rota.operations.timeline import Lane, Timeline, Worth, in_order, show_timeline, window_of
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import FAILED, HOUR, MINUTE, OK, job, save

pytestmark = pytest.mark.anyio
DAY = timedelta(days=1)


def names(found: Timeline) -> list[str]:
    return [lane.job for lane in found.lanes]


async def lane_of(site: Site, name: str, **window: datetime) -> Lane:
    (lane,) = [one for one in (await show_timeline(site, **window)).lanes if one.job == name]  # type: ignore[arg-type]
    return lane


@pytest.mark.parametrize(
    ("begin", "end", "shown"),
    [
        (None, None, (NOW - 6 * HOUR, NOW + 2 * HOUR)),
        (NOW - DAY, None, (NOW - DAY, NOW + 2 * HOUR)),
        (NOW - 20 * DAY, None, (NOW - 20 * DAY, NOW - 6 * DAY)),
        (NOW + DAY, None, (NOW + DAY, NOW + DAY + 2 * HOUR)),
        (None, NOW + DAY, (NOW - 6 * HOUR, NOW + DAY)),
        (None, NOW - DAY, (NOW - DAY - 8 * HOUR, NOW - DAY)),
        (NOW - 13 * DAY, NOW + DAY, (NOW - 13 * DAY, NOW + DAY)),
    ],
)
def test_a_window_is_made_whole(begin: datetime | None, end: datetime | None, shown: tuple[datetime, datetime]) -> None:
    window = window_of(NOW, begin, end)
    assert (window.begin, window.end) == shown


@pytest.mark.parametrize(
    ("begin", "end", "part"),
    [
        (NOW, NOW, "a time after begin"),
        (NOW, NOW - HOUR, "a time after begin"),
        (NOW - 13 * DAY, NOW + DAY + MINUTE, "at most 14 days"),
        (None, NOW + 14 * DAY, "at most 14 days"),
        (datetime(1970, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC), "at most 14 days"),
    ],
)
def test_a_window_that_cannot_be_is_refused(begin: datetime | None, end: datetime, part: str) -> None:
    with pytest.raises(ScheduleError, match=part) as caught:
        window_of(NOW, begin, end)
    assert caught.value.field == "end"


def test_what_runs_comes_first_then_what_fails_then_what_ran_last_then_what_is_due_next() -> None:
    found = [
        Worth(job_id="never"),
        Worth(job_id="next", next_at=5),
        Worth(job_id="soon", next_at=3),
        Worth(job_id="earlier", last_run="run_1"),
        Worth(job_id="latest", last_run="run_2", next_at=9),
        Worth(job_id="failing", is_failing=True),
        Worth(job_id="failed-latest", is_failing=True, last_run="run_1"),
        Worth(job_id="running", is_running=True),
        Worth(job_id="running-and-failing", is_running=True, is_failing=True),
    ]
    wanted = "running-and-failing running failed-latest failing latest earlier soon next never"
    assert [one.job_id for one in in_order(found)] == wanted.split()


async def test_lanes_show_runs_past_and_due_times_to_come(hand: HandCranked, site: Site) -> None:
    await save(hand, job("tick", "*/30 * * * *", agent="coder"), job("every", "every 1h"), job("hand", "manual"))
    await hand.crank(NOW + HOUR)
    found = await show_timeline(site)
    assert (found.begin, found.now, found.end) == (NOW - 5 * HOUR, NOW + HOUR, NOW + 3 * HOUR)
    assert (sorted(names(found)), found.left_out) == (["every", "hand", "tick"], 0)
    tick, every = await lane_of(site, "tick"), await lane_of(site, "every")
    assert (tick.agent, tick.status, tick.is_cut) == ("coder", "idle", False)
    assert [run.due_at for run in tick.runs] == [NOW + 30 * MINUTE, NOW + HOUR]
    assert {run.state for run in tick.runs} == {"succeeded"}
    assert tick.due == (NOW + 90 * MINUTE, NOW + 2 * HOUR, NOW + 150 * MINUTE, NOW + 3 * HOUR)
    assert every.due == (NOW + 2 * HOUR, NOW + 3 * HOUR)
    idle = await lane_of(site, "hand")
    assert (idle.runs, idle.due) == ((), ())
    assert names(found)[-1] == "hand"


async def test_what_runs_and_what_fails_come_before_the_rest(hand: HandCranked, site: Site) -> None:
    await save(hand, *(job(name, "*/10 * * * *") for name in ("a", "b", "c")), job("slow", "manual"))
    outcomes: dict[str, tuple[timedelta, Outcome]] = {"b": (timedelta(), FAILED), "slow": (9 * HOUR, OK)}
    hand.action._decide = lambda run: outcomes.get(run.job, (timedelta(), OK))
    await jobs.run_job(site, job="slow")
    await hand.crank(NOW + 10 * MINUTE)
    assert names(await show_timeline(site))[:2] == ["slow", "b"]
    first = await show_timeline(site, lanes=1)
    assert (names(first), first.left_out) == (["slow"], 3)
    slow = await lane_of(site, "slow")
    assert (slow.status, [run.state for run in slow.runs]) == ("idle", ["running"])


async def test_lanes_are_of_an_agent_and_of_a_name(hand: HandCranked, site: Site) -> None:
    await save(
        hand,
        job("coder/nightly", "*/10 * * * *", agent="coder"),
        job("coder/n_ghtly", "*/10 * * * *", agent="coder"),
        job("writer/nightly", "*/10 * * * *", agent="writer"),
    )
    await hand.crank(NOW + 20 * MINUTE)
    hand.action._decide = lambda _: (9 * HOUR, FAILED)
    await jobs.run_job(site, job="writer/nightly")
    await hand.step()
    found = await show_timeline(site, agent="coder")
    assert (sorted(names(found)), found.left_out) == (["coder/n_ghtly", "coder/nightly"], 0)
    assert sorted(names(await show_timeline(site, contains="NIGHT"))) == ["coder/nightly", "writer/nightly"]
    assert names(await show_timeline(site, contains="r/n_")) == ["coder/n_ghtly"]
    assert names(await show_timeline(site, agent="coder", contains="writer")) == []
    assert names(await show_timeline(site, contains="%")) == []


async def test_a_run_that_reaches_into_the_window_is_shown(hand: HandCranked, site: Site) -> None:
    await save(hand, job("long", "manual", timeout=None))
    hand.action._decide = lambda _: (2 * HOUR, OK)
    await jobs.run_job(site, job="long")
    await hand.step()
    window = {"begin": NOW + HOUR, "end": NOW + 3 * HOUR}
    assert [run.state for run in (await lane_of(site, "long", **window)).runs] == ["running"]
    await hand.crank(NOW + 4 * HOUR)
    assert [run.state for run in (await lane_of(site, "long", **window)).runs] == ["succeeded"]
    assert (await lane_of(site, "long", begin=NOW + 2 * HOUR, end=NOW + 3 * HOUR)).runs == ()


async def test_a_window_of_the_past_has_no_due_times_and_one_to_come_no_runs(hand: HandCranked, site: Site) -> None:
    await save(hand, job("tick", "*/30 * * * *"))
    await hand.crank(NOW + 2 * HOUR)
    past = await lane_of(site, "tick", begin=NOW, end=NOW + HOUR + MINUTE)
    assert ([run.due_at for run in past.runs], past.due) == ([NOW + 30 * MINUTE, NOW + HOUR], ())
    coming = await lane_of(site, "tick", begin=NOW + 3 * HOUR, end=NOW + 4 * HOUR)
    assert coming.runs == ()
    assert coming.due == (NOW + 3 * HOUR, NOW + 3 * HOUR + 30 * MINUTE, NOW + 4 * HOUR)


async def test_a_window_far_ahead_is_reached_at_once(hand: HandCranked, site: Site) -> None:
    await save(
        hand,
        job("wall", "* * * * *"),
        job("spread", "* * * * *", timing={"stagger": MINUTE}),
        job("every", "every 1m"),
        job("clamped", "* * * * *", timing={"min_interval": 2 * MINUTE}),
    )
    begin = datetime(3513, 1, 12, 18, tzinfo=UTC)
    window = {"begin": begin, "end": begin + 2 * MINUTE}
    assert (await lane_of(site, "wall", **window)).due == (begin, begin + MINUTE, begin + 2 * MINUTE)
    assert len((await lane_of(site, "spread", **window)).due) in (2, 3)
    assert (await lane_of(site, "every", **window)).due == (begin, begin + MINUTE, begin + 2 * MINUTE)
    clamped = await lane_of(site, "clamped", **window)
    assert (clamped.due, clamped.is_cut) == ((), True)


async def test_a_lane_is_cut_at_its_newest_runs_and_its_first_due_times(
    hand: HandCranked, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "_RUNS", 3)
    monkeypatch.setattr(timeline, "_DUE", 2)
    await save(hand, job("tick", "*/10 * * * *"))
    await hand.crank(NOW + HOUR)
    lane = await lane_of(site, "tick")
    assert [run.due_at for run in lane.runs] == [NOW + 40 * MINUTE, NOW + 50 * MINUTE, NOW + HOUR]
    assert (lane.due, lane.is_cut) == ((NOW + 70 * MINUTE, NOW + 80 * MINUTE), True)
    assert not (await lane_of(site, "tick", begin=NOW + 41 * MINUTE, end=NOW + 80 * MINUTE)).is_cut


async def test_jobs_that_are_gone_take_nobodys_place(hand: HandCranked, site: Site) -> None:
    await save(hand, job("gone", "*/30 * * * *"), job("here", "0 * * * *"))
    await hand.crank(NOW + 90 * MINUTE)
    await jobs.remove_job(site, job="gone")
    found = await show_timeline(site, lanes=1)
    assert (names(found), found.left_out) == (["here"], 0)


async def test_a_paused_job_has_no_due_times_until_its_pause_ends(hand: HandCranked, site: Site) -> None:
    await save(hand, job("tick", "*/30 * * * *"), job("off", "*/30 * * * *"))
    await jobs.pause_job(site, job="tick", until=NOW + 75 * MINUTE)
    await jobs.disable_job(site, job="off")
    tick, off = await lane_of(site, "tick"), await lane_of(site, "off")
    assert (tick.status, tick.due) == ("paused", (NOW + 90 * MINUTE, NOW + 2 * HOUR))
    assert (off.status, off.due) == ("disabled", ())


async def test_skipped_and_missed_times_are_marks_with_their_count(hand: HandCranked, site: Site) -> None:
    await save(hand, job("tick", "*/30 * * * *"))
    hand.clock.set(NOW + 4 * HOUR - 10 * MINUTE)
    await hand.step()
    (mark,) = (await lane_of(site, "tick")).runs
    assert (mark.state, mark.reason, mark.count, mark.started_at) == (RunState.MISSED, "late", 7, None)
