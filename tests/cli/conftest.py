"""A store of its own for each test of the command line, and a home that is nobody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.cli import Cli


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not told where the store is must not find that of whoever runs the tests."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    for name in ("ROTA_DB", "VISUAL", "EDITOR", "NO_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(str(tmp_path / "rota.db"))
