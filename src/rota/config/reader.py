"""The sections of a fleet file in turn: the fleet, the engine, pools, defaults, agents with their schedules, jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from rota.config.build import Identity
from rota.config.crosschecks import Found, check_between
from rota.config.findings import Findings, shown, words_of
from rota.config.jobs import check_own_action, origin, read_job
from rota.config.layers import NO_LAYER, Layer, Parts, Reading, lay_over, read_layer
from rota.config.shapes import AgentShape, DefaultsShape, FileJobShape, FileShape
from rota.config.suggestions import unknown_key
from rota.config.tree import BROKEN, NOWHERE, Spot, Step, Table, key_spot, line_of, path_words, spot_at
from rota.config.values import Fleet, FleetAgent, FleetJob, Surroundings
from rota.core.definition import Definition, check_name
from rota.core.schedule import Once
from rota.core.zone import resolve_zone
from rota.errors import InputError

_SECTIONS = tuple(FileShape.model_fields)
_SIMPLE = ("fleet", "engine", "pools")
# What an agent has for itself and does not hand down to its jobs.
_AGENTS_OWN = ("description", "max_concurrent", "schedules")


def read_fleet(reading: Reading, surroundings: Surroundings) -> Fleet:
    """Everything that the file says; what is wrong with it is noted, and then the result means nothing."""
    root = reading.root
    if not isinstance(root, Table):
        is_empty = root is None
        message = "The file says nothing." if is_empty else f"The file is {shown(root)}, not a mapping of sections."
        reading.findings.add((message, "Write jobs: and under it the name of a job."), spot=spot_at(1, 1))
        root = Table()
    return _FleetReader(reading, surroundings, root).read()


def is_named(findings: Findings, field: str, name: str, *, path: str = "", spot: Spot = NOWHERE) -> bool:
    """Whether a name can be one; else that is noted."""
    try:
        check_name(field, name)
    except InputError as error:
        findings.add(words_of(error), path=path, spot=spot)
        return False
    return True


class _Entry(NamedTuple):
    """An entry of a section: its name, its settings, and where it stands."""

    name: str
    data: Table
    steps: tuple[Step, ...]
    spot: Spot


class _FleetReader:
    def __init__(self, reading: Reading, surroundings: Surroundings, root: Table) -> None:
        self._reading = reading
        self._surroundings = surroundings
        self._root = root
        self._zone = surroundings.zone
        self._found: list[Found] = []
        self._jobs: list[FleetJob] = []

    def read(self) -> Fleet:
        self._check_sections()
        simple = {key: self._root[key] for key in _SIMPLE if key in self._root}
        top = read_layer(self._reading, FileShape, simple).parts
        fleet: Parts = top.get("fleet") or {}
        self._zone = resolve_zone(None, None, fleet.get("timezone"), machine=self._surroundings.zone)
        defaults = self._defaults()
        agents = tuple(self._agent(entry, defaults) for entry in self._entries(self._root, ("agents",), "an agent"))
        for entry in self._entries(self._root, ("jobs",), "a job"):
            self._job(entry, entry.name, (defaults,), defaults.parts)
        pools: dict[str, int] = top.get("pools") or {}
        check_between(self._found, pools, self._reading.findings)
        return Fleet(
            name=fleet.get("name") or "main",
            description=fleet.get("description") or "",
            timezone=self._zone,
            agents=agents,
            jobs=tuple(self._jobs),
            pools=pools,
            settings={key: value for key, value in (top.get("engine") or {}).items() if value is not None},
            warnings=self._reading.findings.warnings(),
        )

    def _check_sections(self) -> None:
        for key in self._root:
            if key not in _SECTIONS:
                words = partial(unknown_key, key, _SECTIONS, elsewhere=_misplaced(key))
                self._reading.add(words, (key,), self._reading.key_spot((key,)))

    def _defaults(self) -> Layer:
        data = self._root.get("defaults")
        if data is None or data is BROKEN:
            return NO_LAYER
        if not isinstance(data, Table):
            words = f"This must be a mapping, but it is {shown(data)}.", "For example: defaults: {timeout: 30m}"
            self._reading.add(words, ("defaults",))
            return NO_LAYER
        return read_layer(self._reading, DefaultsShape, data, steps=("defaults",))

    def _entries(self, parent: Table, steps: tuple[Step, ...], what: str) -> Iterator[_Entry]:
        """The entries of a section by name, each a mapping; what is none is noted."""
        section = parent.get(str(steps[-1]))
        if section is None or section is BROKEN:
            return
        if not isinstance(section, Table):
            words = (
                f"This must be a mapping by name, but it is {shown(section)}.",
                f"Write the name of {what}, a colon, and under it its settings.",
            )
            self._reading.add(words, steps)
            return
        for name, data in section.items():
            if isinstance(data, Table):
                yield _Entry(name, data, (*steps, name), key_spot(section.places[name]))
            elif data is not BROKEN:
                words = (
                    f"This must be the settings of {what}, but it is {shown(data)}.",
                    "Write key: value under it, indented.",
                )
                self._reading.add(words, (*steps, name))

    def _agent(self, entry: _Entry, defaults: Layer) -> FleetAgent:
        path = path_words(entry.steps)
        is_good = is_named(self._reading.findings, "agent", entry.name, path=path, spot=entry.spot)
        own = {key: value for key, value in entry.data.items() if key != "schedules"}
        layer = read_layer(self._reading, AgentShape, own, steps=entry.steps, spot=entry.spot)
        check_own_action(self._reading, layer)
        handed_down = {key: value for key, value in layer.parts.items() if key not in _AGENTS_OWN}
        inherited = lay_over(defaults.parts, handed_down)
        for job in self._entries(entry.data, (*entry.steps, "schedules"), "a job"):
            # Under a wrong name of the agent every name would be wrong; that is said once.
            name = f"{entry.name}/{job.name}" if is_good else f"agent/{job.name}"
            self._job(job, name, (defaults, layer), inherited, agent=entry.name if is_good else None)
        return FleetAgent(
            name=entry.name,
            line=line_of(entry.spot),
            description=layer.parts.get("description") or "",
            max_concurrent=layer.parts.get("max_concurrent"),
            timezone=layer.parts.get("timezone"),
        )

    def _job(
        self,
        entry: _Entry,
        name: str,
        under: tuple[Layer, ...],
        inherited: Mapping[str, Any],
        *,
        agent: str | None = None,
    ) -> None:
        reading, path = self._reading, path_words(entry.steps)
        is_good = is_named(reading.findings, "name", name, path=path, spot=entry.spot)
        layer = read_layer(reading, FileJobShape, entry.data, steps=entry.steps, spot=entry.spot)
        layers = (*under, layer)
        around = self._surroundings
        identity = Identity(name if is_good else "job", agent, self._zone, around.folder, around.home)
        definition, warnings = read_job(reading, layers, inherited, identity)
        for warning in warnings:
            place, spot = origin(reading, layers, "cron" if "cron" in entry.data else "schedule")
            reading.findings.warn(warning, path=place, spot=spot)
        renamed_from = layer.parts.get("renamed_from")
        if is_good:
            locate = partial(origin, reading, layers)
            self._found.append(Found(definition, renamed_from, path, entry.spot, locate))
        is_enabled = layer.parts.get("enabled", inherited.get("enabled"))
        wait = _wait_of(layer, definition)
        self._jobs.append(FleetJob(definition, line_of(entry.spot), renamed_from, is_enabled is not False, wait))


def _wait_of(layer: Layer, definition: Definition) -> str | None:
    """How long from now a job is to run once: as it is written, to tell whether a later reading means the same."""
    if not isinstance(definition.timing.schedule, Once):
        return None
    once, line = layer.data.get("once"), layer.data.get("schedule")
    if isinstance(once, dict) and once.get("in") is not None:
        return str(once["in"])
    if isinstance(line, str) and line.strip().startswith("in "):
        return line.strip().removeprefix("in ").strip()
    return None if layer.data.get("in") is None else str(layer.data["in"])


def _misplaced(key: str) -> str:
    """Where a key belongs that stands beside the sections."""
    if any(key == (info.alias or field) for field, info in FileJobShape.model_fields.items()):
        return "Settings of a job belong under jobs and its name, or under defaults."
    return "Schedules belong to an agent: agents, its name, schedules." if key == "schedules" else ""
