"""``rota runs`` and ``rota run``, without an engine: what was asked for, found again and ended."""

from __future__ import annotations

import pytest

from tests.cli.cli import Cli


@pytest.fixture
def home(cli: Cli) -> Cli:
    for name in ("a", "b"):
        cli("job", "add", name, "--manual", "--agent", f"of-{name}", "--", "true")
    return cli


def ids(cli: Cli, *words: str) -> list[str]:
    return [run["id"] for run in cli.json("runs", *words)]


def test_runs_are_found_by_every_facet(home: Cli) -> None:
    assert home("runs") == "No runs.\n"
    first, second, third = (home("job", "run", name).strip() for name in ("a", "b", "a"))
    home("run", "cancel", first)
    assert ids(home) == [third, second, first]
    assert ids(home, "a") == [third, first]
    assert ids(home, "-n", "1") == [third]
    assert ids(home, "--after", third) == [second, first]
    assert ids(home, "--state", "queued") == [third, second]
    assert ids(home, "--state", "queued", "--state", "cancelled", "--all") == [third, second, first]
    assert ids(home, "--failed") == []
    assert ids(home, "--agent", "of-b") == [second]
    assert ids(home, "--cause", "manual") == [third, second, first]
    assert ids(home, "--cause", "schedule") == []
    assert ids(home, "--priority", "manual") == [third, second, first]
    assert ids(home, "--priority", "corrective") == []
    assert ids(home, "--since", "1h") == [third, second, first]
    assert ids(home, "--until", "1h") == ids(home, "--since", "2099-01-01") == []
    assert ids(home, "--until", "2099-01-01T00:00Z") == [third, second, first]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--state", "done"), "'done' is not one of"),
        (("--cause", "luck"), "'luck' is not one of"),
        (("--since", "yesterday"), 'Invalid since "yesterday"'),
        (("--until", "2 weks"), "or how long ago, such as 2h"),
        (("-n", "0"), "0 is not in the range"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(home: Cli, words: tuple[str, ...], part: str) -> None:
    assert part in home.refused("runs", *words, code=2)


def test_a_run_is_shown_with_why_and_what_it_waits_for(home: Cli) -> None:
    run_id = home("job", "run", "a", "--input", "x\033[2J").strip()
    shown = home("run", "show", run_id[:-2])
    assert "cause: manual" in shown
    assert "no worker is there" in shown
    assert "\033" not in shown
    detail = home.json("run", "show", run_id)
    assert detail["waits_for"]
    assert (detail["trail"], detail["input"]) == ([], "x\033[2J")
    assert home.json("why", run_id)["lines"][0] == "cause: manual"


def test_a_run_is_cancelled_once_and_retried(home: Cli) -> None:
    run_id = home("job", "run", "a").strip()
    assert "has not ended" in home.refused("run", "retry", run_id)
    assert home.json("run", "cancel", run_id, "--reason", "wrong") == {"run_id": run_id, "is_ended": True}
    assert home.json("run", "show", run_id)["reason"] == "wrong"
    assert "has ended already" in home.refused("run", "cancel", run_id)
    again = home.json("run", "retry", run_id, "--key", "k")
    assert again["is_new"] is True
    assert home("run", "retry", run_id, "--key", "k").strip() == again["run_id"]


@pytest.mark.parametrize("words", [("run", "show"), ("run", "cancel"), ("run", "retry"), ("why",), ("logs",)])
def test_a_run_that_is_not_there_is_said(home: Cli, words: tuple[str, ...]) -> None:
    assert 'There is no run "run_f"' in home.refused(*words, "run_f")


def test_a_job_that_never_ran_has_no_logs(home: Cli) -> None:
    home("job", "run", "a")
    assert "a has not run yet. Run it now: rota job run a" in home.refused("logs", "a")
    assert 'There is no job "x"' in home.refused("logs", "x")


def test_the_columns_of_a_list_are_named(home: Cli) -> None:
    run_id = home("job", "run", "a").strip()
    titles, row = home("runs").splitlines()
    assert titles.split() == ["run", "state", "job", "cause", "when", "took"]
    assert row.split()[:4] == [run_id, "queued", "a", "manual"]


def test_runs_are_counted(home: Cli) -> None:
    assert home("runs", "--count") == "0 runs\n"
    for name in ("a", "b", "a"):
        home("job", "run", name)
    assert home.json("runs", "a", "--count") == {
        "total": 2,
        "is_cut": False,
        "states": [{"name": "queued", "count": 2}],
        "causes": [{"name": "manual", "count": 2}],
        "agents": [{"name": "of-a", "count": 2}],
        "jobs": [{"name": "a", "count": 2}],
    }
    shown = home("runs", "--count", "--failed").splitlines()
    assert shown[0] == "0 runs"
    assert ["queued", "3"] in [line.split() for line in shown]
    assert home("runs", "a", "--count", "--since", "1h").startswith("2 runs\n")


def test_several_runs_are_cancelled_and_retried_at_once(home: Cli) -> None:
    first, second = (home("job", "run", name).strip() for name in ("a", "b"))
    assert home("run", "cancel", first, second, "--reason", "wrong") == "Cancelled: 2 runs\n"
    assert {run["reason"] for run in home.json("runs")} == {"wrong"}
    assert "has ended already" in home.ask("run", "cancel", first, second, code=1).stderr
    again = home.json("run", "retry", first, second, "run_none", code=1)
    assert (again["done"], len(again["made"])) == ([first, second], 2)
    assert [one["run_id"] for one in again["refused"]] == ["run_none"]
    assert len(home("run", "retry", first, second).split()) == 2


def test_too_many_runs_and_a_key_for_several_are_refused(home: Cli) -> None:
    assert "at most 1000" in home.refused("run", "cancel", *(f"run_{number}" for number in range(1001)), code=2)
    assert "A key stands for one run" in home.refused("run", "retry", "run_1", "run_2", "--key", "k", code=2)


def test_a_chain_is_a_tree_and_a_family_a_table(cli: Cli) -> None:
    for name, line in (
        ("a", "manual"),
        ("b", "after a on failure delay 5m"),
        ("c", "after b on done when x"),
        ("d", "after a"),
    ):
        cli("job", "add", name, "--schedule", line, "--", "true")
    assert cli("job", "chain", "b").splitlines() == [
        "a  idle",
        "  b  idle  on failure, after 5m",
        "    c  idle  on done, when x",
    ]
    assert cli("job", "chain", "a").splitlines()[-1] == "  d  idle  on success"
    assert [one["depth"] for one in cli.json("job", "chain", "c")["jobs"]] == [-2, -1, 0]
    cli("job", "remove", "a")
    assert cli("job", "chain", "b").startswith("a  missing\n")
    cli("job", "add", "lone", "--manual", "--", "true")
    assert "linked with no other job" in cli("job", "chain", "lone")
    run_id = cli("job", "run", "b").strip()
    assert cli("run", "family", run_id[:-1]).splitlines()[1].split()[:5] == ["attempt", run_id, "queued", "b", "1"]
    assert [one["id"] for one in cli.json("run", "family", run_id)["attempts"]] == [run_id]
