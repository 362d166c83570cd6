"""Fleet files with something wrong: every problem has its line, column, path and cure (SPEC section 11).

Each file in ``broken/`` begins with what is expected of it, one comment for each problem:
``# line:column | path | words of the message | words of the cure``.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pytest

from rota.config.fleet import define_job, define_job_text, load_fleet
from rota.errors import FleetError, Problem
from tests.config.surroundings import AROUND, HERE, NOW, problems_of

BROKEN = sorted((HERE / "broken").glob("*.yaml"))


def expected_of(path: Path) -> list[list[str]]:
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    header = [line.removeprefix("# ") for line in lines if line.startswith("# ")]
    return [[part.strip() for part in line.split(" | ", 3)] for line in header]


def test_there_are_enough_of_them() -> None:
    assert len(BROKEN) >= 60


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_every_problem_of_a_broken_file_is_listed_with_its_place_and_cure(path: Path) -> None:
    problems = problems_of(path.read_bytes())
    expected = expected_of(path)
    assert [(f"{one.line}:{one.column}", one.path) for one in problems] == [(at, where) for at, where, *_ in expected]
    for problem, (_, _, message, cure) in zip(problems, expected, strict=True):
        assert message in problem.message
        assert cure in problem.cure
        assert problem.cure
        assert problem.file == "rota.yaml"


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_problems_come_in_the_order_of_lines_and_each_once(path: Path) -> None:
    problems = problems_of(path.read_bytes())
    assert list(problems) == sorted(problems, key=lambda one: (one.line, one.column))
    assert len(set(problems)) == len(problems)


def test_of_very_many_problems_the_first_are_shown_and_the_rest_counted() -> None:
    lines = "".join(f"  job-{number}: {{evry: 5m, command: [x]}}\n" for number in range(300))
    problems = problems_of(f"jobs:\n{lines}")
    assert len(problems) == 201
    assert problems[0].line == 2
    assert problems[199].line == 201
    assert problems[200] == Problem("and 100 more", "Cure these first.", file="rota.yaml")


def test_a_problem_reads_as_one_line() -> None:
    (problem,) = problems_of("jobs:\n  a: {evry: 5m, command: [x]}\n")
    assert str(problem) == 'rota.yaml:2:7: jobs.a.evry: There is no key "evry" here. Did you mean "every"?'


def test_a_shared_value_is_wrong_once() -> None:
    text = "x: &base {timeout: 5x}\njobs:\n"
    text += "".join(f"  {name}: {{<<: *base, manual: true, command: [y]}}\n" for name in "ab")
    assert [(one.line, one.column, one.path) for one in problems_of(text)] == [(1, 1, "x"), (1, 20, "jobs.a.timeout")]


def test_one_job_from_json_has_paths_and_no_lines() -> None:
    with pytest.raises(FleetError) as caught:
        define_job({"every": "5x", "comand": ["x"]}, name="my job", agent="a b", zone="UTC", now=NOW)
    problems = caught.value.problems
    assert [(one.path, one.line, one.column, one.file) for one in problems] == [
        ("", 0, 0, ""),
        ("", 0, 0, ""),
        ("comand", 0, 0, ""),
        ("every", 0, 0, ""),
    ]


def test_one_job_from_yaml_has_lines() -> None:
    text = "every: 5m\ncommand: [x]\ntimeout: 5x\nenabled: false\n"
    with pytest.raises(FleetError) as caught:
        define_job_text(text, file="job.yaml", name="a", agent=None, zone="UTC", now=NOW)
    assert [(one.file, one.line, one.column, one.path) for one in caught.value.problems] == [
        ("job.yaml", 3, 10, "timeout"),
        ("job.yaml", 4, 1, "enabled"),
    ]


def test_what_only_a_command_has_is_refused_beside_an_inherited_request() -> None:
    text = "agents:\n  a:\n    http: https://example.org\n    schedules:\n      b: {manual: true, cwd: /srv}\n"
    (problem,) = problems_of(text)
    assert (problem.line, problem.column, problem.path) == (5, 25, "agents.a.schedules.b.cwd")


@pytest.mark.parametrize("data", [None, [], "x", 5])
def test_one_job_that_is_no_mapping_is_refused(data: object) -> None:
    with pytest.raises(FleetError) as caught:
        define_job(data, name="a", agent=None, zone="UTC", now=NOW)  # type: ignore[arg-type]
    assert "must be a mapping" in caught.value.problems[0].message


def test_one_job_may_be_any_kind_of_mapping() -> None:
    data = MappingProxyType({"manual": True, "command": ["x"]})
    assert define_job(data, name="a", agent=None, zone="UTC", now=NOW)[0].name == "a"


@pytest.mark.parametrize("text", ["", "- a", "a: [", "a", "a: 1\na: 2"])
def test_one_job_from_yaml_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(FleetError) as caught:
        define_job_text(text, file="job.yaml", name="a", agent=None, zone="UTC", now=NOW)
    assert all(one.line and one.column for one in caught.value.problems)


def test_a_file_that_is_too_large_is_refused_before_it_is_read() -> None:
    with pytest.raises(FleetError) as caught:
        load_fleet(b"#" * 10_000_000, AROUND)
    (problem,) = caught.value.problems
    assert (problem.message, problem.line) == ("The file has 10,000,000 bytes; the limit is 5,000,000.", 1)
    assert "Split it" in problem.cure
