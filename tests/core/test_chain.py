"""Chains: which ends fire a child, patterns, what is refused when saved, cycles and fan-out."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.chain import (
    MAX_DEPTH,
    MAX_FAN_OUT,
    After,
    ChainOn,
    ChainPass,
    check_after,
    find_cycle,
    find_fan_out,
    fires,
    format_after,
    matches,
    parse_after,
)
from rota.core.run import Cause, RunState
from rota.core.settlement import RefusedChild, RunRequest
from rota.errors import ScheduleError
from tests.core.settle_states import FAILED, child, settled
from tests.core.states import MINUTE, NOW

NEITHER = (RunState.CANCELLED, RunState.SKIPPED, RunState.MISSED, RunState.HELD, RunState.QUEUED, RunState.RUNNING)


@pytest.mark.parametrize(
    ("state", "on_success", "on_failure", "on_done"),
    [
        (RunState.SUCCEEDED, True, False, True),
        *((state, False, True, True) for state in FAILED),
        *((state, False, False, False) for state in NEITHER),
    ],
)
def test_a_child_is_fired_when_the_run_ends_as_it_says(
    state: RunState, on_success: bool, on_failure: bool, on_done: bool
) -> None:
    """SPEC 6: "on: success|failure|done"; 5: "`on: failure` count `lost` and `timed_out` as failures"."""
    assert fires(After("build", ChainOn.SUCCESS), state, "") is on_success
    assert fires(After("build", ChainOn.FAILURE), state, "") is on_failure
    assert fires(After("build", ChainOn.DONE), state, "") is on_done


def test_the_defaults_are_those_of_the_specification_when_nothing_is_said() -> None:
    """SPEC 2: "after: {job: build, on: success}"."""
    assert After("build") == After("build", ChainOn.SUCCESS, None, timedelta(), ChainPass.NOTHING)
    assert (MAX_DEPTH, MAX_FAN_OUT) == (10, 25)


@pytest.mark.parametrize(
    ("state", "output", "is_fired"),
    [
        (RunState.SUCCEEDED, "12 new issues", True),
        (RunState.SUCCEEDED, "nothing", False),
        (RunState.FAILED, "12 new issues", False),
        (RunState.SUCCEEDED, "", False),
    ],
)
def test_state_and_pattern_must_both_match_when_a_pattern_is_given(
    state: RunState, output: str, is_fired: bool
) -> None:
    """SPEC 6: "when: <pattern in the output>"."""
    assert fires(After("build", when="new issues"), state, output) is is_fired


@pytest.mark.parametrize(
    ("pattern", "output", "is_match"),
    [
        ("3 failed", "a\n3 failed\nb", True),
        ("3 failed", "3 Failed", False),
        ("a.c", "abc", False),
        ("a.c", "a.c", True),
        ("[", "a [", True),
        ("/a.c/", "abc", True),
        ("/a.c/", "/a.c/", True),
        ("/[1-9]\\d* failed/", "0 failed", False),
        ("/[1-9]\\d* failed/", "40 failed", True),
        ("/^done/", "not done", False),
        ("/x/", "x", True),
        ("//", "a // b", True),
        ("//", "a / b", False),
        ("/", "a / b", True),
        ("/", "ab", False),
        ("/usr", "in /usr/bin", True),
        ("usr/", "in /usr/bin", True),
        ("/usr", "usr", False),
        ("usr/", "usr", False),
        ("", "", True),
    ],
)
def test_a_pattern_is_plain_text_unless_it_stands_between_slashes_when_looked_for(
    pattern: str, output: str, is_match: bool
) -> None:
    assert matches(pattern, output) is is_match


@pytest.mark.parametrize("pattern", ["done", "/do+ne/"])
@pytest.mark.parametrize(("after_it", "is_match"), [(0, True), (65_532, True), (65_533, False), (70_000, False)])
def test_the_last_64_kib_are_searched_when_the_output_is_long(pattern: str, after_it: int, is_match: bool) -> None:
    assert matches(pattern, "." * 1_000 + "done" + "." * after_it) is is_match


@pytest.mark.parametrize(
    "after",
    [
        After("build"),
        After("build", when="["),
        After("build", when="/[a-z]+/", delay=MINUTE),
        After("build", when=""),
    ],
)
def test_a_chain_is_accepted_when_its_pattern_and_delay_can_work(after: After) -> None:
    check_after(after)


@pytest.mark.parametrize("pattern", ["/[/", "/(/", "/a{2,1}/", "/(?=a)b/", r"/(a)\1/", "/*a/", "/\ud800/"])
def test_a_pattern_is_refused_when_it_cannot_be_compiled(pattern: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_after(After("build", when=pattern))
    error = caught.value
    assert (error.field, error.value, error.example) == ("after.when", pattern, "/[1-9]\\d* failed/")
    assert error.expected.startswith("plain text or a valid /pattern/ (")


@pytest.mark.parametrize(
    "pattern", ["/(a+)+$/", "/^(a|a)*$/", "/^" + "(" * 500 + "a" + ")*" * 500 + "$/"], ids=["nested", "either", "deep"]
)
def test_a_pattern_takes_linear_time_when_a_backtracking_search_would_never_end(pattern: str) -> None:
    check_after(After("build", when=pattern))
    assert not matches(pattern, "a" * 60_000 + "b")


def test_half_a_character_is_no_error_when_a_pattern_is_looked_for() -> None:
    assert matches("/done/", "\ud800 done")


@pytest.mark.parametrize("delay", [timedelta(microseconds=-1), -MINUTE])
def test_a_delay_is_refused_when_it_is_negative(delay: timedelta) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_after(After("build", delay=delay))
    error = caught.value
    assert (error.field, error.value) == ("after.delay", str(delay))
    assert (error.expected, error.example) == ("a duration from zero to 36525d", "5m")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("build", After("build")),
        ("  build  ", After("build")),
        ("build on success", After("build", ChainOn.SUCCESS)),
        ("build  on  failure", After("build", ChainOn.FAILURE)),
        ("build on done", After("build", ChainOn.DONE)),
        ("build delay 90s", After("build", delay=timedelta(seconds=90))),
        ("build pass output on done", After("build", ChainOn.DONE, hands_over=ChainPass.OUTPUT)),
        ("build when  3 failed on done ", After("build", when="3 failed on done")),
        ("build on failure when /[1-9] failed/", After("build", ChainOn.FAILURE, when="/[1-9] failed/")),
    ],
)
def test_a_chain_is_read_when_it_is_one_line(text: str, after: After) -> None:
    assert parse_after(text) == after
    assert parse_after(format_after(after)) == after


def test_a_chain_is_written_with_its_condition_when_shown() -> None:
    assert format_after(After("build", ChainOn.FAILURE)) == "build on failure"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " when x",
        "build on",
        "build on never",
        "build success",
        "build at done",
        "a b c d",
        "build on done on done",
        "build pass everything",
        "build when ",
    ],
)
def test_a_chain_is_refused_when_it_cannot_be_read(text: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_after(text)
    error = caught.value
    assert (error.field, error.value) == ("after", text)
    assert error.expected == "a job, on success|failure|done, and if you like delay, pass output, when PATTERN"
    assert error.example == "after build on success"


@pytest.mark.parametrize(
    ("parents", "cycle"),
    [
        ({}, None),
        ({"a": []}, None),
        ({"a": ["b"], "b": ["c"]}, None),
        ({"a": ["unknown"]}, None),
        ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, None),
        ({"a": ["a"]}, ("a", "a")),
        ({"a": ["b"], "b": ["a"]}, ("a", "b", "a")),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, ("b", "c", "b")),
        ({"a": ["b", "c"], "b": [], "c": ["d"], "d": ["c"]}, ("c", "d", "c")),
        ({"x": ["y"], "y": [], "a": ["y", "b"], "b": ["c"], "c": ["a"]}, ("a", "b", "c", "a")),
    ],
)
def test_a_cycle_is_found_when_a_chain_leads_back(parents: dict[str, list[str]], cycle: tuple[str, ...] | None) -> None:
    """SPEC 6: "cycles refused when saved"."""
    assert find_cycle(parents) == cycle


def test_a_long_chain_is_walked_without_recursion_when_it_has_5000_jobs() -> None:
    chain = {str(number): [str(number + 1)] for number in range(5_000)}
    assert find_cycle(chain) is None
    cycle = find_cycle(chain | {"5000": ["0"]})
    assert cycle == tuple(str(number) for number in [*range(5_001), 0])


def test_shared_parents_are_walked_once_when_many_paths_lead_to_them() -> None:
    """Forty layers of two jobs have 2^40 paths."""
    layers = {f"{side}{layer}": [f"l{layer + 1}", f"r{layer + 1}"] for layer in range(40) for side in "lr"}
    assert find_cycle(layers) is None


@settings(deadline=None, max_examples=150)
@given(st.dictionaries(st.integers(0, 6), st.lists(st.integers(0, 6), max_size=4), max_size=7))
def test_a_cycle_is_found_exactly_when_some_job_reaches_itself(edges: dict[int, list[int]]) -> None:
    parents = {str(job): [str(parent) for parent in names] for job, names in edges.items()}
    reached = {job: set(names) for job, names in parents.items()}
    for _ in range(7):
        for names in reached.values():
            names.update(*(reached.get(name, set()) for name in tuple(names)))
    cycle = find_cycle(parents)
    assert (cycle is not None) == any(job in names for job, names in reached.items())
    if cycle is not None:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(parent in parents[job] for job, parent in pairwise(cycle))


@pytest.mark.parametrize(("children", "found"), [(24, None), (25, None), (26, "build")])
def test_a_fan_out_is_found_when_a_job_has_more_than_25_children(children: int, found: str | None) -> None:
    """SPEC 6: "fan-out 25"."""
    parents = {f"child-{number}": ["build", "other"] if number == 0 else ["build"] for number in range(children)}
    assert find_fan_out(parents) == found


def test_a_child_counts_once_when_it_names_its_parent_twice() -> None:
    assert find_fan_out({f"child-{number}": ["build", "build"] for number in range(25)}) is None
    assert find_fan_out({}) is None


def test_a_child_is_asked_for_when_its_parent_settles() -> None:
    """SPEC 6: "`after: {job, on: …, when: …, delay, pass: output}`"."""
    children = [
        child("deploy", ChainOn.SUCCESS, delay=MINUTE, hands_over=ChainPass.OUTPUT),
        child("mourn", ChainOn.FAILURE),
        child("count", ChainOn.DONE),
        child("file", when="3 new"),
        child("ignore", when="4 new"),
    ]
    settlement = settled(RunState.SUCCEEDED, Cause.MANUAL, children=children, output="3 new", depth=2)
    plain = {"cause": Cause.CHAIN, "origin": Cause.CHAIN, "attempt": 1, "depth": 3, "due_at": None, "failure": ""}
    assert settlement.children == (
        RunRequest(job="deploy", start_after=NOW + MINUTE, takes_output=True, **plain),
        RunRequest(job="count", start_after=NOW, takes_output=False, **plain),
        RunRequest(job="file", start_after=NOW, takes_output=False, **plain),
    )
    assert settlement.refused_children == ()
    assert settlement.events == ("run.succeeded", "chain.fired")


@pytest.mark.parametrize("end", FAILED)
def test_a_child_is_asked_for_when_its_parent_fails_for_good(end: RunState) -> None:
    children = [child("mourn", ChainOn.FAILURE), child("cheer")]
    assert [one.job for one in settled(end, children=children).children] == ["mourn"]


@pytest.mark.parametrize("end", [RunState.CANCELLED, RunState.SKIPPED])
def test_no_child_is_asked_for_when_its_parent_did_not_finish(end: RunState) -> None:
    children = [child(str(on), on) for on in ChainOn]
    settlement = settled(end, children=children, depth=10)
    assert (settlement.children, settlement.refused_children) == ((), ())


@pytest.mark.parametrize(("depth", "is_refused"), [(0, False), (9, False), (10, True), (11, True)])
def test_a_child_is_refused_when_the_chain_is_ten_deep(depth: int, is_refused: bool) -> None:
    """SPEC 6: "Depth limit 10"."""
    settlement = settled(RunState.SUCCEEDED, children=[child("deploy"), child("no", ChainOn.FAILURE)], depth=depth)
    refused = (RefusedChild("deploy", "chain_depth: at most 10"),)
    assert settlement.refused_children == (refused if is_refused else ())
    assert [one.depth for one in settlement.children] == ([] if is_refused else [depth + 1])
    assert settlement.events == ("run.succeeded", "chain.refused" if is_refused else "chain.fired")


@pytest.mark.parametrize("count", [25, 26, 28])
def test_children_are_refused_when_more_than_25_would_be_fired(count: int) -> None:
    """SPEC 6: "fan-out 25"; only those that fire are counted."""
    children = [child("never", ChainOn.FAILURE), *(child(f"job-{number}") for number in range(count))]
    settlement = settled(RunState.SUCCEEDED, children=children)
    assert [one.job for one in settlement.children] == [f"job-{number}" for number in range(25)]
    assert settlement.refused_children == tuple(
        RefusedChild(f"job-{number}", "fan_out: at most 25") for number in range(25, count)
    )
