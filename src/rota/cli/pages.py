"""Lists: their pages one after the other, as many items as were asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from rota.operations.views import Page

T = TypeVar("T")
_Command = TypeVar("_Command", bound=Callable[..., object])

# The store gives much at once; a page as doors have it would only cost time.
_PAGE = 10_000


async def gather(
    fetch: Callable[[str | None, int], Awaitable[Page[T]]], *, most: int | None, after: str | None = None
) -> list[T]:
    """Items from pages, all of them or so many."""
    items: list[T] = []
    while most is None or len(items) < most:
        page = await fetch(after, _PAGE if most is None else min(_PAGE, most - len(items)))
        items += page.items
        after = page.next
        if after is None:
            break
    return items


def count_option(default: int | None, *, text: str = "How many.") -> Callable[[_Command], _Command]:
    """``-n``."""
    return click.option(
        "-n", "most", type=click.IntRange(1, 1_000_000), default=default, show_default=default is not None, help=text
    )
