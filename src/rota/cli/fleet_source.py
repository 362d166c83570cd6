"""The fleet file that a command is about."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rota.app import machine_zone
from rota.operations.fleets import FleetText
from rota.operations.watching import read_fleet_file

_NAMES = ("rota.yaml", "rota.yml")


def file_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """``[FILE]``, by default the fleet file of this folder."""
    return click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))(command)


def fleet_source(file: Path | None) -> FleetText:
    """The text of a fleet file and its surroundings."""
    here = Path.cwd()
    chosen = file or next((here / name for name in _NAMES if (here / name).is_file()), here / _NAMES[0])
    # Without "..", so that one file has one name; links stay, because what they point at may change.
    return read_fleet_file(Path(os.path.abspath(chosen)), os.environ, machine_zone())  # noqa: PTH100
