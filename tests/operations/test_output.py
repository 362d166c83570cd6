"""The output of a run, read from either end."""

from __future__ import annotations

import pytest

from rota.core.run import Cause
from rota.ledger.rows import run_row
from rota.ledger.site import Site
from rota.operations import jobs
from rota.operations.output import read_output
from tests.operations.ward import NOW

pytestmark = pytest.mark.anyio
RUN = "run_0650a1b2c3d4e50000a1b2c3d4"
END = 2**53


async def write(site: Site, texts: dict[int, str]) -> None:
    """A run with pieces of output at these numbers."""
    await jobs.add_job(site, name="talks", definition={"every": "1h", "command": ["true"]})
    job = await jobs.find_job(site, "talks")
    row = run_row(RUN, job, now=NOW, cause=Cause.MANUAL, trace_id="0" * 32)
    await site.store.write(lambda tx: tx.insert_runs(new=[row]))
    chunks = [(RUN, number, "stdout", 5, text) for number, text in texts.items()]
    await site.store.write(lambda tx: tx.insert_output(chunk=chunks))


async def sequences(site: Site, **asked: int) -> list[int]:
    return [piece.sequence for piece in (await read_output(site, run=RUN, **asked)).items]


async def test_the_last_pieces_come_in_order_when_read_backwards(site: Site) -> None:
    await write(site, {number: f"line {number}\n" for number in (1, 2, 3, 7, 8, 9)})
    assert await sequences(site, before=END, limit=2) == [8, 9]
    assert await sequences(site, before=8, limit=2) == [3, 7]
    assert await sequences(site, before=3, limit=5) == [1, 2]
    assert await sequences(site, before=1) == await sequences(site, before=0) == []
    assert await sequences(site, after=2, before=9) == [3, 7, 8]
    assert await sequences(site, after=8, before=3) == []
    assert (await read_output(site, run=RUN, before=8, limit=2)).next is None


async def test_bytes_bound_what_is_read_but_one_piece_always_comes(site: Site) -> None:
    # Four bytes each, of two letters.
    await write(site, dict.fromkeys(range(1, 7), "üü"))
    assert await sequences(site, before=END, most_bytes=11) == [5, 6]
    assert await sequences(site, before=END, most_bytes=12) == [4, 5, 6]
    assert await sequences(site, before=END, most_bytes=1) == [6]
    assert await sequences(site, before=1, most_bytes=1) == []
    assert await sequences(site, after=1, most_bytes=8) == [2, 3]
    assert await sequences(site, after=1, most_bytes=1) == [2]
    assert await sequences(site, after=6, most_bytes=1) == []


async def test_next_goes_on_whatever_ended_the_page(site: Site) -> None:
    await write(site, dict.fromkeys(range(1, 7), "four"))
    assert (await read_output(site, run=RUN, most_bytes=8)).next == "2"
    assert (await read_output(site, run=RUN, limit=3, most_bytes=100)).next == "3"
    assert (await read_output(site, run=RUN, after=4, most_bytes=8)).next is None
    assert (await read_output(site, run=RUN, after=6, most_bytes=8)).next is None
    assert (await read_output(site, run=RUN, limit=3)).next == "3"
    assert (await read_output(site, run=RUN)).next is None
