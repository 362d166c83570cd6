"""Where the fleet files of the tests are read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from rota.config.fleet import Fleet, Surroundings, load_fleet
from rota.core.definition import Definition
from rota.errors import FleetError, Problem

HERE = Path(__file__).parent
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
AROUND = Surroundings(
    file="rota.yaml",
    folder="/srv/fleet",
    home="/home/me",
    environment={"CODER_KEY": "hush", "FOLDER": "data", "COUNT": "4", "EMPTY": "", "LOUD": "true"},
    zone="America/New_York",
    now=NOW,
)


def load(text: str | bytes) -> Fleet:
    return load_fleet(text.encode() if isinstance(text, str) else text, AROUND)


def job_of(text: str, name: str) -> Definition:
    """The definition of one job of a fleet file."""
    return next(job.definition for job in load(text).jobs if job.definition.name == name)


def problems_of(text: str | bytes) -> tuple[Problem, ...]:
    """Everything that is wrong with a fleet file."""
    with pytest.raises(FleetError) as caught:
        load(text)
    return caught.value.problems
