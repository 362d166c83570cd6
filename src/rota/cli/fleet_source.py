"""The fleet file that a command is about."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rota.app import FILE_NAMES, fleet_file_here, machine_zone
from rota.operations.fleets import FleetText
from rota.operations.watching import read_fleet_file


def file_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """``[FILE]``, by default the fleet file of this folder."""
    return click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))(command)


def fleet_source(file: Path | None) -> FleetText:
    """The text of a fleet file and its surroundings."""
    here = Path.cwd()
    return source_of(file or fleet_file_here(here) or here / FILE_NAMES[0])


def source_of(file: Path) -> FleetText:
    # Without "..", so that one file has one name; links stay, because what they point at may change.
    return read_fleet_file(Path(os.path.abspath(file)), os.environ, machine_zone())  # noqa: PTH100
