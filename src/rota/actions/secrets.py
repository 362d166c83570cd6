"""Secrets are kept as references, ``env:NAME`` or ``file:PATH``, and looked up when a run starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rota.core.definition import Action, CommandAction


class UnresolvedSecretError(Exception):
    """A reference that leads nowhere. The message says what to do."""


def resolve(value: str) -> tuple[str, bool]:
    """The value that a text stands for, and whether it is a secret."""
    kind, colon, rest = value.partition(":")
    if not colon or kind not in ("env", "file"):
        return value, False
    if kind == "env":
        found = os.environ.get(rest)
        if found is None:
            raise UnresolvedSecretError(f"The secret {value} is not set; set the environment variable {rest}.")
        return found, True
    try:
        return Path(rest).expanduser().read_text("utf-8").rstrip("\n"), True
    except (OSError, ValueError, RuntimeError) as error:
        raise UnresolvedSecretError(f"The secret {value} cannot be read: {error}.") from None


def resolve_all(values: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Every value as it is meant, and those among them that are secrets."""
    found = {name: resolve(value) for name, value in values.items()}
    return {name: value for name, (value, _) in found.items()}, tuple(
        value for value, is_secret in found.values() if is_secret
    )


def secrets_of(action: Action) -> tuple[str, ...]:
    """The secrets that an action is given, as far as they resolve."""
    try:
        return resolve_all(action.env)[1] if isinstance(action, CommandAction) else ()
    except UnresolvedSecretError:
        return ()
