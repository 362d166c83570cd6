"""What the coming days will look like, on every database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import takewhile
from pathlib import Path

import msgspec
import pytest

from rota.core.chain import parse_after
from rota.core.definition import CommandAction, Definition, define
from rota.core.job import Timing
from rota.core.quiet import QuietPolicy, parse_quiet
from rota.core.run import RunState
from rota.core.schedule import parse_schedule
from rota.core.settlement import Outcome
from rota.core.usage import Usage
from rota.errors import NotFoundError, ScheduleError
from rota.ledger.jobs import Placed, add_jobs, pause_job
from rota.ledger.plans import hold_one
from rota.ledger.site import Site
from rota.operations.foreseeing import foreseen_times
from rota.operations.simulation import simulating
from rota.operations.simulation.chart import chart
from rota.operations.simulation.course import Course, subject
from rota.operations.simulation.habits import Habit
from rota.operations.simulation.simulating import simulate
from rota.operations.simulation.views import Collision, HourLoad, JobForecast, Simulation
from rota.ports.records import JobRecord
from rota.ports.store import Store, Transaction
from rota.testing import FakeAction, FakeClock, HandCranked, SeededEntropy
from tests.stores import Servers, opened

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def job(name: str, line: str, *, timing: dict[str, object] | None = None, **fields: object) -> Definition:
    schedule = parse_schedule(line, now=NOW)
    return define(name, Timing(schedule=schedule, **(timing or {})), CommandAction(argv=("true",)), **fields)


async def save(site: Site, *definitions: Definition) -> None:
    placed = [Placed(one) for one in definitions]
    await site.store.write(lambda tx: add_jobs(tx, site.clock.now(), site, placed))


async def record_of(site: Site, name: str) -> JobRecord:
    record = await site.store.read(lambda tx: tx.find_job(name=name))
    assert record is not None
    return record


def forecast(simulation: Simulation, name: str) -> JobForecast:
    (found,) = (one for one in simulation.jobs if one.job == name)
    return found


def in_scope(simulation: Simulation, scope: str) -> list[Collision]:
    return [one for one in simulation.collisions if one.scope == scope]


@pytest.fixture
def site(store: Store) -> Site:
    return Site(store=store, clock=FakeClock(NOW), entropy=SeededEntropy(0), worker="wrk_1")


async def hand_of(site: Site, length: timedelta, usage: Usage | None = None) -> HandCranked:
    """An engine whose runs all take the same time."""
    assert isinstance(site.clock, FakeClock)
    ended = Outcome(state=RunState.SUCCEEDED, usage=usage or Usage())
    hand = HandCranked(site.store, site.clock, action=FakeAction(site.clock, lambda _: (length, ended)))
    await hand.open()
    return hand


async def test_every_job_is_foreseen_with_its_due_times(site: Site) -> None:
    await save(site, job("hourly", "0 * * * *", timing={"zone": "Asia/Kolkata"}), job("daily", "daily 09:00"))
    await save(site, job("once", "once 2026-03-04T12:00"), job("later", "once 2026-04-01T12:00"))
    found = await simulate(site, days=7)
    assert (found.begin, found.end, found.is_cut, found.complete_until) == (NOW, NOW + 7 * DAY, False, NOW + 7 * DAY)
    assert {one.job: one.count for one in found.jobs} == {"daily": 7, "hourly": 168, "later": 0, "once": 1}
    daily = forecast(found, "daily")
    assert (daily.first, daily.last) == (NOW + 23 * HOUR, NOW + 23 * HOUR + 6 * DAY)
    assert (daily.schedule, daily.timezone, daily.typical_seconds) == ("daily 09:00", "UTC", None)
    assert forecast(found, "later").notes == ("no due time in this stretch",)
    assert found.totals.runs == sum(hour.runs for hour in found.load) == 176
    assert len(found.load) == 168


async def test_nothing_is_written(site: Site) -> None:
    await save(site, job("hourly", "0 * * * *"))
    before = await record_of(site, "hourly")
    await simulate(site, days=30)
    assert await record_of(site, "hourly") == before
    assert await site.store.read(lambda tx: tx.runs(before="run_z", most=1)) == []
    assert await site.store.read(lambda tx: tx.events(after="", most=10)) == []


async def test_a_simulation_can_be_sent(site: Site) -> None:
    await save(site, *(job(f"j{number}", "0 * * * *", agent="a") for number in range(12)))
    found = await simulate(site)
    assert found.collisions
    assert found.bursts
    assert msgspec.json.decode(msgspec.json.encode(found), type=Simulation) == found


async def test_intervals_count_from_the_end_of_runs_that_take_as_long_as_usual(site: Site) -> None:
    hand = await hand_of(site, 30 * MINUTE)
    await save(site, job("work", "every 1h"))
    await hand.crank(NOW + 5 * HOUR)
    found = await simulate(site, days=1)
    work = forecast(found, "work")
    assert work.typical_seconds == 1800
    assert work.count == 16
    assert found.totals.busy_seconds == pytest.approx(16 * 1800, abs=1800)
    assert work.notes == ()


async def test_an_interval_whose_run_is_under_way_goes_on_when_that_usually_ends(site: Site) -> None:
    hand = await hand_of(site, 30 * MINUTE)
    await save(site, job("work", "every 1h"))
    await hand.crank(NOW + 3 * HOUR + 10 * MINUTE)
    assert (await record_of(site, "work")).source == "after-run"
    assert forecast(await simulate(site, days=1), "work").first == NOW + 4 * HOUR + 30 * MINUTE


async def test_what_is_overdue_is_not_foreseen_in_the_past(site: Site) -> None:
    await save(site, job("daily", "daily 09:00"), job("often", "every 1h"))
    assert isinstance(site.clock, FakeClock)
    site.clock.set(NOW + 10 * DAY)
    found = await simulate(site, days=1)
    assert [forecast(found, name).count for name in ("daily", "often")] == [1, 24]
    assert forecast(found, "often").first == NOW + 10 * DAY


async def test_jobs_that_are_off_are_left_out_and_paused_ones_say_so(site: Site) -> None:
    await save(site, *(job(name, "0 * * * *") for name in ("off", "held", "resumed")), job("hand", "manual"))

    async def body(tx: Transaction) -> None:
        off, held, resumed = [await hold_one(tx, (await record_in(tx, name)).id) for name in ("off", "held", "resumed")]
        await tx.enable_jobs(ids=[off.id], is_enabled=0, now=0)
        await pause_job(tx, NOW, site, held, until=None, note=None)
        await pause_job(tx, NOW, site, resumed, until=NOW + 2 * DAY + 30 * MINUTE, note=None)

    async def record_in(tx: Transaction, name: str) -> JobRecord:
        found = await tx.find_job(name=name)
        assert found is not None
        return found

    await site.store.write(body)
    found = await simulate(site, days=3)
    assert [one.job for one in found.jobs] == ["hand", "held", "resumed"]
    assert (forecast(found, "held").count, forecast(found, "held").notes) == (0, ("paused",))
    resumed = forecast(found, "resumed")
    assert (resumed.first, resumed.count) == (NOW + 2 * DAY + HOUR, 23)
    assert resumed.notes[0] == "paused until 2026-03-04 10:30+00:00"
    assert forecast(found, "hand").notes == ("only when run by hand: not foreseen",)


async def test_chained_jobs_follow_their_parents(site: Site) -> None:
    chained = {"b": "a delay 5m", "c": "b on done", "d": "a on failure"}
    await save(site, job("a", "0 12 * * *"))
    for name, after in chained.items():
        timing = Timing(schedule=parse_after(after))
        await save(site, define(name, timing, CommandAction(argv=("true",))))
    found = await simulate(site, days=3)
    assert {one.job: one.count for one in found.jobs} == {"a": 3, "b": 3, "c": 3, "d": 0}
    assert forecast(found, "b").first == forecast(found, "c").first == NOW + 2 * HOUR + 5 * MINUTE
    assert "as if every run of a succeeded" in forecast(found, "b").notes[0]
    assert forecast(found, "d").notes == ("only when a fails: not foreseen",)


async def test_runs_that_want_the_same_place_collide_until_there_is_room(site: Site) -> None:
    hand = await hand_of(site, 20 * MINUTE)
    await save(site, job("a", "0 * * * *"), job("b", "10 * * * *"), job("c", "50 * * * *"))
    await site.store.write(lambda tx: tx.size_slot(scope="pool", name="local", size=9))
    await hand.crank(NOW + 3 * HOUR)
    assert (await simulate(site, days=1)).collisions == ()
    await site.store.write(lambda tx: tx.size_slot(scope="pool", name="local", size=1))
    found = await simulate(site, days=1)
    assert {(one.jobs, one.job_count, one.times) for one in found.collisions} == {
        (("a", "b"), 2, 23),
        (("a", "c"), 2, 23),
    }
    for one in found.collisions:
        assert (one.scope, one.name, one.wanted, one.allowed) == ("pool", "local", 2, 1)
        assert one.end - one.start == 10 * MINUTE
    assert found.totals.collisions == 46


async def test_agents_keys_and_all_runs_together_have_limits_too(site: Site) -> None:
    await save(site, *(job(f"a{one}", "0 * * * *", agent="coder") for one in range(3)))
    await save(site, *(job(f"k{one}", "30 * * * *", concurrency_key="repo") for one in range(2)))
    await site.store.write(lambda tx: tx.size_slot(scope="pool", name="local", size=100))
    await site.store.write(lambda tx: tx.size_slot(scope="all", name="", size=2))
    found = await simulate(site, days=1)
    (of_agent,), (of_key,), (of_all,) = (in_scope(found, scope) for scope in ("agent", "key", "all"))
    assert (of_agent.name, of_agent.wanted, of_agent.allowed) == ("coder", 3, 1)
    assert (of_key.name, of_key.wanted, of_key.allowed, of_key.jobs) == ("repo", 2, 1, ("k0", "k1"))
    assert (of_all.name, of_all.wanted, of_all.allowed) == ("", 3, 2)
    assert found.collisions[0] == of_agent


async def test_minutes_in_which_many_begin_are_bursts(site: Site) -> None:
    await save(site, *(job(f"at-nine-{one:02}", "0 9 * * *") for one in range(25)))
    await save(site, *(job(f"spread-{one:02}", f"{one} * * * *") for one in range(60)))
    found = await simulate(site, days=2)
    (burst,) = found.bursts
    # One of the jobs that are spread begins then, too.
    assert (burst.at, burst.runs, burst.job_count, burst.times) == (NOW + 23 * HOUR, 26, 26, 2)
    assert len(burst.jobs) == 20
    assert found.totals.bursts == 2


async def test_quiet_hours_skip_or_move_due_times(site: Site) -> None:
    quiet = {"quiet": (parse_quiet("20:00-08:00"),)}
    await save(site, job("skips", "0 * * * *", timing=quiet))
    await save(site, job("waits", "0 * * * *", timing={**quiet, "quiet_policy": QuietPolicy.DEFER}))
    found = await simulate(site, days=1)
    skips, waits = forecast(found, "skips"), forecast(found, "waits")
    assert (skips.count, skips.skipped, skips.moved) == (11, 12, 0)
    assert (waits.count, waits.skipped, waits.moved) == (11, 0, 1)
    assert (found.totals.skipped, found.totals.moved) == (12, 1)
    assert [one.at for one in found.quiet if one.policy == "defer"] == [NOW + 22 * HOUR]
    assert len([one for one in found.quiet if one.job == "skips"]) == 12


@pytest.mark.parametrize(
    ("begin", "effects"),
    [
        (datetime(2026, 3, 28, tzinfo=UTC), {"moved": ("fixed", "late"), "dropped": ("often",)}),
        (datetime(2026, 10, 24, tzinfo=UTC), {"once": ("fixed", "late"), "doubled": ("often",)}),
        (datetime(2026, 6, 1, tzinfo=UTC), {}),
    ],
)
async def test_nights_on_which_clocks_change_are_told(
    site: Site, begin: datetime, effects: dict[str, tuple[str, ...]]
) -> None:
    berlin = {"zone": "Europe/Berlin"}
    await save(site, job("fixed", "30 2 * * *", timing=berlin), job("late", "daily 02:30", timing=berlin))
    await save(site, job("often", "*/30 * * * *", timing=berlin), job("utc", "30 2 * * *"))
    await save(site, job("over", "30 2 * * *", timing={**berlin, "until": NOW + DAY}))
    found = await simulate(site, days=2, begin=begin)
    assert {one.effect: one.jobs for one in found.clock_changes} == effects
    assert all(one.in_words.startswith("clocks ") for one in found.clock_changes)
    assert all(one.at.hour == 1 for one in found.clock_changes)


async def test_load_is_spread_over_the_hours_that_runs_take(site: Site) -> None:
    hand = await hand_of(site, 90 * MINUTE)
    await save(site, job("long", "0 12 * * *", timeout=None))
    await hand.crank(NOW + 4 * HOUR)
    found = await simulate(site, days=1)
    busy = {hour.at: (hour.runs, hour.busy_seconds) for hour in found.load if hour.busy_seconds}
    assert busy == {NOW + 26 * HOUR: (1, 3600), NOW + 27 * HOUR: (0, 1800)}


async def test_cost_is_foreseen_from_what_the_latest_runs_cost(site: Site) -> None:
    hand = await hand_of(site, MINUTE, Usage(100, 20, 0, Decimal("0.25")))
    await save(site, job("paid", "0 * * * *"))
    await hand.crank(NOW + 3 * HOUR)
    await save(site, job("new", "0 * * * *"))
    found = await simulate(site, days=1)
    assert (forecast(found, "paid").cost, forecast(found, "paid").tokens) == (Decimal("5.75"), 23 * 120)
    assert (forecast(found, "new").cost, forecast(found, "new").tokens) == (None, None)
    assert (found.cost.cost, found.cost.tokens) == (Decimal("5.75"), 2760)
    assert (found.cost.known_jobs, found.cost.unknown_jobs) == (1, 1)


async def test_too_much_is_cut_in_time_and_said(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulating, "MOST", 100)
    await save(site, *(job(f"j{one}", "0 * * * *") for one in range(10)))
    found = await simulate(site, days=7)
    assert (found.is_cut, found.complete_until, found.end) == (True, NOW + 11 * HOUR, NOW + 7 * DAY)
    assert {one.count for one in found.jobs} == {10}
    assert len(found.load) == 11
    ahead = await simulate(site, days=7, begin=NOW + 3 * DAY)
    assert (ahead.is_cut, ahead.complete_until, ahead.totals.runs) == (True, ahead.begin, 0)


async def test_one_agents_jobs_can_be_looked_at_alone(site: Site) -> None:
    await save(site, job("mine", "0 * * * *", agent="coder"), job("other", "0 * * * *"))
    found = await simulate(site, days=1, agent="coder")
    assert [one.job for one in found.jobs] == ["mine"]
    with pytest.raises(NotFoundError, match='No job belongs to an agent "nobody"'):
        await simulate(site, agent="nobody")


async def test_a_stretch_may_begin_later_and_never_in_the_past(site: Site) -> None:
    await save(site, job("daily", "daily 09:00"), job("few", "every 1h", timing={"max_runs": 30}))
    begin = datetime(2026, 3, 3, 12, tzinfo=UTC).astimezone(None)
    found = await simulate(site, days=2, begin=begin)
    assert (found.begin, found.begin.tzinfo) == (begin, UTC)
    assert [forecast(found, name).count for name in ("daily", "few")] == [2, 4]
    with pytest.raises(ScheduleError, match="a time to come"):
        await simulate(site, begin=NOW - MINUTE)


@pytest.mark.parametrize(
    "timing",
    [
        {},
        {"stagger": HOUR},
        {"max_runs": 5},
        {"min_interval": 5 * HOUR},
        {"zone": "Europe/Berlin", "until": NOW + 2 * DAY},
        {"quiet": (parse_quiet("12:00-15:00"),), "quiet_policy": QuietPolicy.DEFER},
    ],
)
@pytest.mark.parametrize("line", ["0 * * * *", "*/7 3-20 * * *", "daily 09:00", "every 50m"])
async def test_jobs_alike_share_due_times_that_are_their_own(
    tmp_path: Path, servers: Servers, line: str, timing: dict[str, object]
) -> None:
    async with opened("sqlite", tmp_path, servers) as store:
        site = Site(store=store, clock=FakeClock(NOW), entropy=SeededEntropy(0), worker="wrk_1")
        await save(site, *(job(f"j{one}", line, timing=timing) for one in range(3)))
        records = await store.read(lambda tx: tx.jobs(after="", most=10))
    habits = [Habit(), Habit(), Habit(90 * MINUTE)]
    subjects = [subject(NOW, record, habit) for record, habit in zip(records, habits, strict=True)]
    end = NOW + 3 * DAY
    course = list(Course(NOW, subjects).until(end))
    assert [one.at for one in course] == sorted(one.at for one in course)
    for place, one in enumerate(subjects):
        alone = foreseen_times(NOW, one.state, duration=one.habit.length)
        own = [at for at, _ in takewhile(lambda time: time[0] < end, alone)]
        assert [occurrence.at for occurrence in course if occurrence.place == place] == own


def hours(begin: datetime, *runs: int) -> tuple[HourLoad, ...]:
    return tuple(HourLoad(begin + index * HOUR, count, 0.0) for index, count in enumerate(runs))


def test_the_chart_has_a_row_for_each_day() -> None:
    load = hours(datetime(2026, 3, 2, 12, tzinfo=UTC), *range(13), 0, 0, 1200)
    assert chart(load, width=80) == (
        "                00          06          12          18",
        "Mon 2026-03-02 │                          ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁│    66",
        "Tue 2026-03-03 │▁▁    ██                                        │ 1,212",
        "",
        "                runs an hour: ▁ 150  ▂ 300  ▄ 600  ▆ 900  █ 1,200",
    )


def test_the_chart_can_do_without_unicode_and_with_little_room() -> None:
    load = hours(datetime(2026, 3, 2, tzinfo=UTC), 0, 1, 2, 3, 4, 5, 6, 7, 8)
    drawn = chart(load, width=40, is_ascii=True)
    assert drawn[1] == "Mon 2026-03-02 | .:-=+*#@               | 36"
    assert "".join(drawn).isascii()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_chart_fits(width: int) -> None:
    load = hours(datetime(2026, 3, 2, tzinfo=UTC), *([123_456] * 48))
    assert chart(load, width=width)[-1].endswith("█ 123,456")
    assert max(map(len, chart(load, width=width))) <= width


def test_the_chart_goes_by_the_wall_clock() -> None:
    load = hours(datetime(2026, 3, 28, 23, tzinfo=UTC), *([1] * 23))
    (row,) = [line for line in chart(load, width=60, zone="Europe/Berlin", is_ascii=True) if "-03-29" in line]
    assert row == "Sun 2026-03-29 |@@ @@@@@@@@@@@@@@@@@@@@@| 23"


def test_the_chart_of_nothing_says_so() -> None:
    assert chart((), width=80) == ("Nothing to show.",)
    assert chart(hours(NOW, 0), width=80)[-1].strip() == "no runs"
