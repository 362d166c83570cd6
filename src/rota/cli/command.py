"""What every command has: examples in its help, and the operations that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click


class Command(click.Command):
    """A command. ``examples`` are lines as a person would type them."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **attributes: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*args, **attributes)
        self.epilog = self.epilog or _epilog(examples)
        self.operations: tuple[str, ...] = getattr(self.callback, "operations", ())


class Group(click.Group):
    """Several commands under one word."""

    command_class = Command

    def __init__(self, *args: Any, examples: Sequence[str] = (), **attributes: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*args, **attributes)
        self.epilog = self.epilog or _epilog(examples)


def _epilog(examples: Sequence[str]) -> str | None:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples) if examples else None
