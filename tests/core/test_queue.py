"""The queue: its order, and which waiting runs start in the free slots."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.queue import Capacity, Pick, Waiting, WaitingFor, pick
from rota.core.run import Cause, Priority, Run, RunState, priority, queue_order
from tests.core.states import MINUTE, NOW, TICK, today


def waiting(name: str, pool: str = "local", **fields: object) -> Waiting:
    return Waiting(id=name, pool=pool, **fields)


def outcome(picked: Pick) -> tuple[list[str], dict[str, WaitingFor]]:
    return [run.id for run in picked.started], {run.id: why for run, why in picked.waiting}


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (Cause.MANUAL, 0),
        (Cause.CHAT, 0),
        (Cause.SCHEDULE, 1),
        (Cause.WEBHOOK, 1),
        (Cause.CHAIN, 1),
        (Cause.WAKE, 1),
        (Cause.CATCH_UP, 1),
        (Cause.RETRY, 2),
        (Cause.BACKFILL, 2),
    ],
)
def test_a_cause_has_a_priority_when_queued(cause: Cause, expected: int) -> None:
    """SPEC 5: "0 manual and chat, 1 scheduled, webhook, chained, woken, catch-up, 2 corrective, …, backfill"."""
    assert priority(cause) == Priority(expected)


def test_the_queue_goes_by_priority_then_time_then_id_when_sorted() -> None:
    """SPEC 5: "within each by due time (else request time), then id"; "A manual run jumps the queue"."""

    def run(name: str, cause: Cause, due: str | None, requested: str) -> Run:
        due_at = today(due) if due else None
        return Run(
            id=name, job="report", cause=cause, origin=cause, state=RunState.QUEUED, due_at=due_at,
            requested_at=today(requested),
        )  # fmt: skip

    runs = [
        run("retry", Cause.RETRY, "06:00", "06:01"),
        run("b", Cause.SCHEDULE, "09:00", "09:05"),
        run("a", Cause.SCHEDULE, "09:00", "09:07"),
        run("hook", Cause.WEBHOOK, None, "09:01"),
        run("due", Cause.CATCH_UP, "08:00", "10:00"),
        run("manual", Cause.MANUAL, None, "10:00"),
    ]
    assert [one.id for one in sorted(runs, key=queue_order)] == ["manual", "due", "a", "b", "hook", "retry"]
    assert queue_order(runs[3]) == (Priority.SCHEDULED, today("09:01"), "hook")


@pytest.mark.parametrize(
    ("fields", "capacity", "why"),
    [
        ({"is_paused": True}, Capacity({"local": 1}), "pause"),
        ({"waits_for_earlier": True}, Capacity({"local": 1}), "earlier_run"),
        ({"start_after": NOW + TICK}, Capacity({"local": 1}), "start_after"),
        ({}, Capacity({"local": 1}, in_all=0), "at_capacity: max_concurrent"),
        ({}, Capacity({"local": 1}, in_all=-1), "at_capacity: max_concurrent"),
        ({}, Capacity({"local": 0}), "at_capacity: pool"),
        ({}, Capacity({"local": -2}), "at_capacity: pool"),
        ({}, Capacity({"remote": 5}), "at_capacity: pool"),
        ({"agent": "coder"}, Capacity({"local": 1}, {"coder": 0}), "at_capacity: agent"),
        ({"agent": "coder"}, Capacity({"local": 1}, {"coder": -1}), "at_capacity: agent"),
        ({"concurrency_key": "repo"}, Capacity({"local": 1}, {}, frozenset({"repo"})), "at_capacity: concurrency_key"),
    ],
)
def test_a_run_waits_for_a_named_thing_when_it_cannot_start(
    fields: dict[str, object], capacity: Capacity, why: str
) -> None:
    """SPEC 4: "Lack of capacity is never a skip: the run waits, showing `at_capacity`"."""
    blocked = waiting("a", **fields)
    assert pick(NOW, [blocked], capacity) == Pick((), ((blocked, WaitingFor(why)),))


@pytest.mark.parametrize(
    ("fields", "capacity"),
    [
        ({}, Capacity({"local": 1})),
        ({"start_after": NOW}, Capacity({"local": 1})),
        ({"start_after": NOW - MINUTE}, Capacity({"local": 1})),
        ({}, Capacity({"local": 1}, {"coder": 0}, frozenset({"repo"}), in_all=1)),
        ({"agent": "coder"}, Capacity({"local": 1}, {"coder": 1})),
        ({"agent": "coder"}, Capacity({"local": 1}, {"other": 0})),
        ({"concurrency_key": "repo"}, Capacity({"local": 1}, keys_in_use=frozenset({"other"}))),
    ],
)
def test_a_run_starts_when_everything_it_needs_is_free(fields: dict[str, object], capacity: Capacity) -> None:
    free = waiting("a", **fields)
    assert pick(NOW, [free], capacity) == Pick((free,), ())


REASONS = (
    ({"is_paused": True}, WaitingFor.PAUSE),
    ({"waits_for_earlier": True}, WaitingFor.EARLIER_RUN),
    ({"start_after": NOW + TICK}, WaitingFor.START_AFTER),
    ({}, WaitingFor.ALL),
)


@pytest.mark.parametrize("first", range(len(REASONS)))
def test_the_first_thing_is_named_when_a_run_waits_for_several(first: int) -> None:
    fields: dict[str, object] = {"agent": "coder", "concurrency_key": "repo"}
    for more, _ in REASONS[first:]:
        fields |= more
    full = Capacity({"local": 0}, {"coder": 0}, frozenset({"repo"}), in_all=0)
    assert outcome(pick(NOW, [waiting("a", **fields)], full)) == ([], {"a": REASONS[first][1]})


def test_the_pool_is_named_before_the_agent_and_the_key_when_all_are_full() -> None:
    run = waiting("a", agent="coder", concurrency_key="repo")
    keys = frozenset({"repo"})
    assert outcome(pick(NOW, [run], Capacity({}, {"coder": 0}, keys, 1)))[1] == {"a": WaitingFor.POOL}
    assert outcome(pick(NOW, [run], Capacity({"local": 1}, {"coder": 0}, keys)))[1] == {"a": WaitingFor.AGENT}


@pytest.mark.parametrize(
    "head",
    [
        waiting("head", is_paused=True),
        waiting("head", waits_for_earlier=True),
        waiting("head", start_after=NOW + MINUTE),
        waiting("head", pool="full"),
        waiting("head", agent="busy"),
        waiting("head", concurrency_key="used"),
    ],
)
def test_a_blocked_head_blocks_no_other_when_slots_are_free(head: Waiting) -> None:
    """SPEC 5: "A blocked head never blocks others"; what is blocked takes no slot either."""
    capacity = Capacity({"local": 2, "full": 0}, {"busy": 0}, frozenset({"used"}), in_all=2)
    picked = pick(NOW, [head, waiting("b"), waiting("c")], capacity)
    assert [run.id for run in picked.started] == ["b", "c"]
    assert [run.id for run, _ in picked.waiting] == ["head"]


def test_slots_are_used_up_in_order_when_runs_start() -> None:
    """SPEC 5: pools, `max_concurrent` per agent and in all, `concurrency_key` (one per repository)."""
    runs = [
        waiting("a", agent="coder", concurrency_key="repo"),
        waiting("b", agent="coder"),
        waiting("c", concurrency_key="repo"),
        waiting("d", agent="free"),
        waiting("e"),
        waiting("f", "remote", agent="free"),
        waiting("g", "remote"),
        waiting("h", "remote"),
    ]
    capacity = Capacity({"local": 2, "remote": 5}, {"coder": 1}, in_all=4)
    assert outcome(pick(NOW, iter(runs), capacity)) == (
        ["a", "d", "f", "g"],
        {
            "b": WaitingFor.AGENT,
            "c": WaitingFor.KEY,
            "e": WaitingFor.POOL,
            "h": WaitingFor.ALL,
        },
    )


def test_the_capacity_is_left_as_it_is_when_runs_are_picked() -> None:
    pools, agents = {"local": 1}, {"coder": 1}
    runs = [waiting("a", agent="coder", concurrency_key="k")]
    capacity = Capacity(pools, agents, frozenset(), 1)
    assert pick(NOW, runs, capacity) == pick(NOW, runs, capacity)
    assert (pools, agents, capacity.keys_in_use) == ({"local": 1}, {"coder": 1}, frozenset())


def test_many_runs_start_when_nothing_but_the_pool_limits_them() -> None:
    runs = [waiting(str(number), agent="coder") for number in range(5)]
    assert outcome(pick(NOW, runs, Capacity({"local": 4}))) == (["0", "1", "2", "3"], {"4": WaitingFor.POOL})


NAMES = st.sampled_from(["a", "b", "c"])
WAITING = st.builds(
    Waiting,
    id=st.uuids().map(str),
    pool=NAMES,
    agent=st.none() | NAMES,
    concurrency_key=st.none() | NAMES,
    start_after=st.none() | st.integers(-2, 2).map(lambda minutes: NOW + timedelta(minutes=minutes)),
    is_paused=st.booleans(),
    waits_for_earlier=st.booleans(),
)
SLOTS = st.dictionaries(NAMES, st.integers(-1, 3))
CAPACITY = st.builds(Capacity, SLOTS, SLOTS, st.frozensets(NAMES), st.none() | st.integers(-1, 6))


@settings(deadline=None, max_examples=150)
@given(st.lists(WAITING, max_size=12, unique_by=lambda run: run.id), CAPACITY)
def test_no_capacity_is_exceeded_when_any_runs_are_picked(runs: list[Waiting], capacity: Capacity) -> None:
    picked = pick(NOW, runs, capacity)
    pools = Counter(run.pool for run in picked.started)
    agents = Counter(run.agent for run in picked.started if run.agent is not None)
    keys = Counter(run.concurrency_key for run in picked.started if run.concurrency_key is not None)
    assert all(count <= capacity.pools.get(pool, 0) for pool, count in pools.items())
    assert all(count <= capacity.agents.get(agent, count) for agent, count in agents.items())
    assert all(count == 1 and key not in capacity.keys_in_use for key, count in keys.items())
    assert capacity.in_all is None or len(picked.started) <= max(capacity.in_all, 0)
    assert not any(run.is_paused or run.waits_for_earlier for run in picked.started)
    assert all(run.start_after is None or run.start_after <= NOW for run in picked.started)
    # Every run is in one of the two lists, in queue order, and nothing that could still start is left waiting.
    chosen, left = {run.id for run in picked.started}, {run.id for run, _ in picked.waiting}
    assert [run for run in runs if run.id in chosen] == list(picked.started)
    assert [run for run in runs if run.id in left] == [run for run, _ in picked.waiting]
    assert not chosen & left
    assert len(chosen) + len(left) == len(runs)
    spare = Capacity(
        {pool: count - pools[pool] for pool, count in capacity.pools.items()},
        {agent: count - agents[agent] for agent, count in capacity.agents.items()},
        capacity.keys_in_use | frozenset(keys),
        None if capacity.in_all is None else capacity.in_all - len(picked.started),
    )
    assert not pick(NOW, [run for run, _ in picked.waiting], spare).started
