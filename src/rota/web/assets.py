"""Assets: styles and modules. Their address has a fingerprint of them all, so browsers keep them for ever."""

from __future__ import annotations

import hashlib
from functools import cached_property
from importlib.resources import files
from typing import NamedTuple

_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


class Asset(NamedTuple):
    content: bytes
    media_type: str


class Assets:
    """The files beside this module that browsers may have."""

    @cached_property
    def _files(self) -> dict[str, Asset]:
        folder = files(__package__) / "static"
        return {
            entry.name: Asset(entry.read_bytes(), _TYPES[f".{entry.name.rpartition('.')[2]}"])
            for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
            if f".{entry.name.rpartition('.')[2]}" in _TYPES
        }

    @cached_property
    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for name, asset in self._files.items():
            digest.update(name.encode() + b"\0" + asset.content + b"\0")
        return digest.hexdigest()[:12]

    def address(self, name: str) -> str:
        """Where a browser finds an asset."""
        if name not in self._files:
            raise KeyError(name)
        return f"/static/{self.fingerprint}/{name}"

    def find(self, fingerprint: str, name: str) -> Asset | None:
        """An asset of this version; none for another, which a page of the old one may still ask for."""
        return self._files.get(name) if fingerprint == self.fingerprint else None
