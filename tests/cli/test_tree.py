"""The shape of the command line: every operation has a command, and every command what all of them have."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rota.cli import rota
from rota.operations.registry import OPERATIONS
from tests.cli.cli import Cli

ROTA = str(Path(sys.executable).with_name("rota"))
# They start something, or print what only a shell reads.
WITHOUT_JSON = {"up", "worker", "completion"}
HEAVY = ("pydantic", "yaml", "starlette", "rich", "uvicorn", "aiohttp", "asyncpg", "prometheus_client")


def walk(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by the words that call it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            inner = command.get_command(context, word)
            assert inner is not None
            yield from walk(inner, f"{name} {word}".strip())
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield name, command


COMMANDS = dict(walk(rota))


def test_every_operation_has_a_command_and_every_command_is_an_operation() -> None:
    asked = {operation for command in COMMANDS.values() for operation in getattr(command, "operations", ())}
    assert sorted(set(OPERATIONS) - asked) == []
    assert sorted(asked - set(OPERATIONS)) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_begins_with_the_command(name: str, cli: Cli) -> None:
    shown = cli(*name.split(), "--help")
    examples = shown.partition("Examples:")[2]
    assert f"rota {name}" in examples
    assert COMMANDS[name].help


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in WITHOUT_JSON])
def test_every_command_answers_programs_and_works_on_any_store(name: str) -> None:
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {"--json", "--db"} <= options


@pytest.mark.parametrize("name", ["job", "run", "hint", "pool", "agent", "token", "db", "worker"])
def test_a_group_shows_its_commands_and_examples(name: str, cli: Cli) -> None:
    shown = cli(name, "--help")
    assert "Commands:" in shown
    assert f"rota {name}" in shown.partition("Examples:")[2]


def test_help_lists_every_command_by_topic(cli: Cli) -> None:
    shown = cli("--help")
    for topic in ("Begin", "Jobs", "Runs", "Fleet files", "Upkeep"):
        assert f"{topic}:" in shown
    words = {line.split()[0] for line in shown.splitlines() if line.startswith("  ") and line.split()}
    assert set(rota.list_commands(click.Context(rota))) <= words


def loaded_by(*words: str, db: str) -> set[str]:
    """The heavy libraries that a command loads."""
    code = (
        "import sys\nsys.argv[0] = 'rota'\nfrom rota.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('LOADED', *{module.split('.')[0] for module in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "ROTA_DB": db},
    )
    return set(done.stdout.rpartition("LOADED")[2].split()) & set(HEAVY)


@pytest.mark.parametrize(
    "words", [("--help",), ("job", "list"), ("job", "list", "--json"), ("runs",), ("next", "@daily")]
)
def test_nothing_heavy_is_loaded_when_it_is_not_needed(words: tuple[str, ...], cli: Cli) -> None:
    assert loaded_by(*words, db=cli.db) == set()
