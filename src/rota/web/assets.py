"""Assets: styles and modules. Their address has a fingerprint of them all, so browsers keep them for ever."""

from __future__ import annotations

import hashlib
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from rota.web.bundles import bundle

STYLES = "app.css"
_FIRST = "base.css"
_HERE = files(__package__)


class Asset(NamedTuple):
    content: bytes
    media_type: str


class Assets:
    """What browsers may have: each module by itself, and all styles as one file, which every page shares."""

    @cached_property
    def _files(self) -> dict[str, Asset]:
        sources = {entry.name: entry.read_text("utf-8") for entry in _in(_HERE / "static", ".js")}
        modules = {name: Asset(text.encode(), "text/javascript") for name, text in bundle(sources).items()}
        styles = b"\n".join(entry.read_bytes() for entry in _in(_HERE / "styles", ".css"))
        return {**modules, STYLES: Asset(styles, "text/css")}

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


def _in(folder: Traversable, ending: str) -> list[Traversable]:
    """The files of a folder, the one that the others build on first."""
    found = [entry for entry in folder.iterdir() if entry.name.endswith(ending)]
    return sorted(found, key=lambda entry: (entry.name != _FIRST, entry.name))
