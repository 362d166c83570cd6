"""Asking the person at the terminal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


def is_terminal() -> bool:
    """Whether somebody is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def is_agreed(question: str, *, default: bool = False) -> bool:
    """Whether the answer is yes."""
    with _at_once():
        return click.confirm(question, default=default, err=True)


def answer(question: str, *, default: str, check: Callable[[str], str] = str) -> str:
    """A line of text, asked for until it can be accepted."""
    with _at_once():
        found: str = click.prompt(question, default=default, value_proc=check, err=True)
    return found


def edited(text: str) -> str | None:
    """What a person made of a text in their editor; none if they left it as it is."""
    if not is_terminal() and not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        raise click.UsageError("Say what to change with options or --from-file: there is no terminal for an editor.")
    with _at_once():
        try:
            return click.edit(text, extension=".yaml")
        except FileNotFoundError:
            raise click.ClickException("The editor took the file away. Nothing was changed.") from None


@contextmanager
def _at_once() -> Iterator[None]:
    """Let Ctrl-C end the question: the loop around it would wait for the answer first."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
