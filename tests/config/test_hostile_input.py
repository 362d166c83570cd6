"""Whatever the bytes: a fleet, or a ``FleetError`` whose problems say where, and never anything else, nor late."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rota.config.expansion import MAX_EXPANDED
from rota.config.fleet import Fleet, Surroundings, define_job, define_job_text, load_fleet
from rota.config.layers import ACTIONS, SCHEDULES
from rota.config.shapes import FileJobShape, JobShape
from rota.core.definition import Definition, check_definition
from rota.errors import FleetError, Problem
from tests.config.surroundings import AROUND, HERE, NOW
from tests.config.test_good_files import INHERITED, WHOLE

often = settings(max_examples=max(300, settings().max_examples))


def outcome(read: Callable[[], object]) -> Fleet | tuple[Problem, ...]:
    """A fleet, or problems that can be shown; any other exception fails the test."""
    try:
        return read()  # type: ignore[return-value]
    except FleetError as error:
        problems = error.problems
    assert problems
    for problem in problems:
        assert problem.message
        assert str(problem).encode()
        assert str(problem).isprintable()
        assert len(str(problem)) < 3_000
    return problems


def read_bytes(data: bytes) -> Fleet | tuple[Problem, ...]:
    return outcome(lambda: load_fleet(data, AROUND))


@often
@given(st.binary(max_size=200))
@example(b"")
@example(b"\xff\xfej\x00")
@example(b"\xef\xbb\xbf")
@example(b"\x00")
@example(b"\x7fELF\x02\x01\x01")
def test_bytes_are_read_or_refused(data: bytes) -> None:
    read_bytes(data)


PIECES = [
    *("jobs:", "agents:", "defaults:", "fleet:", "engine:", "pools:", "schedules:", "a:", "b:", "on:", "<<:", "? "),
    *(
        ": ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\n",
        "\n  ",
        "\n    ",
        " ",
        "\t",
        "#",
        "|",
        ">",
        "&a ",
        "*a ",
        "!!str ",
        "!x ",
    ),
    *(
        "'",
        '"',
        "5m",
        "true",
        "null",
        "~",
        "1",
        "1.5",
        ".nan",
        "every: ",
        "cron: ",
        "command: ",
        "env: ",
        "${HOME}",
        "${",
    ),
    *(
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "\\x00",
        "\x85",
        "\u2028",
        "😀",
        "http: ",
        "after: ",
        "retry: ",
        "overlap: ",
        "quiet: ",
    ),
]


@often
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@example("? ? ?")
@example("&a : *a")
@example("jobs: &a {a: {<<: *a}}")
@example("jobs: {a: &x {manual: true, command: [x]}, b: *x}")
def test_pieces_of_yaml_are_read_or_refused(text: str) -> None:
    read_bytes(text.encode())


GOOD = [
    WHOLE,
    INHERITED,
    *(path.read_bytes().decode("utf-8", "replace") for path in sorted((HERE / "broken").glob("*"))),
]


@often
@given(st.data())
def test_files_with_changes_are_read_or_refused(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(GOOD))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + data.draw(st.sampled_from(PIECES) | st.text(max_size=3))
            + text[at + data.draw(st.integers(0, 9)) :]
        )
    read_bytes(text.encode("utf-8", "surrogatepass"))


anything = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
        st.sampled_from(
            ["\0", "\ud800", "x" * 2_000, 10**400, -(2**63), 1e308, "5m", "09:00", "none", "a:b", "[", b"x"]
        ),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from([info.alias or field for field, info in FileJobShape.model_fields.items()])
inner_keys = st.sampled_from(
    ["at", "in", "on", "job", "url", "headers", "expect", "max", "first", "policy", "max_waiting"]
)
values = anything | st.dictionaries(inner_keys | st.text(max_size=3), anything, max_size=4)


@settings(max_examples=max(1_000, settings().max_examples))
@given(st.dictionaries(keys | st.text(max_size=5) | st.sampled_from(["\ud800", "\0", 5, None]), values, max_size=6))
@example({"a" * 100_000: 1, "every": "5m"})
@example({"every": float("nan"), "jitter": float("nan"), "retry": {"factor": float("inf"), "max": float("nan")}})
@example({"max_runs": 2**63, "manual": True, "command": ["x"]})
@example({"env": {"\ud800": "\udfff", "\0": "\0"}, "command": ["\0"], "manual": True})
def test_one_job_of_anything_is_defined_or_refused(data: dict[str, object]) -> None:
    read = outcome(lambda: define_job(data, name="a", agent=None, zone="UTC", now=NOW))
    if isinstance(read[0], Definition):  # type: ignore[index]
        check_definition(read[0])  # type: ignore[index]


@pytest.mark.parametrize("name", ["", "a b", "\ud800", "\0", "x" * 101, "x" * 100_000])
def test_a_job_of_a_hostile_name_is_refused(name: str) -> None:
    for given_names in ({"name": name, "agent": None}, {"name": "a", "agent": name}):
        assert outcome(
            lambda given=given_names: define_job({"manual": True, "command": ["x"]}, zone="UTC", now=NOW, **given)  # type: ignore[misc]
        )


def test_json_that_is_nested_deeply_is_refused() -> None:
    nested: object = "x"
    for _ in range(100_000):
        nested = [nested]
    for key in ("every", "command", "env", "quiet", "retry", "unknown"):
        assert outcome(lambda key=key: define_job({key: nested}, name="a", agent=None, zone="UTC", now=NOW))  # type: ignore[misc]


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


def merge_bomb(count: int) -> str:
    lines = ["m0: &m0 {k0: 1}"] + [f"m{n}: &m{n} {{<<: *m{n - 1}, k{n}: 1}}" for n in range(1, count)]
    return "\n".join(lines)


BOMBS = {
    "aliases": bomb(12),
    "aliases of mappings": "\n".join(
        ["a0: &a0 {x: 1}"] + [f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}" for n in range(1, 60)]
    ),
    "merges": merge_bomb(9_000),
    "merged lists": "a: &a {" + ", ".join(f"k{n}: 1" for n in range(1_000)) + "}\nb: {<<: [" + "*a, " * 50_000 + "]}",
    "open brackets": "[" * 1_000_000,
    "open braces": "{" * 1_000_000,
    "dashes": "- " * 1_000_000,
    "question marks": "? " * 1_000_000,
    "indentation": "".join(" " * depth + "a:\n" for depth in range(3_000)),
    "values": "jobs: [" + "a," * 2_000_000,
    "keys": "jobs: {" + ",".join(f"k{n}" for n in range(149_000)) + "}",
    "jobs": "jobs:\n" + "".join(f"  j{n}: x\n" for n in range(149_000)),
    "unknown keys": "jobs:\n  a:\n" + "".join(f"    k{n}: 1\n" for n in range(149_000)),
    "directives": "".join(f"%TAG !a{n}! tag:x\n" for n in range(100_000)) + "---\na: 1\n",
    "long text": "jobs:\n  a: {every: " + "5m" * 1_000_000 + ", command: x, timezone: " + "a" * 1_000_000 + "}",
    "long cron": "jobs:\n  a: {command: x, cron: '" + "* " * 1_000_000 + "'}",
    "long command": 'jobs:\n  a: {manual: true, command: "' + "a " * 2_000_000 + '"}',
    "long number": "jobs:\n  a: {manual: true, command: x, max_runs: " + "9" * 4_000_000 + "}",
    "long key": "jobs:\n  a:\n    " + "a" * 4_000_000 + ": 1\n",
    "quiet": "jobs:\n  a: {manual: true, command: x, quiet: [" + "'00:00-12:00', '12:00-00:00', " * 100_000 + "]}",
    "quiet weeks": "jobs:\n"
    + "".join(
        f"  j{n}: {{manual: true, command: x, quiet: [{', '.join(['00:00-12:00', '12:00-00:00'] * 100)}]}}\n"
        for n in range(500)
    ),
    "anchors": "[" + ",".join(f"&a{n} x" for n in range(290_000)) + "]",
    "spaces": "a: b" + " " * 4_900_000,
    "new lines": "\n" * 4_900_000,
    "stars": "*" * 4_000_000,
    "binary": "\x7fELF" + "\0\x01\x02" * 1_000_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused(name: str) -> None:
    """Within a second, which the benchmark of the doors measures."""
    read = read_bytes(BOMBS[name].encode())
    assert not isinstance(read, Fleet)
    assert len(read) <= 201


def test_variables_cannot_fill_the_memory() -> None:
    around = Surroundings("rota.yaml", "/", "/", {"BIG": "x" * 1_000_000}, "UTC", NOW)
    lines = "".join(f"  j{n}: {{manual: true, command: ['${{BIG}}']}}\n" for n in range(2_000))
    with pytest.raises(FleetError) as caught:
        load_fleet(f"jobs:\n{lines}".encode(), around)
    assert any(f"{MAX_EXPANDED // 1_000_000} MB" in problem.message for problem in caught.value.problems)


def test_half_characters_of_the_environment_are_refused_where_they_are_used() -> None:
    around = Surroundings("rota.yaml", "/", "/", {"ODD": "a\udcffb"}, "UTC", NOW)
    with pytest.raises(FleetError) as caught:
        load_fleet(b"jobs:\n  a: {manual: true, command: [x, '${ODD}']}\n", around)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column, problem.path) == (2, 34, "jobs.a.command[1]")


def test_lone_halves_of_characters_from_json_are_refused_with_their_path() -> None:
    data = json.loads('{"manual": true, "command": ["x", "\\ud800"], "env": {"\\udfff": "1"}, "prompt": "a\\u0000"}')
    with pytest.raises(FleetError) as caught:
        define_job(data, name="a", agent=None, zone="UTC", now=NOW)
    assert sorted(problem.path for problem in caught.value.problems) == ["command[1]", "env", "prompt"]


@often
@given(st.text(st.characters(), max_size=100))
def test_any_text_for_one_job_is_defined_or_refused(text: str) -> None:
    outcome(lambda: define_job_text(text, file="x", name="a", agent=None, zone="UTC", now=NOW))


def test_the_keys_that_are_told_apart_are_keys_of_a_job() -> None:
    known = {info.alias or field for field, info in JobShape.model_fields.items()}
    assert {*ACTIONS, *SCHEDULES} <= known


@pytest.mark.parametrize(
    "words",
    [
        {"weekly": {"on": [], "at": "02:04"}},
        {"weekly": {"on": "", "at": "02:04"}},
        {"monthly": {"on": 0, "at": "02:04"}},
        {"once": {}},
        {"after": {"job": "build", "when": "/(/"}},
        {"after": {"job": "build", "delay": "-5m"}},
    ],
)
def test_half_a_schedule_is_refused_like_none(words: dict[str, object]) -> None:
    with pytest.raises(FleetError):
        define_job({**words, "command": ["x"]}, name="a", agent=None, zone="UTC", now=NOW)
