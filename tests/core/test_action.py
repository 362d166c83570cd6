"""What follows from the kind of an action alone (SPEC sections 5 to 7)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rota.core.action import (
    ActionKind,
    default_on_interrupted,
    default_on_lost,
    default_pool,
    default_timeout,
)

HOUR = timedelta(hours=1)


def test_kinds_are_the_documented_ones_when_listed() -> None:
    assert [kind.value for kind in ActionKind] == ["command", "agent", "http", "chat", "tmux", "python", "external"]


@pytest.mark.parametrize(
    ("kind", "timeout", "pool"),
    [
        ("command", HOUR, "local"),
        ("agent", 8 * HOUR, "local"),
        ("tmux", 8 * HOUR, "local"),
        ("chat", 8 * HOUR, "remote"),
        ("http", timedelta(seconds=30), "remote"),
        ("python", None, "inline"),
        ("external", None, "inline"),
    ],
)
def test_timeout_and_pool_follow_from_the_kind_when_none_is_given(
    kind: str, timeout: timedelta | None, pool: str
) -> None:
    """timeout (command 1h, agent tmux chat 8h, http 30s); pool local (child processes), remote (HTTP, chat), inline."""
    action = ActionKind(kind)
    assert default_timeout(action) == timeout
    assert default_pool(action) == pool


@pytest.mark.parametrize("action", list(ActionKind))
@pytest.mark.parametrize(
    ("method", "harmless"),
    [("GET", True), ("get", True), ("Get", True), ("", False), ("POST", False), ("GETX", False), ("HEAD", False)],
)
def test_lost_run_is_repeated_only_when_it_is_a_get_request(action: ActionKind, method: str, harmless: bool) -> None:
    """retry.on_lost: n (default 0 for agents and commands, 1 for GET requests)."""
    expected = 1 if action == "http" and harmless else 0
    assert default_on_lost(action, method) == expected
    assert default_on_interrupted(action, method) == expected


@pytest.mark.parametrize("action", list(ActionKind))
def test_nothing_is_repeated_when_no_method_is_given(action: ActionKind) -> None:
    assert default_on_lost(action) == 0
    assert default_on_interrupted(action) == 0
    assert default_on_interrupted(action, can_resume=False) == 0


@pytest.mark.parametrize("action", list(ActionKind))
def test_interrupted_agent_goes_on_when_it_can_resume(action: ActionKind) -> None:
    """retry.on_interrupted (default 1 for GET requests and agents that can resume, else 0)."""
    assert default_on_interrupted(action, can_resume=True) == (1 if action == "agent" else 0)
    assert default_on_interrupted(action, "GET", can_resume=True) == (1 if action in {"agent", "http"} else 0)
