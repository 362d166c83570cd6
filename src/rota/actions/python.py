"""A callable of the program that embeds Rota."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import msgspec

from rota.core.definition import PythonAction
from rota.core.run import RunState
from rota.core.settlement import Outcome
from rota.ports.action import Output, Result, Started, Work

_OK = Result(Outcome(state=RunState.SUCCEEDED))


class PythonCall:
    """Calls the target, with the work if it takes an argument; a plain function runs in a thread."""

    def __init__(self, targets: dict[str, Callable[..., Any]] | None = None) -> None:
        self._targets = targets or {}

    async def preflight(self, work: Work) -> str | None:
        target = _target(work)
        try:
            self._find(target)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may raise anything when it is imported
            return f"The callable {target} cannot be loaded ({error}); check the name and that it can be imported."
        return None

    async def perform(self, work: Work, output: Output, started: Started) -> Result:
        call = self._find(_target(work))
        arguments = (work,) if _takes_argument(call) else ()
        if not await started():
            return Result(Outcome(state=RunState.CANCELLED, reason="fenced"))
        try:
            value = await _call(call, arguments)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the callable raises fails its run
            return _failure(error)
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            return _failure(error)
        return _OK if value is None else Result(Outcome(state=RunState.SUCCEEDED), result=_as_json(value))

    def _find(self, target: str) -> Callable[..., Any]:
        return self._targets.get(target) or _load(target)


async def _call(call: Callable[..., Any], arguments: tuple[Work, ...]) -> Any:  # noqa: ANN401 - it is theirs
    if _is_coroutine_function(call):
        return await call(*arguments)
    value = await _in_thread(call, arguments)
    return await value if inspect.isawaitable(value) else value


async def _in_thread(call: Callable[..., Any], arguments: tuple[Work, ...]) -> Any:  # noqa: ANN401 - it is theirs
    """A thread cannot be ended, so a run that is cancelled is over when its thread is."""
    running = asyncio.ensure_future(asyncio.to_thread(_caught, call, arguments))
    is_cancelled = False
    while not running.done():
        try:
            await asyncio.wait((running,))
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError
    value, error = running.result()
    if error is not None:
        raise error
    return value


def _caught(call: Callable[..., Any], arguments: tuple[Work, ...]) -> tuple[Any, BaseException | None]:
    # As a value, because a future takes no StopIteration, and some of these mean more than a failure to a task.
    try:
        return call(*arguments), None
    except (StopIteration, KeyboardInterrupt, asyncio.CancelledError) as error:
        return None, RuntimeError(f"{type(error).__name__}: {error}")
    except BaseException as error:  # noqa: BLE001 - see above
        return None, error


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failure(error: BaseException) -> Result:
    return Result(Outcome(state=RunState.FAILED, reason="exception", error=f"{type(error).__name__}: {error}"))


def _target(work: Work) -> str:
    action = work.definition.action
    return action.target if isinstance(action, PythonAction) else ""


@lru_cache(maxsize=4096)
def _load(target: str) -> Callable[..., Any]:
    module, _, path = target.partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError("it is not callable")
    return found  # type: ignore[no-any-return]


_is_coroutine_function = lru_cache(maxsize=4096)(inspect.iscoroutinefunction)


@lru_cache(maxsize=4096)
def _takes_argument(call: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(call).parameters.values()
    except ValueError:
        # Some builtins do not tell.
        return False
    return any(parameter.kind not in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD) for parameter in parameters)


def _as_json(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return msgspec.json.encode(repr(value)).decode()
