"""Whatever is typed: an answer or a refusal, never a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rota.cli import rota
from tests.cli.cli import Cli

# All that a shell can hand over: everything but NUL, and now and then bytes that are no UTF-8.
LETTERS = st.one_of(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    st.sampled_from("\u202e\033-@*/ {[:#'\",.0159mhT"),
)
TEXT = st.text(LETTERS, max_size=20)
BROKEN = st.text(st.sampled_from("a\udc80\udcff"), min_size=1, max_size=5)
NUMBER = st.integers(-(10**20), 10**20).map(str)
TIME = st.one_of(
    st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9998, 12, 31)).map(str),
    st.sampled_from(["0001-01-01", "1970-01-01", "9998-12-31T23:59:59", "9999-12-31T23:59:59+23:59", "2026-02-30"]),
)
WORD = st.one_of(
    TEXT, TEXT, BROKEN, NUMBER, TIME, st.sampled_from(["report", "run_0", "every 5m", "@daily", "1e9d", "5m", "36525d"])
)
COMMANDS = st.sampled_from(
    [
        ("job", "show", "?"),
        ("job", "add", "?", "--every", "?", "--", "?"),
        ("job", "add", "x", "--schedule", "?", "--timezone", "?", "--quiet", "?", "--", "true"),
        ("job", "add", "x", "--at", "?", "--from", "?", "--until", "?", "--url", "?", "--header", "?"),
        ("job", "add", "x", "--manual", "--backoff", "?", "--env", "?", "--stdin", "?", "--", "?"),
        ("job", "edit", "report", "--timeout", "?", "--unset", "?"),
        ("job", "preview", "--from-file", "-", "--name", "?", "--timeout", "?"),
        ("job", "preview", "--schedule", "?", "--stagger", "?", "--", "?"),
        ("job", "edit", "report", "--from-file", "-"),
        ("job", "pause", "report", "--until", "?", "--note", "?"),
        ("job", "list", "--contains", "?", "--after", "?"),
        ("job", "run", "?", "--key", "?", "--input", "?"),
        ("run", "show", "?"),
        ("run", "cancel", "?", "--reason", "?"),
        ("run", "retry", "?", "?"),
        ("runs", "?", "--count", "--priority", "scheduled", "--since", "?"),
        ("runs", "?", "--since", "?", "--until", "?", "--after", "?", "--agent", "?"),
        ("logs", "?", "--after", "?"),
        ("why", "?", "--at", "?"),
        ("next", "?", "--timezone", "?", "-n", "3"),
        ("next", "?", "--after", "?"),
        ("explain", "?", "--after", "?"),
        ("events", "--after", "?", "-n", "?"),
        ("audit", "?", "--after", "?"),
        ("hint", "set", "report", "--every", "?", "--for", "?", "--because", "?"),
        ("hint", "set", "report", "--at", "?", "--because", "?"),
        ("backfill", "report", "--from", "?", "--to", "?", "--detach"),
        ("simulate", "--days", "1", "--begin", "?"),
        ("pool", "set", "?", "?"),
        ("token", "create", "?", "--role", "read", "--expires-in", "?"),
        ("token", "revoke", "?"),
        ("agent", "show", "?"),
        ("check", "?"),
        ("?", "?"),
    ]
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One store for all of them, in a folder that may be written to."""
    folder = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        db = str(folder / "rota.db")
        Cli(db)("job", "add", "report", "--cron", "0 * * * *", "--", "true")
        yield db


@given(COMMANDS, st.data(), st.booleans())
def test_whatever_is_typed_is_answered(store: str, words: tuple[str, ...], data: st.DataObject, as_json: bool) -> None:
    typed = [data.draw(WORD) if word == "?" else word for word in words]
    typed.insert(typed.index("--") if "--" in typed else len(typed), "--json") if as_json else None
    done = CliRunner(env={"ROTA_DB": store}).invoke(rota, typed, input=data.draw(TEXT), prog_name="rota")
    assert done.exception is None or isinstance(done.exception, SystemExit), (typed, done.exc_info)
    assert done.exit_code in (0, 1, 2), (typed, done.output)
    if done.exit_code:
        # What is wrong may also be the answer.
        assert done.stderr or (as_json and json.loads(done.stdout)), typed
    elif as_json and done.stdout.startswith(("{", "[")):
        for text in [done.stdout] if words[0] != "logs" else done.stdout.splitlines():
            json.loads(text)


def test_bytes_that_are_no_letters_are_refused(cli: Cli, tmp_path: Path) -> None:
    assert "text in UTF-8" in cli.refused("job", "show", "a\udcffb", code=2)
    assert "text in UTF-8" in cli.refused("job", "list", "--db", str(tmp_path / "a\udcffb"), code=2)
    assert "text in UTF-8" in cli.refused("job", "add", "x", "--manual", "--", "a\udcffb", code=2)
