"""Python callables: called with their work, ended with it, and their values kept (SPEC section 5)."""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rota.actions.python import PythonCall
from rota.core.definition import PythonAction
from rota.core.run import RunState
from rota.ports.action import Result, Work
from tests.actions.bench import Shelf, make_output, make_work, until, yes

pytestmark = pytest.mark.anyio

TARGET = "tests.none:call"


class Callables:
    """Objects of the program that embeds Rota."""

    async def __call__(self, work: Work) -> str:
        return work.job

    def method(self, work: Work) -> str:
        return work.job


async def call(target: Callable[..., Any]) -> Result:
    work = make_work(PythonAction(target=TARGET))
    return await PythonCall({TARGET: target}).perform(work, make_output(work, Shelf()), yes)


async def with_work(work: Work) -> str:
    return work.job


async def without() -> int:
    return 42


def only_named(*, job: str = "x") -> str:
    return job


def many(*works: Work) -> int:
    return len(works)


def raises(error: BaseException) -> Callable[[], NoReturn]:
    def call() -> NoReturn:
        raise error

    return call


def raises_later(error: BaseException) -> Callable[[], Any]:
    async def call() -> NoReturn:
        raise error

    return call


@pytest.mark.parametrize(
    ("target", "value"),
    [
        (with_work, "nightly"),
        (without, 42),
        (lambda: 42, 42),
        (lambda work: work.job, "nightly"),
        (lambda: without(), 42),  # noqa: PLW0108 - a plain function that returns a coroutine
        (Callables(), "nightly"),
        (Callables().method, "nightly"),
        (functools.partial(with_work), "nightly"),
        (functools.partial(lambda a, work: [a, work.attempt], 5), [5, 1]),
        (only_named, "x"),
        (many, 1),
        (dict, {}),
    ],
)
async def test_value_is_the_result_when_a_callable_returns(target: Callable[..., Any], value: object) -> None:
    """A callable, for programs that embed Rota."""
    done = await call(target)
    assert done.outcome.state == RunState.SUCCEEDED, done
    assert json.loads(done.result or "") == value


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (None, None),
        (False, "false"),
        (0, "0"),
        ("", '""'),
        ({"a": [1, 2.5, None]}, '{"a":[1,2.5,null]}'),
        ((1, 2), "[1,2]"),
        (datetime(2027, 1, 1, tzinfo=UTC), '"2027-01-01T00:00:00Z"'),
        (1j, '"1j"'),
        (len, '"<built-in function len>"'),
        ("\ud800", "\"'\\\\ud800'\""),
    ],
    ids=str,
)
async def test_value_is_kept_as_json_or_in_words_when_it_is_any(value: object, kept: str | None) -> None:
    done = await call(lambda: value)
    assert (done.outcome.state, done.result) == (RunState.SUCCEEDED, kept)


async def test_value_is_kept_in_words_when_it_holds_itself() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert (await call(lambda: loop)).result == '"[[...]]"'


@pytest.mark.parametrize("make", [raises, raises_later], ids=["plain", "async"])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no"), "ValueError: no"),
        (StopIteration("over"), "StopIteration"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError("inner"), "CancelledError: inner"),
        (TimeoutError(), "TimeoutError: "),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, BaseException) else "",
)
async def test_run_fails_when_the_callable_raises(
    make: Callable[[BaseException], Callable[[], Any]], error: BaseException, said: str
) -> None:
    """Whatever a callable raises fails its run, not the engine."""
    done = await asyncio.wait_for(call(make(error)), 5)
    assert (done.outcome.state, done.outcome.reason) == (RunState.FAILED, "exception")
    assert said in done.outcome.error


async def test_run_fails_when_a_thread_is_interrupted() -> None:
    done = await call(raises(KeyboardInterrupt()))
    assert (done.outcome.state, done.outcome.error) == (RunState.FAILED, "RuntimeError: KeyboardInterrupt: ")


async def test_plain_function_blocks_nobody_when_it_waits() -> None:
    """A plain function runs in a thread."""
    here, release = threading.get_ident(), threading.Event()
    task = asyncio.create_task(call(lambda: release.wait(10) and threading.get_ident()))
    await asyncio.wait([task], timeout=0.05)
    assert not task.done()
    release.set()
    assert json.loads((await task).result or "") != here


@pytest.mark.parametrize("make_async", [False, True])
async def test_nothing_is_called_when_the_start_is_refused(make_async: bool) -> None:
    """At most one start per attempt."""
    called = []

    async def later() -> None:
        called.append("async")

    async def refused() -> bool:
        return False

    work = make_work(PythonAction(target=TARGET))
    target = later if make_async else lambda: called.append("plain")
    done = await PythonCall({TARGET: target}).perform(work, make_output(work, Shelf()), refused)
    assert (done.outcome.state, done.outcome.reason) == (RunState.CANCELLED, "fenced")
    assert called == []


async def test_coroutine_ends_when_its_run_is_cancelled() -> None:
    events = []

    async def wait() -> None:
        events.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            events.append("ended")

    task = asyncio.create_task(call(wait))
    await until(lambda: events)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events == ["begun", "ended"]


async def test_run_is_not_over_before_its_thread_is_when_cancelled() -> None:
    """Cancelling ``perform`` ends the work, for certain, before it returns; a thread ends only by itself."""
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        release.wait(10)
        ended.set()

    task = asyncio.create_task(call(wait))
    await until(begun.is_set)
    for _ in range(3):
        task.cancel()
        await asyncio.wait([task], timeout=0.02)
    assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("no_such_module_here:run", "No module named 'no_such_module_here'"),
        ("os:no_such_name", "module 'os' has no attribute 'no_such_name'"),
        ("os.path:sep", "it is not callable"),
        ("rota_broken:run", "broken on purpose"),
        ("rota_exits:run", "2"),
        ("rota_syntax:run", "invalid syntax"),
    ],
)
async def test_preflight_says_what_to_fix_when_a_callable_cannot_be_loaded(
    target: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rota_broken.py").write_text("raise RuntimeError('broken on purpose')")
    (tmp_path / "rota_exits.py").write_text("import sys; sys.exit(2)")
    (tmp_path / "rota_syntax.py").write_text("def run(:")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    sentence = await PythonCall().preflight(make_work(PythonAction(target=target)))
    assert sentence is not None
    assert sentence.startswith(f"The callable {target} cannot be loaded (")
    assert said in sentence


@pytest.mark.parametrize(("target", "value"), [("os:getpid", int), ("pathlib:Path.cwd", str)])
async def test_callable_is_imported_when_it_is_named(target: str, value: type) -> None:
    work = make_work(PythonAction(target=target))
    assert await PythonCall().preflight(work) is None
    done = await PythonCall().perform(work, make_output(work, Shelf()), yes)
    assert isinstance(json.loads(done.result or ""), value)
