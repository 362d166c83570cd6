"""Variables of the environment in text values: ``${NAME}``, ``${NAME:-fallback}``, and ``$${`` for a plain ``${``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from rota.config.findings import Findings, Wording
from rota.config.tree import Spot, Step, path_words

# All that variables add to one file: a long one in many places must not fill the memory.
MAX_EXPANDED = 10_000_000
_PATTERN = re.compile(r"\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})?")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_GIVEN_TO_PROGRAMS = ("env", "headers")
_LITERAL = "$${ stands for a plain ${"


class Expansion:
    """Puts variables into the texts of one file."""

    def __init__(self, environment: Mapping[str, str], findings: Findings) -> None:
        self._environment = environment
        self._findings = findings
        self._length = 0

    def __call__(self, text: str, path: tuple[Step, ...], spot: Spot) -> str | None:
        """The text with its variables; none when there is something wrong with them, which is then noted."""
        if "${" not in text:
            return text
        parts: list[str] = []
        end = 0
        for found in _PATTERN.finditer(text):
            value = self._value(found, path, spot)
            if value is None:
                return None
            parts += text[end : found.start()], value
            end = found.end()
        return "".join([*parts, text[end:]])

    def _value(self, found: re.Match[str], path: tuple[Step, ...], spot: Spot) -> str | None:
        name, fallback = found.groups()
        if found[0] == "$${":
            return "${"
        value = self._environment.get(name) if name else None
        # As in a shell, what is empty counts as missing where there is a fallback.
        result = (value or fallback) if fallback is not None else value
        self._length += len(result or "")
        if result is None or self._length > MAX_EXPANDED:
            self._findings.add(lambda: self._refusal(name), path=path_words(path), spot=spot)
            return None
        if value and _SECRET.search(name) and any(step in _GIVEN_TO_PROGRAMS for step in path):
            self._warn_of_secret(name, path, spot)
        return result

    def _refusal(self, name: str | None) -> Wording:
        if name is None:
            return 'A "${" is not followed by a name and a "}".', f"Write ${{NAME}} or ${{NAME:-fallback}}; {_LITERAL}."
        if name in self._environment:
            return "The variables in this file add up to more than 10 MB of text.", "Use shorter ones."
        near = difflib.get_close_matches(name, self._environment, n=1)
        meant = f"Did you mean ${{{near[0]}}}? Or set it" if near else "Set it"
        return f"The environment has no variable {name}.", f"{meant}, or give a fallback: ${{{name}:-…}}; {_LITERAL}."

    def _warn_of_secret(self, name: str, path: tuple[Step, ...], spot: Spot) -> None:
        self._findings.warn(
            f"${{{name}}} looks like a secret, and would be kept in the database as plain text.",
            f"Write env:{name} instead: it is looked up when a run starts.",
            path=path_words(path),
            spot=spot,
        )
