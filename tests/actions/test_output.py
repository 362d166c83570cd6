"""Output of a run, piece by piece: in order, live, bounded, whatever the store does (SPEC section 5; G7, G10)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.actions.output import CHUNK, TAIL, Chunk, RunOutput, Trim
from rota.app import SystemClock
from tests.actions.bench import MEGABYTE, Shelf, until

pytestmark = pytest.mark.anyio

SECRET = "hunter2-ü-[x]"  # noqa: S105 - it is none


class SlowShelf(Shelf):
    """A store that takes nothing before it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.asked = 0

    async def keep(self, chunks: Sequence[Chunk], trim: Trim | None) -> None:
        self.asked += 1
        await self.gate.wait()
        await super().keep(chunks, trim)


class SickShelf(Shelf):
    """A store that fails a number of times."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures
        self.seen: dict[int, Chunk] = {}

    async def keep(self, chunks: Sequence[Chunk], trim: Trim | None) -> None:
        # It may have failed after it took them: what comes again must be the same.
        assert all(self.seen.setdefault(chunk.sequence, chunk).text == chunk.text for chunk in chunks)
        if self.failures:
            self.failures -= 1
            raise OSError("disk full")
        await super().keep(chunks, trim)


class HastyClock(SystemClock):
    """Waits for a moment only, so that long waits between attempts are short ones."""

    async def wait(self, event: asyncio.Event, *, until: datetime | None) -> bool:
        soon = self.now() + timedelta(seconds=0.01)
        return await super().wait(event, until=soon if until is None else min(until, soon))


def make(shelf: Shelf, clock: SystemClock | None = None, **given: object) -> RunOutput:
    return RunOutput("run_1", shelf.keep, clock or SystemClock(), **given)  # type: ignore[arg-type]


async def keep_all(pieces: Sequence[tuple[str, bytes]], **given: object) -> Shelf:
    shelf = Shelf()
    output = make(shelf, **given)
    for stream, data in pieces:
        await output.write(stream, data)
    await output.finish()
    return shelf


async def test_nothing_is_kept_when_nothing_is_written() -> None:
    assert (await keep_all([])).order == []
    assert (await keep_all([("stdout", b"")])).order == []


async def test_streams_stay_in_order_when_they_take_turns() -> None:
    """Output of both streams is kept in order."""
    pieces = [(("stdout", "stderr")[number % 2], f"{number}\n".encode()) for number in range(1_000)]
    shelf = await keep_all(pieces)
    assert shelf.text() == "".join(f"{number}\n" for number in range(1_000))
    assert shelf.order == sorted(shelf.order) == list(range(1, 1_001))
    assert {chunk.stream for chunk in shelf.chunks.values()} == {"stdout", "stderr"}
    times = [chunk.written_at for chunk in shelf.chunks.values()]
    assert times == sorted(times)


async def test_small_pieces_become_one_when_they_come_together() -> None:
    shelf = await keep_all([("stdout", b"x")] * 10_000)
    assert shelf.text() == "x" * 10_000
    assert len(shelf.chunks) < 10


async def test_no_chunk_is_large_when_a_piece_is() -> None:
    shelf = await keep_all([("stdout", b"x" * (3 * CHUNK + 5))])
    assert [len(chunk.text) for chunk in shelf.chunks.values()] == [CHUNK, CHUNK, CHUNK, 5]


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([b"a\xff\xfeb"], "a\ufffd\ufffdb"),
        ([b"a\0b"], "a\ufffdb"),
        (["€".encode()[:1], "€".encode()[1:2], "€".encode()[2:]], "€"),
        ([b"a", "€".encode()[:2]], "a\ufffd"),
        ([b"\xed\xa0\x80"], "\ufffd" * 3),
        ([b"\x1b[31mred\r\n"], "\x1b[31mred\r\n"),
    ],
    ids=["invalid", "nul", "split", "cut off", "surrogate", "escapes"],
)
async def test_text_can_be_stored_when_the_bytes_are_any(pieces: list[bytes], text: str) -> None:
    """Binary, invalid UTF-8."""
    assert (await keep_all([("stdout", piece) for piece in pieces])).text() == text


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=5))
def test_cuts_make_no_difference_when_bytes_come_in_pieces(data: bytes, places: list[int]) -> None:
    cuts = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    pieces = [("stdout", data[start:end]) for start, end in pairwise(cuts) if start < end]
    shelf = asyncio.run(keep_all(pieces))
    assert shelf.text() == data.decode("utf-8", "replace").replace("\0", "\ufffd")


@given(st.binary(max_size=40), st.binary(max_size=40), st.lists(st.integers(0, 110), max_size=4))
def test_secret_is_hidden_when_its_bytes_are_split_anywhere(before: bytes, after: bytes, places: list[int]) -> None:
    """A secret split over two writes."""
    data = before.replace(b"hunter2", b"") + SECRET.encode() + after.replace(b"hunter2", b"")
    cuts = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    pieces = [("stdout", data[start:end]) for start, end in pairwise(cuts) if start < end]
    text = asyncio.run(keep_all(pieces, secrets=[SECRET])).text()
    assert "[secret]" in text
    assert "hunter2" not in text


async def test_secret_is_hidden_when_it_is_split_at_every_place() -> None:
    data = f"a {SECRET} z".encode()
    for place in range(len(data) + 1):
        shelf = await keep_all([("stdout", data[:place]), ("stdout", data[place:])], secrets=[SECRET])
        assert shelf.text() == "a [secret] z"


async def test_one_stream_does_not_complete_the_secret_of_another_when_they_mix() -> None:
    pieces = [("stdout", b"hunt"), ("stderr", b"other"), ("stdout", SECRET.encode()[4:])]
    shelf = await keep_all(pieces, secrets=[SECRET])
    assert (shelf.text("stdout"), shelf.text("stderr")) == ("[secret]", "other")


@pytest.mark.parametrize("size", [1, 100, 5_000, CHUNK])
async def test_head_and_tail_are_kept_and_the_cut_marked_when_it_is_too_much(size: int) -> None:
    """Bounded per run (10 MiB: head and tail kept, the cut marked)."""
    total, limit = 4_000_000, 1_000_000
    whole = "".join(f"{number:07}\n" for number in range(total // 8))
    data = whole.encode()
    step = max(size, 64)
    shelf = await keep_all([("stdout", data[at : at + step]) for at in range(0, total, step)], limit=limit)
    head, mark, tail = shelf.text().partition("\n[… ")
    count, _, tail = tail.partition(" bytes cut …]\n")
    assert mark
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len(head) + len(tail) + int(count.replace(",", "")) == total
    assert limit // 2 - CHUNK <= len(head) <= limit // 2 + CHUNK
    assert limit // 2 - 2 * CHUNK <= len(tail) <= limit // 2
    assert [chunk.stream for chunk in shelf.chunks.values()].count("rota") == 1


async def test_nothing_is_marked_when_it_just_fits() -> None:
    text = "x" * 900_000
    assert (await keep_all([("stdout", text.encode())], limit=1_000_000)).text() == text


@pytest.mark.parametrize("character", ["€", "😀"])
async def test_bound_holds_in_bytes_when_characters_are_wide(character: str) -> None:
    shelf = await keep_all([("stdout", character.encode() * 10_000)] * 100, limit=1_000_000)
    assert len(shelf.text().encode()) <= 1_000_000 + 5 * CHUNK


async def test_text_is_kept_live_when_little_is_written() -> None:
    """Live: at most 1 s or 64 KiB of output is lost."""
    shelf = Shelf()
    output = make(shelf)
    await output.write("stdout", b"first\n")
    await until(lambda: shelf.text() == "first\n", seconds=1)
    await output.write("stdout", b"second\n")
    await until(lambda: shelf.text() == "first\nsecond\n", seconds=1)
    assert shelf.order == [1, 2]
    await output.finish()


async def test_last_words_are_kept_when_they_came_while_the_store_was_busy() -> None:
    shelf = SlowShelf()
    output = make(shelf)
    await output.write("stdout", b"first\n")
    await until(lambda: shelf.asked == 1)
    await output.write("stdout", b"second\n")
    shelf.gate.set()
    await until(lambda: shelf.text() == "first\nsecond\n", seconds=2)
    await output.finish()


async def test_nothing_is_lost_when_the_store_is_slow() -> None:
    """It never blocks the child."""
    shelf = SlowShelf()
    output = make(shelf)
    async with asyncio.timeout(5):
        for number in range(20_000):
            await output.write("stdout", f"{number}\n".encode())
            if number % 100 == 0:
                await asyncio.wait([asyncio.create_task(shelf.gate.wait())], timeout=0.001)
    assert shelf.order == []
    asyncio.get_running_loop().call_later(0.2, shelf.gate.set)
    await output.finish()
    assert shelf.text() == "".join(f"{number}\n" for number in range(20_000))
    assert shelf.order == sorted(shelf.order)


@pytest.mark.parametrize("piece", [b"x" * CHUNK, b"xy\n"], ids=["large", "tiny"])
async def test_memory_is_bounded_when_the_store_blocks_for_long(piece: bytes) -> None:
    """Never grows memory."""
    shelf = SlowShelf()
    output = make(shelf)
    before = psutil.Process().memory_info().rss
    for number in range(100 * MEGABYTE // len(piece) if len(piece) > 100 else 400_000):
        await output.write(("stdout", "stderr")[number % 2], piece)
    assert psutil.Process().memory_info().rss - before < 50 * MEGABYTE
    shelf.gate.set()
    await output.finish()
    assert len(shelf.text()) <= 11 * MEGABYTE


@pytest.mark.parametrize("piece", [b"x" * CHUNK, b"x"], ids=["large", "small"])
async def test_store_gets_it_bit_by_bit_when_much_has_waited(piece: bytes) -> None:
    """On its way to the store text takes several times its size."""
    shelf = SlowShelf()
    output, sizes = make(shelf), []
    output._keep = lambda chunks, trim: sizes.append(len(chunks)) or shelf.keep(chunks, trim)
    for number in range(4 * MEGABYTE // (len(piece) + 256)):
        await output.write(("stdout", "stderr")[number % 2], piece)
    shelf.gate.set()
    await output.finish()
    assert max(sizes) * (len(piece) + 256) <= MEGABYTE
    assert len(shelf.text()) == 4 * MEGABYTE // (len(piece) + 256) * len(piece)


@pytest.mark.parametrize("failures", [1, 2])
async def test_nothing_is_lost_when_the_store_fails_for_a_while(failures: int) -> None:
    """Database away or disk full: nothing acknowledged is lost."""
    shelf = SickShelf(failures)
    output = make(shelf, HastyClock())
    await output.write("stdout", b"first\n")
    await until(lambda: shelf.failures < failures)
    await output.write("stdout", b"second\n")
    await until(lambda: shelf.text() == "first\nsecond\n")
    assert shelf.order == [1, 2]
    await output.finish()


async def test_nothing_is_lost_when_the_store_fails_at_the_end() -> None:
    shelf = SickShelf(2)
    output = make(shelf, HastyClock(), limit=1_000_000)
    await output.write("stdout", b"x" * 3_000_000)
    await output.finish()
    assert shelf.text().count("bytes cut") == 1
    assert shelf.text().endswith("xxx")


async def test_run_goes_on_without_its_output_when_the_store_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    """A store that fails fails no run; that something is missing is said."""
    output = make(SickShelf(1_000), HastyClock())
    await output.write("stdout", b"first\n")
    async with asyncio.timeout(20):
        await output.finish()
    assert "output.lost" in caplog.messages
    assert output.tail() == "first\n"


async def test_tail_is_the_last_part_when_there_is_more() -> None:
    output = make(Shelf(), secrets=[SECRET])
    for number in range(30_000):
        await output.write("stdout", f"{number}\n".encode())
    await output.write("stderr", f"{SECRET}\n".encode())
    tail = output.tail()
    assert len(tail) == TAIL
    assert tail.endswith("29999\n[secret]\n")
    await output.finish()
    assert output.tail() == tail


async def test_tail_does_not_show_half_a_secret_when_the_other_half_is_on_its_way() -> None:
    output = make(Shelf(), secrets=[SECRET])
    await output.write("stdout", b"the hunter")
    assert output.tail() == "the "
    await output.write("stdout", b"s\n")
    assert output.tail() == "the hunters\n"
    await output.finish()
