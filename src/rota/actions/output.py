"""A run's output: in order, live, bounded to a head and a tail, without secrets. It never makes the child wait."""

from __future__ import annotations

import asyncio
import codecs
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from rota.actions.redact import Redactor
from rota.log import log
from rota.ports.clock import Clock
from rota.ports.records import micros

LIMIT = 10 * 1024 * 1024
CHUNK = 64 * 1024
FLUSH_AFTER = timedelta(seconds=0.25)
TAIL = 64 * 1024
# What a chunk takes besides its text, so that many small ones are bounded too.
_OVERHEAD = 256
# How much goes to the store at once. On its way there text takes several times its size.
_BATCH = 4 * CHUNK
# The waits between attempts to keep output when the store fails; after the last one a finished run goes on without.
_RETRIES = tuple(timedelta(seconds=seconds) for seconds in (0.2, 1, 5, 15))


class Chunk(NamedTuple):
    """A piece of output, in the order of the store's columns."""

    run_id: str
    sequence: int
    stream: str
    written_at: int
    text: str


class Trim(NamedTuple):
    """What lies between two sequences of a run is given up."""

    run_id: str
    head: int
    tail: int


Keep = Callable[[Sequence[Chunk], Trim | None], Awaitable[None]]


class RunOutput:
    """Collects the output of one run and keeps it in batches."""

    def __init__(
        self, run_id: str, keep: Keep, clock: Clock, *, secrets: Iterable[str] = (), limit: int = LIMIT
    ) -> None:
        self._run_id = run_id
        self._keep = keep
        self._clock = clock
        self._secrets = tuple(secrets)
        self._head_left = self._tail_limit = limit // 2
        self._streams: dict[str, tuple[codecs.IncrementalDecoder, Redactor]] = {}
        self._sequence = 0
        self._head_end = 0
        # What is not yet kept of the head and of the tail.
        self._head: deque[Chunk] = deque()
        self._tail: deque[Chunk] = deque()
        # Sequence and size of all that the tail consists of, kept or not.
        self._sizes: deque[tuple[int, int]] = deque()
        self._tail_size = 0
        self._cut = 0
        self._written_at: datetime | None = None
        self._may_join = False
        self._recent: deque[str] = deque()
        self._recent_size = 0
        self._flushing: asyncio.Task[None] | None = None
        self._is_finished = asyncio.Event()

    @property
    def written_at(self) -> datetime | None:
        """When something was last written."""
        return self._written_at

    async def write(self, stream: str, data: bytes) -> None:
        """Take a piece; an empty one is the stream's end, after which nothing is held back."""
        if data:
            self._written_at = self._clock.now()
            decoder, redactor = self._stream(stream)
            self._add(stream, redactor.feed(decoder.decode(data)))
        else:
            self._end(stream)
        self._flush_soon()

    def tail(self) -> str:
        return "".join(self._recent)[-TAIL:]

    async def finish(self) -> None:
        """Keep everything that is left, and mark where something was cut. A store that fails fails no run."""
        for stream in self._streams:
            self._end(stream)
        self._is_finished.set()
        if self._flushing is not None:
            await self._flushing
        for wait in (*_RETRIES, None):
            if await self._flush_rest():
                return
            if wait is not None:
                await self._clock.wait(asyncio.Event(), until=self._clock.now() + wait)
        log("output.lost", level=logging.ERROR, run_id=self._run_id)

    async def _flush_rest(self) -> bool:
        """Whether the store has taken all there is, and the mark of what was cut."""
        while self._head or self._tail:
            if not await self._flush():
                return False
        return not self._cut or await self._flush(is_last=True)

    def _stream(self, stream: str) -> tuple[codecs.IncrementalDecoder, Redactor]:
        if stream not in self._streams:
            self._streams[stream] = (codecs.getincrementaldecoder("utf-8")("replace"), Redactor(self._secrets))
        return self._streams[stream]

    def _end(self, stream: str) -> None:
        decoder, redactor = self._stream(stream)
        self._add(stream, redactor.feed(decoder.decode(b"", final=True)) + redactor.finish())

    def _add(self, stream: str, text: str) -> None:
        # PostgreSQL has no place for NUL, and a terminal no use for it.
        text = text.replace("\0", "\ufffd")
        for start in range(0, len(text), CHUNK):
            self._append(stream, text[start : start + CHUNK])

    def _append(self, stream: str, text: str) -> None:
        self._remember(text)
        is_head = self._head_left > 0
        if not self._join(self._head if is_head else self._tail, stream, text):
            self._begin(stream, text)
        size = len(text.encode())
        if is_head:
            self._head_left = max(0, self._head_left - size)
        else:
            sequence, before = self._sizes.pop()
            self._sizes.append((sequence, before + size))
            self._tail_size += size
            self._give_up()

    def _join(self, fresh: deque[Chunk], stream: str, text: str) -> bool:
        """Add to the last chunk, unless the store may have seen it."""
        last = fresh[-1] if fresh and self._may_join else None
        if last is None or last.stream != stream or len(last.text) + len(text) > CHUNK:
            return False
        fresh[-1] = last._replace(text=last.text + text)
        return True

    def _begin(self, stream: str, text: str) -> None:
        self._sequence += 1
        self._may_join = True
        if self._head_left > 0:
            self._head_end = self._sequence
            self._head_left = max(1, self._head_left - _OVERHEAD)
        else:
            if self._sequence == self._head_end + 1:
                # The place of the mark that says how much is missing.
                self._sequence += 1
            self._sizes.append((self._sequence, 0))
            self._tail_size += _OVERHEAD
        chunk = Chunk(self._run_id, self._sequence, stream, micros(self._clock.now()), text)
        (self._head if self._sequence == self._head_end else self._tail).append(chunk)

    def _remember(self, text: str) -> None:
        self._recent.append(text)
        self._recent_size += len(text)
        while self._recent_size - len(self._recent[0]) > TAIL:
            self._recent_size -= len(self._recent.popleft())

    def _give_up(self) -> None:
        """Drop the oldest of the tail, whether it has been kept already or not; the newest stays."""
        while self._tail_size > self._tail_limit and len(self._sizes) > 1:
            sequence, size = self._sizes.popleft()
            self._tail_size -= size + _OVERHEAD
            self._cut += size
            if self._tail and self._tail[0].sequence == sequence:
                self._tail.popleft()

    def _flush_soon(self) -> None:
        if (self._head or self._tail) and (self._flushing is None or self._flushing.done()):
            self._flushing = asyncio.create_task(self._flush_all())

    async def _flush_all(self) -> None:
        """Until nothing is left: what comes while the store is busy may be the last for long."""
        failures = 0
        while (self._head or self._tail) and not self._is_finished.is_set():
            if failures:
                wait = _RETRIES[min(failures, len(_RETRIES)) - 1]
                await self._clock.wait(self._is_finished, until=self._clock.now() + wait)
            elif sum(len(chunk.text) for chunk in (*self._head, *self._tail)) < CHUNK:
                await self._clock.wait(self._is_finished, until=self._clock.now() + FLUSH_AFTER)
            failures = 0 if await self._flush() else failures + 1

    async def _flush(self, *, is_last: bool = False) -> bool:
        """Whether the store has taken the next batch; what it refuses stays for another time."""
        chunks = [] if is_last else self._next_batch()
        self._may_join = False
        trim = Trim(self._run_id, self._head_end, self._sizes[0][0]) if self._cut else None
        note = [self._note()] if self._cut and is_last else []
        if not (chunks or trim):
            return True
        try:
            await self._keep([*chunks, *note], trim)
        except Exception as error:  # noqa: BLE001 - a store that is away must not stop the run
            self._put_back(chunks)
            log("output.refused", level=logging.WARNING, error=error, run_id=self._run_id)
            return False
        return True

    def _next_batch(self) -> list[Chunk]:
        """The oldest of what is not yet kept."""
        chunks: list[Chunk] = []
        size = 0
        while (fresh := self._head or self._tail) and size < _BATCH:
            chunks.append(fresh.popleft())
            size += len(chunks[-1].text) + _OVERHEAD
        return chunks

    def _put_back(self, chunks: Sequence[Chunk]) -> None:
        first = self._sizes[0][0] if self._sizes else 0
        self._head.extendleft(chunk for chunk in reversed(chunks) if chunk.sequence <= self._head_end)
        self._tail.extendleft(chunk for chunk in reversed(chunks) if chunk.sequence >= first > self._head_end)

    def _note(self) -> Chunk:
        note = f"\n[… {self._cut:,} bytes cut …]\n"
        return Chunk(self._run_id, self._head_end + 1, "rota", micros(self._clock.now()), note)
