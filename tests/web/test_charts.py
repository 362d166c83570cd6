"""Charts: figures become shapes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from rota.operations.history import DayTally, JobHistory, PlannedDay
from rota.operations.views import RunMark
from rota.web.charts import bar_chart, coming_year, past_year

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def mark(number: int, state: str, seconds: float | None) -> RunMark:
    begun = NOW - timedelta(hours=number)
    return RunMark(
        id=f"run_{number}",
        job="a",
        job_id="job_1",
        state=state,
        cause="schedule",
        attempt=1,
        due_at=begun,
        requested_at=begun,
        started_at=begun if seconds is not None else None,
        ended_at=begun + timedelta(seconds=seconds) if seconds is not None else None,
        reason=None,
        count=1,
    )


def tally(day: str, **counts: int) -> DayTally:
    fields = dict.fromkeys(("succeeded", "failed", "skipped", "missed", "cancelled"), 0)
    return DayTally(day=day, seconds=0.0, **{**fields, **counts})


def history(days: tuple[DayTally, ...] = (), planned: tuple[PlannedDay, ...] = ()) -> JobHistory:
    return JobHistory(job="a", runs=(), typical=None, slow=None, days=days, planned=planned, planned_until=NOW)


def test_bars_are_as_tall_as_runs_were_long() -> None:
    chart = bar_chart([mark(3, "succeeded", 10), mark(2, "failed", 20), mark(1, "lost", 5)])
    assert [(bar.tone, bar.height) for bar in chart.bars] == [("good", 40.0), ("bad", 80.0), ("bad", 20.0)]
    assert [bar.y + bar.height for bar in chart.bars] == [chart.height] * 3
    assert chart.most == 20


def test_runs_that_never_began_have_no_bar() -> None:
    chart = bar_chart([mark(2, "skipped", None), mark(1, "succeeded", 0)])
    assert [bar.run_id for bar in chart.bars] == ["run_1"]
    assert chart.bars[0].height == 2


def test_no_runs_are_an_empty_chart() -> None:
    assert bar_chart([]).bars == ()


def test_each_day_has_its_place_in_its_week() -> None:
    # 2026-11-18 is a Wednesday; the week before begins one column to the left.
    made = past_year(NOW, history((tally("2026-11-18", succeeded=1), tally("2026-11-09", failed=2))), "UTC")
    today, monday = made.cells
    assert (today.x - monday.x, today.y, monday.y) == (12, 24, 0)
    assert (today.tone, monday.tone) == ("good", "bad")
    assert today.text == "Wed 18 Nov 2026: 1 succeeded"
    assert today.x == made.width - 12


def test_days_of_more_than_a_year_ago_are_left_out() -> None:
    assert past_year(NOW, history((tally("2025-01-01", succeeded=1),)), "UTC").cells == ()


def test_busier_days_are_stronger() -> None:
    days = tuple(tally(f"2026-11-{day:02}", succeeded=count) for day, count in ((2, 1), (3, 2), (4, 4), (5, 11)))
    assert [cell.level for cell in past_year(NOW, history(days), "UTC").cells] == [1, 2, 3, 4]


def test_the_day_is_that_of_the_zone_of_the_job() -> None:
    late = datetime(2026, 11, 15, 23, 30, tzinfo=UTC)
    planned = (PlannedDay(day="2026-11-16", count=1),)
    # In Tokyo it is Monday by then, so the year begins there.
    assert [cell.x for cell in coming_year(late, history(planned=planned), "Asia/Tokyo").cells] == [0]
    assert [cell.x for cell in coming_year(late, history(planned=planned), "UTC").cells] == [12]


def test_the_text_says_what_the_picture_shows() -> None:
    made = past_year(NOW, history((tally("2026-11-18", succeeded=3, failed=1),)), "UTC")
    assert made.text == "The past year: 4 runs on 1 day, 1 failed."
