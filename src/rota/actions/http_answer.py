"""What comes back: as much of a body as is worth keeping, as text, without secrets."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

import aiohttp

from rota.actions.http_request import is_json
from rota.actions.redact import Redactor
from rota.ports.action import Output

KEPT = 100 * 1024
_READ = 16 * 1024
# Python knows codecs that are no character sets; some raise, one takes time without end.
_CHARSETS = re.compile(r"utf-?(8|16|32).*|ascii|(iso|cp|koi|mac|gb|big5|shift|euc|tis|ptcp|hp).*")


class Answer:
    """Takes a body piece by piece and keeps its beginning."""

    def __init__(self, charset: str, secrets: Iterable[str]) -> None:
        self._decoder = codecs.getincrementaldecoder(charset)("replace")
        self._redactor = Redactor(secrets)
        self._left = self._room = KEPT
        self._kept: list[str] = []
        self.is_cut = False

    @property
    def text(self) -> str:
        return "".join(self._kept)

    @property
    def result(self) -> str | None:
        """The whole body, where it is JSON."""
        return self.text if not self.is_cut and is_json(self.text) else None

    @property
    def response(self) -> str:
        return self.text + ("\n[cut]" if self.is_cut else "")

    def take(self, data: bytes) -> bytes:
        """What is kept of a piece. The beginning of a secret is held back, and never shown when the rest is cut off."""
        self.is_cut = len(data) > self._left
        data = data[: self._left]
        self._left -= len(data)
        return self._keep(self._redactor.feed(self._decoder.decode(data)))

    def finish(self) -> bytes:
        """What was held back, now that nothing follows."""
        return self._keep(self._redactor.feed(self._decoder.decode(b"", final=True)) + self._redactor.finish())

    def _keep(self, text: str) -> bytes:
        # Text can be longer than the bytes it was: in other character sets, and where marks replace what is no text.
        data = text.replace("\0", "\ufffd").encode("utf-8", "replace")
        if len(data) > self._room:
            self.is_cut = True
            data = data[: self._room].decode("utf-8", "ignore").encode()
        self._room -= len(data)
        self._kept.append(data.decode())
        return data


async def read_answer(response: aiohttp.ClientResponse, secrets: Iterable[str], output: Output) -> Answer:
    """The beginning of the body, after decompression; it is shown as it comes."""
    answer = Answer(_charset(response), secrets)
    async for piece in response.content.iter_chunked(_READ):
        await _write(output, answer.take(piece))
        if answer.is_cut:
            # Nothing that follows is worth its memory; the connection is given up with it.
            response.close()
            return answer
    await _write(output, answer.finish())
    return answer


async def _write(output: Output, data: bytes) -> None:
    # An empty piece would be the end of the stream.
    if data:
        await output.write("stdout", data)


def _charset(response: aiohttp.ClientResponse) -> str:
    try:
        name = codecs.lookup(response.charset or "utf-8").name
    except (LookupError, ValueError):
        return "utf-8-sig"
    if name == "utf-8" or not _CHARSETS.fullmatch(name):
        # A byte order mark is no part of the text.
        return "utf-8-sig"
    return name
