"""Rings: the latest of what one reader reads, for all who watch; and the frames of server-sent events."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

import msgspec

BEGINNING = b"retry: 1000\n\n"
HEARTBEAT = b": still here\n\n"
_MOST_FRAMES = 10_000
_MOST_BYTES = 4 * 1024 * 1024


class Frame(NamedTuple):
    """Something that happened, ready to be sent. Places go up; names are what a watcher resumes from."""

    place: int
    name: str
    data: bytes


def frame(place: int, name: str, event: str, value: object) -> Frame:
    """One event as it is sent. JSON has no line breaks, so it is one line."""
    text = f"id: {name}\nevent: {event}\ndata: ".encode() if name else f"event: {event}\ndata: ".encode()
    return Frame(place, name, text + msgspec.json.encode(value) + b"\n\n")


class Ring:
    """The latest frames. Whoever has seen everything up to ``floor`` finds the rest here."""

    def __init__(self, floor: int, *, most_frames: int = _MOST_FRAMES, most_bytes: int = _MOST_BYTES) -> None:
        self.floor = floor
        self.last = floor
        self._most_frames = most_frames
        self._most_bytes = most_bytes
        self._frames: deque[Frame] = deque()
        self._size = 0

    def add(self, one: Frame) -> None:
        self._frames.append(one)
        self._size += len(one.data)
        self.last = one.place
        while len(self._frames) > self._most_frames or (self._size > self._most_bytes and len(self._frames) > 1):
            gone = self._frames.popleft()
            self._size -= len(gone.data)
            self.floor = gone.place

    def after(self, place: int) -> list[Frame]:
        """The frames that follow a place, which must not be below the floor."""
        fresh: list[Frame] = []
        for one in reversed(self._frames):
            if one.place <= place:
                break
            fresh.append(one)
        fresh.reverse()
        return fresh

    def place_of(self, name: str) -> int | None:
        """Where a frame is, if it is still here."""
        return next((one.place for one in reversed(self._frames) if one.name == name), None)


class Signal:
    """Wakes everybody who waits, again and again."""

    def __init__(self) -> None:
        self.next = asyncio.Event()
        """Set when something happens after it was looked up."""

    def tell(self) -> None:
        told, self.next = self.next, asyncio.Event()
        told.set()
