"""The kinds of action and what follows from the kind alone."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum


class ActionKind(StrEnum):
    COMMAND = "command"
    AGENT = "agent"
    HTTP = "http"
    CHAT = "chat"
    TMUX = "tmux"
    PYTHON = "python"
    EXTERNAL = "external"


_TIMEOUTS = {
    ActionKind.COMMAND: timedelta(hours=1),
    ActionKind.AGENT: timedelta(hours=8),
    ActionKind.TMUX: timedelta(hours=8),
    ActionKind.CHAT: timedelta(hours=8),
    ActionKind.HTTP: timedelta(seconds=30),
}


# How many runs each pool starts at once unless told otherwise.
POOL_SIZES = {"local": 1, "remote": 10, "inline": 10}


def default_timeout(action: ActionKind) -> timedelta | None:
    """How long a run may take unless its job says otherwise; none for what runs in or outside our own process."""
    return _TIMEOUTS.get(action)


def default_pool(action: ActionKind) -> str:
    """The pool whose slots a run takes: child processes, other machines, or this program."""
    match action:
        case ActionKind.HTTP | ActionKind.CHAT:
            return "remote"
        case ActionKind.PYTHON | ActionKind.EXTERNAL:
            return "inline"
        case _:
            return "local"


def default_on_lost(action: ActionKind, method: str = "") -> int:
    """How often a lost run may be run again unasked: only where a repeat is harmless, which is a GET request."""
    return 1 if action is ActionKind.HTTP and method.upper() == "GET" else 0


def default_on_interrupted(action: ActionKind, method: str = "", *, can_resume: bool = False) -> int:
    """The same after a shutdown; an agent that can resume its session may go on, too."""
    return 1 if action is ActionKind.AGENT and can_resume else default_on_lost(action, method)
