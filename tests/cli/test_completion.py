"""Completion: names from the store, and never a word of trouble."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.cli import Cli
from tests.rota_process import ROTA


def offered(*words: str, db: str) -> list[str]:
    """What bash would offer for the last word."""
    env = {**os.environ, "ROTA_DB": db, "_ROTA_COMPLETE": "bash_complete"}
    env |= {"COMP_WORDS": " ".join(("rota", *words)), "COMP_CWORD": str(len(words))}
    done = subprocess.run([ROTA], capture_output=True, text=True, check=False, env=env, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(cli: Cli, shell: str) -> None:
    assert f"_ROTA_COMPLETE={shell}_complete" in cli("completion", shell)


def test_an_unknown_shell_is_refused(cli: Cli) -> None:
    assert "'tcsh' is not one of" in cli.refused("completion", "tcsh", code=2)


def test_commands_and_options_are_offered(cli: Cli) -> None:
    assert offered("ba", db=cli.db) == ["backfill"]
    assert offered("job", "dis", db=cli.db) == ["disable"]
    assert "--status" in offered("job", "list", "--st", db=cli.db)
    assert offered("runs", "--state", "perm", db=cli.db) == ["permanent_failure"]


def test_names_from_the_store_are_offered(cli: Cli) -> None:
    for name in ("report", "reset", "backup"):
        cli("job", "add", name, "--manual", "--agent", f"a-{name}", "--pool", f"p-{name}", "--", "true")
    run_id = cli("job", "run", "backup").strip()
    assert offered("job", "show", "re", db=cli.db) == ["report", "reset"]
    assert offered("next", "rep", db=cli.db) == ["report"]
    assert offered("run", "show", "run_", db=cli.db) == [run_id]
    assert offered("logs", "run_", db=cli.db) == [run_id]
    assert offered("why", "b", db=cli.db) == ["backup"]
    assert offered("agent", "show", "a-rep", db=cli.db) == ["a-report"]
    assert offered("runs", "--agent", "a-b", db=cli.db) == ["a-backup"]
    assert offered("pool", "set", "p-res", db=cli.db) == ["p-reset"]


def test_the_store_that_was_named_is_asked(cli: Cli) -> None:
    cli("job", "add", "report", "--manual", "--", "true")
    assert offered("job", "show", "--db", cli.db, "re", db="/no/such/place") == ["report"]


def test_nothing_is_said_or_made_when_there_is_no_store(cli: Cli, tmp_path: Path) -> None:
    assert offered("job", "show", "re", db=cli.db) == []
    assert not Path(cli.db).exists()
    broken = tmp_path / "broken.db"
    broken.write_text("no database " * 100)
    assert offered("job", "show", "re", db=str(broken)) == []
    assert offered("job", "show", "re", db="postgresql://x@127.0.0.1:1/x") == []
    assert offered("job", "show", "re", db="mysql://x") == []
