"""Where this program stands: what doors know and the store does not."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Premises(msgspec.Struct, frozen=True, kw_only=True):
    """The machine around the store. Doors fill it in; nobody asks for it in a request."""

    database: str
    """A path or a URL."""
    token_file: str
    log_folder: str
    host: str = "127.0.0.1"
    port: int = 7682
    is_serving: bool = False
    """Whether whoever asks is the server that has the port."""
    origins: Mapping[str, str] = {}
    """Where those settings come from that are not left to their defaults, by name."""
