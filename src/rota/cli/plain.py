"""Text of others, so that it cannot steer the terminal; and paths as one would type them here."""

from __future__ import annotations

from pathlib import Path


def plain(text: str) -> str:
    """Text without escape sequences and without marks that turn its direction."""
    if text.isprintable():
        return text
    return "".join(c for c in text if c in "\n\t\r" or c.isprintable())


def near(path: str) -> str:
    """A path as seen from this folder."""
    try:
        return path.removeprefix(f"{Path.cwd()}/")
    except OSError:
        return path


def one_line(text: str) -> str:
    """The same for where there is room for one line only."""
    return " ".join(plain(text).split())
