"""What a run is told: in words, without a secret."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from rota.core.usage import Usage
from rota.operations.views import RunDetail
from rota.web.told import environment_of, order_of

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def run(**given: object) -> RunDetail:
    fields: dict[str, Any] = dict.fromkeys(RunDetail.__struct_fields__)
    fields |= {"id": "run_0123456789abcdef01", "job": "a", "attempt": 2, "trace_id": "t" * 32, "token": 7}
    return RunDetail(**{**fields, "requested_at": NOW, "usage": Usage(), **given})


@pytest.mark.parametrize(
    ("words", "title", "text"),
    [
        ({"command": ["echo", "good night"]}, "Command", "echo 'good night'"),
        ({"command": "echo $HOME", "shell": True}, "Command", "echo $HOME"),
        ({"http": "https://example.org/tick"}, "Request", "GET https://example.org/tick"),
        (
            {"http": {"url": "https://me:pw@example.org:8/a?b", "method": "POST"}},
            "Request",
            "POST https://example.org:8/a?b",
        ),
        ({"python": "reports:run"}, "Python", "reports:run"),
    ],
)
def test_the_order_is_said_without_a_password(words: dict[str, Any], title: str, text: str) -> None:
    assert order_of(words)[0][:2] == (title, text)


def test_a_variable_shows_where_its_secret_is_and_never_what_it_is() -> None:
    shown = environment_of(run(), {"command": ["true"], "env": {"KEY": "env:API_KEY", "PLAIN": "hunter2"}})
    values = {one.name: one.value for one in shown}
    assert values["KEY"] == "env:API_KEY"
    assert values["PLAIN"] is None
    assert [values[f"ROTA_{name}"] for name in ("ATTEMPT", "FENCING_TOKEN", "API_TOKEN")] == ["2", "7", None]
    assert "hunter2" not in str(msgspec.to_builtins(shown))


def test_a_header_shows_no_more_than_a_variable() -> None:
    headers = {"Authorization": "Bearer hunter2", "X-Key": "file:/run/key"}
    shown = {one.name: one.value for one in environment_of(run(), {"http": {"url": "https://a.b", "headers": headers}})}
    assert (shown["Authorization"], shown["X-Key"]) == (None, "file:/run/key")
    assert shown["Rota-Run-Id"] == shown["Idempotency-Key"] == "run_0123456789abcdef01"


def test_a_run_that_was_not_claimed_has_names_without_values() -> None:
    shown = environment_of(run(token=None), {"command": ["true"]})
    assert {one.value for one in shown} == {None}


def test_the_input_and_the_prompt_are_named_when_there_are_any() -> None:
    names = {one.name for one in environment_of(run(input="{}"), {"command": ["true"], "prompt": "Build it."})}
    assert {"ROTA_INPUT", "ROTA_PROMPT"} <= names
    assert not {"ROTA_INPUT", "ROTA_PROMPT"} & {one.name for one in environment_of(run(), {"command": ["true"]})}
