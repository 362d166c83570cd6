"""``rota logs`` from the end."""

from __future__ import annotations

import asyncio

import pytest

from rota.app import make_site, make_store
from tests.cli.cli import Cli

PIECES = ("one\ntwo\nth", "ree\nfour", "\n", "five\nsix\n")


@pytest.fixture
def run_id(cli: Cli) -> str:
    cli("job", "add", "talks", "--manual", "--", "true")
    run_id = cli("job", "run", "talks").strip()
    asyncio.run(write(cli.db, run_id))
    return run_id


async def write(db: str, run_id: str) -> None:
    store, _ = make_store(db)
    await store.open()
    chunks = [(run_id, number, "stdout", 5, text) for number, text in enumerate(PIECES, 1)]
    await make_site(store).store.write(lambda tx: tx.insert_output(chunk=chunks))
    await store.close()


def test_the_last_lines_are_printed_wherever_pieces_begin(cli: Cli, run_id: str) -> None:
    lines = "".join(PIECES).splitlines(keepends=True)
    for count in range(1, 9):
        assert cli("logs", run_id, "-n", str(count)) == "".join(lines[-count:])
    assert cli("logs", run_id) == "".join(lines)


def test_the_last_lines_after_a_place_and_as_json(cli: Cli, run_id: str) -> None:
    assert cli("logs", run_id, "--after", "2", "--last", "9") == "\nfive\nsix\n"
    assert cli("logs", run_id, "--after", "4", "--last", "9") == ""
    assert '"sequence":4' in cli("logs", run_id, "-n", "1", "--json")
    assert '"text":"six\\n"' in cli("logs", run_id, "-n", "1", "--json")


@pytest.mark.parametrize("count", ["0", "-1", "x", "1.5"])
def test_a_number_of_lines_that_is_none_is_refused(cli: Cli, run_id: str, count: str) -> None:
    cli.refused("logs", run_id, "-n", count, code=2)
