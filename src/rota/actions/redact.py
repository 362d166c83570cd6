"""Secrets do not reach the record: not as they are, not in a URL, not in base64, not cut in two by a chunk's border."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

HIDDEN = "[secret]"
# Shorter values would blot out ordinary words.
_SHORTEST = 4
# What the usual libraries leave alone in a URL: nothing, paths, JavaScript.
_SAFE = ("", "/", "!'()*", "/!'()*")


class Redactor:
    """Replaces secrets in one stream of text; where its pieces are cut makes no difference."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms = tuple(sorted({form for secret in secrets for form in _forms(secret)}))
        self._held = ""
        # How much of the held text belongs to a secret that has been replaced already.
        self._hidden = 0

    def feed(self, text: str) -> str:
        """What may be shown now; the beginning of what could become a secret is held back."""
        if not self._forms:
            return text
        text = self._held + text
        return self._show(text, self._sure(text))

    def finish(self) -> str:
        """What was held back, now that nothing follows."""
        return self._show(self._held, len(self._held))

    def _show(self, text: str, until: int) -> str:
        """The text up to a place, with one mark for all secrets that overlap, so that none shows beside another."""
        shown: list[str] = []
        at = self._hidden
        for start, end in sorted(self._found(text)):
            if start < at:
                at = max(at, end)
            elif start < until:
                shown += (text[at:start], HIDDEN)
                at = end
            else:
                break
        shown.append(text[at:until])
        self._held = text[until:]
        self._hidden = max(0, at - until)
        return "".join(shown)

    def _found(self, text: str) -> Iterator[tuple[int, int]]:
        for form in self._forms:
            start = text.find(form)
            while start >= 0:
                yield start, start + len(form)
                start = text.find(form, start + 1)

    def _sure(self, text: str) -> int:
        """The first place from which the text could be the beginning of a secret."""
        return min(_beginning(text, form) for form in self._forms)


def _beginning(text: str, form: str) -> int:
    start = text.find(form[0], max(0, len(text) - len(form) + 1))
    while start >= 0 and not form.startswith(text[start:]):
        start = text.find(form[0], start + 1)
    return len(text) if start < 0 else start


def _forms(secret: str) -> Iterator[str]:
    if len(secret) < _SHORTEST:
        return
    # Environments may hold any bytes; output shows them as replacement characters.
    raw = secret.encode("utf-8", "surrogateescape")
    yield raw.decode("utf-8", "replace")
    for quoted in (*(quote(raw, safe=safe) for safe in _SAFE), quote_plus(raw)):
        yield quoted
        yield re.sub("%..", lambda code: code[0].lower(), quoted)
    for encoded in _encoded(raw):
        if len(encoded) >= _SHORTEST:
            yield encoded
            yield encoded.replace("+", "-").replace("/", "_")


def _encoded(raw: bytes) -> Iterator[str]:
    """In base64 by itself, and within something longer: three ways to lie, less what depends on the neighbours."""
    yield base64.b64encode(raw).decode().rstrip("=")
    for before in range(3):
        first = -(-before * 8 // 6)
        last = (before + len(raw)) * 8 // 6
        yield base64.b64encode(b"\0" * before + raw).decode()[first:last]
