"""Secrets are references, resolved when a run starts, and never shown (GUARANTEES, doors)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.actions.command import Command
from rota.actions.secrets import UnresolvedSecretError, resolve, resolve_all, secrets_of
from rota.core.definition import CommandAction, HttpAction, PythonAction
from tests.actions.bench import command, perform, script


@pytest.mark.parametrize("value", ["plain", "", "ENV:HOME", "env", "http://x", " env:HOME", "envy:HOME", "a:env:b"])
def test_text_stands_for_itself_when_it_is_no_reference(value: str) -> None:
    assert resolve(value) == (value, False)


def test_value_is_found_when_the_reference_leads_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored as references (`env:`, `file:`)."""
    monkeypatch.setenv("MY_TOKEN", "hunter2:x")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "key").write_text("line 1\nline 2\n\n")
    assert resolve("env:MY_TOKEN") == ("hunter2:x", True)
    assert resolve(f"file:{tmp_path}/key") == ("line 1\nline 2", True)
    assert resolve("file:~/key") == ("line 1\nline 2", True)
    assert resolve_all({"A": "env:MY_TOKEN", "B": "b"}) == ({"A": "hunter2:x", "B": "b"}, ("hunter2:x",))


@pytest.mark.parametrize(
    "value", ["env:NO_SUCH", "env:", "file:/no/such", "file:", "file:/etc", "file:a\0b", "file:~nobody-here/key"]
)
def test_reference_is_an_error_that_says_so_when_it_leads_nowhere(value: str) -> None:
    with pytest.raises(UnresolvedSecretError, match=r"^The secret (env|file):"):
        resolve(value)
    assert secrets_of(CommandAction(argv=("true",), env={"A": value})) == ()


def test_file_is_refused_when_it_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xff\xfe")
    with pytest.raises(UnresolvedSecretError, match="cannot be read"):
        resolve(f"file:{tmp_path}/key")


def test_there_are_no_secrets_when_the_action_takes_none() -> None:
    assert secrets_of(HttpAction(url="http://x")) == ()
    assert secrets_of(PythonAction(target="a:b")) == ()
    assert secrets_of(CommandAction(argv=("true",), env={"A": "plain"})) == ()


@pytest.mark.anyio
async def test_child_gets_the_secret_and_the_record_does_not_when_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redacted in every form (literal, URL, base64) across chunk borders."""
    monkeypatch.setenv("MY_TOKEN", "s3cr/et tok+en")
    given = tmp_path / "given"
    text = (
        f'printf %s "$KEY" > {given}; echo "plain $KEY"; echo "$KEY" >&2; printf "%s" "$KEY" | base64; '
        'printf "me:%s" "$KEY" | base64; echo s3cr%2Fet+tok%2Ben; echo s3cr%2fet%20tok%2ben; '
        "for part in s3 cr/ 'et t' ok+ en; do printf '%s' \"$part\"; sleep 0.02; done"
    )
    work = script(text, env={"KEY": "env:MY_TOKEN"})
    assert await Command().preflight(work) is None
    result, shelf = await perform(work)
    assert given.read_text() == "s3cr/et tok+en"
    for said in (shelf.text("stdout"), result.outcome.output):
        assert said.count("[secret]") >= 6
        assert not any(part in said for part in ("s3cr", "tok+en", "czNjci9ldCB0b2sr", "tok%2"))
    assert shelf.text("stderr") == "[secret]\n"
    assert result.outcome.output.endswith("[secret]")


@pytest.mark.anyio
async def test_beginning_of_a_secret_is_shown_when_nothing_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "donkey-123")
    result, shelf = await perform(command("printf", "all is don", env={"KEY": "env:MY_TOKEN"}))
    assert shelf.text() == "all is don"
    assert result.outcome.output == "all is don"
