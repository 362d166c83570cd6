"""The command line within this process: as a person would type it, without the time that a process takes."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from rota.cli import rota


class Cli:
    """Commands on one store."""

    def __init__(self, db: str) -> None:
        self.db = db

    def ask(self, *words: str, code: int = 0, stdin: str | None = None) -> Result:
        """Type a command; it must end with this code."""
        done = CliRunner(env={"ROTA_DB": self.db}).invoke(rota, words, input=stdin, prog_name="rota")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.output
        return done

    def __call__(self, *words: str, stdin: str | None = None) -> str:
        """What a command that succeeds prints."""
        return self.ask(*words, stdin=stdin).stdout

    def json(self, *words: str, code: int = 0) -> Any:  # noqa: ANN401 - JSON is anything
        end = words.index("--") if "--" in words else len(words)
        return json.loads(self.ask(*words[:end], "--json", *words[end:], code=code).stdout)

    def refused(self, *words: str, code: int = 1, stdin: str | None = None) -> str:
        """What a command that is refused says; nothing on standard output."""
        done = self.ask(*words, code=code, stdin=stdin)
        assert done.stdout == ""
        return done.stderr
