"""A fleet file read whole: every job with its definition, or everything that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from rota.config.build import Identity
from rota.config.composer import compose
from rota.config.expansion import Expansion
from rota.config.findings import Enough, Findings, shown
from rota.config.jobs import read_job
from rota.config.layers import Reading, read_layer
from rota.config.reader import is_named, read_fleet
from rota.config.shapes import JobShape
from rota.config.syntax import Malformed, checked, decoded
from rota.config.tree import NOWHERE, Table, spot_at
from rota.config.values import Fleet, FleetAgent, FleetJob, Surroundings
from rota.core.definition import Definition

__all__ = [
    "Fleet",
    "FleetAgent",
    "FleetJob",
    "Surroundings",
    "define_job",
    "define_job_text",
    "load_fleet",
    "read_mapping",
]


def load_fleet(text: bytes, surroundings: Surroundings) -> Fleet:
    """Read a fleet file. Raises a ``FleetError`` with all problems, by line."""
    findings = Findings(surroundings.file)
    try:
        root = compose(decoded(text), findings, Expansion(surroundings.environment, findings))
        fleet = read_fleet(Reading(findings, surroundings.now, root), surroundings)
    except Malformed as error:
        findings.add((error.message, error.cure), spot=error.spot)
    except Enough:
        pass
    if findings:
        raise findings.error()
    return fleet


def define_job(
    data: Mapping[str, object], *, name: str, agent: str | None, zone: str, now: datetime, file: str = ""
) -> tuple[Definition, tuple[str, ...]]:
    """One job in the words of the file, and what a person should be warned of. Raises a ``FleetError``."""
    findings = Findings(file)
    if not isinstance(data, dict):
        data = _as_mapping(data, findings)
    with suppress(Enough):
        definition, warnings = read_single(Reading(findings, now, data), data, name=name, agent=agent, zone=zone)
    if findings:
        raise findings.error()
    return definition, warnings


def read_single(
    reading: Reading, data: Mapping[str, object], *, name: str, agent: str | None, zone: str
) -> tuple[Definition, tuple[str, ...]]:
    """A job that stands by itself. Everything that is wrong with it is noted."""
    # A job whose name is wrong is read under another, so that the rest is looked at too.
    own_name = name if is_named(reading.findings, "name", name) else "job"
    owner = agent if agent is not None and is_named(reading.findings, "agent", agent) else None
    layer = read_layer(reading, JobShape, data, spot=spot_at(1, 1) if isinstance(data, Table) else NOWHERE)
    return read_job(reading, (layer,), {}, Identity(own_name, owner, zone))


def _as_mapping(data: object, findings: Findings) -> dict[str, object]:
    if isinstance(data, Mapping):
        return dict(data)
    findings.add(
        (f"A job must be a mapping, but this is {shown(data)}.", "For example: {every: 5m, command: [./run.sh]}")
    )
    return {}


def read_mapping(text: str, *, file: str) -> Table:
    """A YAML text as a mapping that knows where its entries stand. Raises a ``FleetError``."""
    findings = Findings(file)
    try:
        root = read_table(text, findings)
    except Malformed as error:
        findings.add((error.message, error.cure), spot=error.spot)
    except Enough:
        pass
    if findings:
        raise findings.error()
    return root


def read_table(text: str, findings: Findings) -> Table:
    """The mapping that a text is. What is wrong with parts of it is noted."""
    root = compose(checked(text.removeprefix("\ufeff")), findings)
    if isinstance(root, Table):
        return root
    findings.add(("This is not a mapping.", "Write key: value, one on each line."), spot=spot_at(1, 1))
    return Table()


def define_job_text(
    text: str, *, file: str, name: str, agent: str | None, zone: str, now: datetime
) -> tuple[Definition, tuple[str, ...]]:
    """The same as ``define_job`` from YAML: problems carry their lines."""
    return define_job(read_mapping(text, file=file), name=name, agent=agent, zone=zone, now=now, file=file)
