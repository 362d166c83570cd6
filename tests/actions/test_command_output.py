"""Output of real children: complete, bounded, and never in their way (SPEC section 5; GUARANTEES G10)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Self

import anyio
import psutil
import pytest

from rota.actions.command import Command
from rota.actions.output import Chunk, Trim
from rota.core.run import RunState
from tests.actions.bench import IS_LONG, MEGABYTE, Shelf, command, make_output, perform, script, yes

pytestmark = pytest.mark.anyio

HUGE = 1_100_000_000 if IS_LONG else 300_000_000


class Watch:
    """The most memory that this process has taken since the beginning."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._before = self._process.memory_info().rss
        self.growth = 0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _look(self) -> None:
        while True:
            self.growth = max(self.growth, self._process.memory_info().rss - self._before)
            await anyio.sleep(0.01)


async def test_both_streams_are_complete_when_a_child_writes_to_both() -> None:
    """Output of both streams is kept in order."""
    code = (
        "import sys\nfor n in range(20000):\n    (sys.stdout, sys.stderr)[n % 2].write(f'{n}\\n')\nsys.stdout.flush()"
    )
    result, shelf = await perform(command(sys.executable, "-c", code))
    assert result.outcome.state == RunState.SUCCEEDED
    assert shelf.text("stdout") == "".join(f"{number}\n" for number in range(0, 20_000, 2))
    assert shelf.text("stderr") == "".join(f"{number}\n" for number in range(1, 20_000, 2))
    assert shelf.order == sorted(shelf.order)


async def test_streams_are_in_order_when_there_is_time_between() -> None:
    text = "for n in 1 2 3 4; do echo out $n; sleep 0.05; echo err $n >&2; sleep 0.05; done"
    _, shelf = await perform(script(text))
    assert shelf.text() == "".join(f"out {number}\nerr {number}\n" for number in (1, 2, 3, 4))


async def test_output_is_seen_while_the_child_runs_when_it_writes_a_little() -> None:
    """Live."""
    shelf = Shelf()
    task = asyncio.create_task(perform(script("echo begun; sleep 600"), shelf))
    with anyio.fail_after(3):
        while shelf.text() != "begun\n":  # noqa: ASYNC110 - the fact is another process
            await anyio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])


async def test_last_words_are_kept_when_a_run_is_cancelled() -> None:
    shelf = Shelf()
    text = "trap 'echo farewell; exit' TERM; echo begun; while :; do sleep 0.01; done"
    task = asyncio.create_task(perform(script(text), shelf))
    with anyio.fail_after(3):
        while not shelf.text():  # noqa: ASYNC110 - the fact is another process
            await anyio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shelf.text("stdout") == "begun\nfarewell\n"


async def test_everything_is_there_when_a_million_lines_are_written() -> None:
    async with Watch() as watch:
        result, shelf = await perform(command("seq", "1", "1000000"))
    assert result.outcome.state == RunState.SUCCEEDED
    assert shelf.text() == "".join(f"{number}\n" for number in range(1, 1_000_001))
    assert shelf.order == sorted(shelf.order)
    # The shelf itself holds what a store would.
    assert watch.growth < 50 * MEGABYTE + len(shelf.text())


async def test_nothing_is_missing_when_a_child_writes_much_and_is_gone() -> None:
    for _ in range(20):
        _, shelf = await perform(script("head -c 200000 /dev/zero | tr '\\0' x; echo end >&2"))
        assert (len(shelf.text("stdout")), shelf.text("stderr")) == (200_000, "end\n")


async def test_memory_stays_flat_when_there_is_no_newline() -> None:
    """A million lines, 1 GiB, no newline: memory growth < 50 MB, child never blocked; head and tail kept."""
    text = f"printf BEGIN; head -c {HUGE} /dev/zero | tr '\\0' x; printf END"
    with anyio.fail_after(120):
        async with Watch() as watch:
            result, shelf = await perform(script(text))
    assert result.outcome.state == RunState.SUCCEEDED
    assert watch.growth < 50 * MEGABYTE
    kept = shelf.text()
    head, _, rest = kept.partition("\n[… ")
    count, _, tail = rest.partition(" bytes cut …]\n")
    assert head.startswith("BEGINxxx")
    assert tail.endswith("xxxEND")
    assert len(head) + len(tail) + int(count.replace(",", "")) == HUGE + len("BEGINEND")
    assert 9 * MEGABYTE < len(head) + len(tail) <= 10 * MEGABYTE + 64 * 1024


async def test_memory_stays_flat_when_output_is_binary() -> None:
    async with Watch() as watch:
        result, shelf = await perform(script("head -c 40000000 /dev/urandom"))
    assert result.outcome.state == RunState.SUCCEEDED
    assert watch.growth < 50 * MEGABYTE
    assert "\0" not in shelf.text()
    assert len(shelf.text().encode()) <= 11 * MEGABYTE


async def test_child_is_as_fast_when_it_has_long_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redaction never makes the child wait for long."""
    monkeypatch.setenv("MY_KEY", os.urandom(2_000).hex())
    text = "base64 -w 0 /dev/urandom | head -c 30000000"
    with anyio.fail_after(15):
        result, _ = await perform(script(text, env={"KEY": "env:MY_KEY"}))
    assert result.outcome.exit_code == 0


async def test_child_does_not_wait_when_the_store_does() -> None:
    """It never blocks the child."""
    gate = asyncio.Event()

    class Closed(Shelf):
        async def keep(self, chunks: Sequence[Chunk], trim: Trim | None) -> None:
            await gate.wait()
            await super().keep(chunks, trim)

    shelf, work = Closed(), script("head -c 30000000 /dev/zero | tr '\\0' x; echo; echo done")
    output = make_output(work, shelf)
    with anyio.fail_after(15):
        result = await Command().perform(work, output, yes)
    assert result.outcome.output.endswith("xxx\ndone\n")
    assert shelf.order == []
    gate.set()
    await output.finish()
    assert shelf.text().endswith("xxx\ndone\n")


async def test_nothing_is_missing_when_output_is_taken_slowly() -> None:
    """What the pipes still hold when the child is gone is taken, however long that lasts."""
    taken = []

    class Slow:
        async def write(self, stream: str, data: bytes) -> None:
            taken.append((stream, len(data)))
            await anyio.sleep(0.3)

        def tail(self) -> str:
            return ""

    with anyio.fail_after(15):
        await Command().perform(script("head -c 300000 /dev/zero"), Slow(), yes)
    assert sum(size for _, size in taken) == 300_000
    assert taken[-1][1] == 0


async def test_no_descriptor_stays_open_when_runs_are_over() -> None:
    await perform(script("true", stdin="x"))
    before = psutil.Process().num_fds()
    for text in ("true", "exit 3", "kill -9 $$", "sleep 600 &", "no-such-program"):
        await perform(script(text, stdin="x"))
    await perform(command("/no/such/program"))
    assert psutil.Process().num_fds() == before
