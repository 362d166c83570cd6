"""The doctor looks at definitions: zones, programs, folders, callables, secrets, and the files they come from."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from rota.core.chain import After
from rota.core.definition import CommandAction, Definition, HttpAction, PythonAction
from rota.core.zone import zone_named
from rota.errors import InputError
from rota.operations.health.findings import Finding, Findings, found, named, warning
from rota.operations.health.machine import exposed
from rota.ports.records import FleetRecord, JobRecord, definition_of, origin_of


class Patient(NamedTuple):
    """A job, its definition, and where that stands."""

    record: JobRecord
    definition: Definition
    place: str

    @property
    def label(self) -> str:
        return f"{self.record.name} ({self.place})" if self.place else self.record.name


class _Fault(NamedTuple):
    message: str
    cure: str


def patients(records: Iterable[JobRecord]) -> list[Patient]:
    """The jobs that are switched on."""
    return [
        Patient(record, definition_of(record.definition), f"{origin.file}:{origin.line}" if origin else "")
        for record in records
        if record.is_enabled and not record.is_proposed
        for origin in (origin_of(record),)
    ]


def check_job_zones(jobs: Sequence[Patient]) -> Findings:
    def fault(job: Patient) -> _Fault | None:
        try:
            zone_named(job.definition.timing.zone)
        except InputError as error:
            cure = f"Give the job {error.expected}; or install newer names: pip install --upgrade tzdata"
            return _Fault(f"The zone {error.value} is not known.", cure)
        return None

    return _grouped("zones", jobs, fault, well="The zone of every job is known.")


def check_parents(jobs: Sequence[Patient], names: Collection[str]) -> Findings:
    """Whether the jobs are there that others run after: one that got another name leaves those behind."""

    def fault(job: Patient) -> _Fault | None:
        schedule = job.definition.timing.schedule
        if not isinstance(schedule, After) or schedule.job in names:
            return None
        message = f"There is no job {schedule.job} that it could run after, so it never runs by itself."
        return _Fault(message, "Give it another one, where it is defined, or with: rota job edit JOB --schedule LINE")

    return _grouped("parents", jobs, fault, well="Every job that others run after is there.")


def check_folders(jobs: Sequence[Patient]) -> Findings:
    """Whether the folders are there in which commands run."""

    def fault(job: Patient) -> _Fault | None:
        action = job.definition.action
        if not isinstance(action, CommandAction) or action.cwd is None or Path(action.cwd).is_dir():
            return None
        return _Fault(
            f"The directory {action.cwd} does not exist.",
            f"Create it: mkdir -p {quote(action.cwd)}; or change the job's cwd.",
        )

    return _grouped("folders", jobs, fault, well="Every folder that a command runs in is there.")


def check_programs(jobs: Sequence[Patient], environment: Mapping[str, str]) -> Findings:
    """Whether the programs of commands are there, looked for as runs do."""
    seen: dict[tuple[str, str | None, str], bool] = {}

    def fault(job: Patient) -> _Fault | None:
        action = job.definition.action
        if not isinstance(action, CommandAction) or (action.cwd is not None and not Path(action.cwd).is_dir()):
            return None
        program = "/bin/sh" if action.shell else action.argv[0]
        path = action.env.get("PATH") or environment.get("PATH", os.defpath)
        key = (program, action.cwd if "/" in program else None, path)
        if key not in seen:
            is_relative = "/" in program and not program.startswith("/")
            where = str(Path(action.cwd or Path.cwd()) / program) if is_relative else program
            seen[key] = shutil.which(where, path=path) is not None
        if seen[key]:
            return None
        cure = f"Install it, or fix the job's command. See where it is, and who may run it: ls -l {quote(program)}"
        return _Fault(f"The program {program} was not found or may not be executed.", cure)

    return _grouped("programs", jobs, fault, well="Every program is there.")


def check_targets(jobs: Sequence[Patient]) -> Findings:
    """Whether the packages of Python callables are there. They are not loaded."""

    def fault(job: Patient) -> _Fault | None:
        action = job.definition.action
        if not isinstance(action, PythonAction):
            return None
        package = action.target.partition(":")[0].partition(".")[0]
        if _is_importable(package):
            return None
        cure = f"Start Rota in the folder that holds it, or install it: pip install {package}"
        return _Fault(f"The Python package {package} of {action.target} was not found.", cure)

    return _grouped("python", jobs, fault, well="Every Python package is there.")


def _is_importable(package: str) -> bool:
    try:
        # An engine also finds what lies in the folder it is started in.
        here = importlib.machinery.PathFinder.find_spec(package, [str(Path.cwd())])
        return here is not None or importlib.util.find_spec(package) is not None
    except (ImportError, ValueError, OSError):
        return False


def check_secrets(jobs: Sequence[Patient], environment: Mapping[str, str]) -> Findings:
    """Whether every reference to a secret leads somewhere, and to a file that only its owner can read."""

    def fault(job: Patient) -> _Fault | None:
        return next((one for value in _references(job) if (one := _unresolved(value, environment))), None)

    lost = [one for one in _grouped("secrets", jobs, fault, well="") if one.cure]
    values = {value for job in jobs for value in _references(job) if value.startswith("file:")}
    files = [value for value in sorted(values) if _unresolved(value, environment) is None]
    open_files = [one for value in files for one in exposed(Path(value[5:]).expanduser(), check="secrets")]
    return found("secrets", [*lost, *open_files], well="Every secret can be looked up.")


def _references(job: Patient) -> Iterator[str]:
    action = job.definition.action
    values = action.env if isinstance(action, CommandAction) else {}
    values = action.headers if isinstance(action, HttpAction) else values
    return (value for value in values.values() if value.startswith(("env:", "file:")))


def _unresolved(value: str, environment: Mapping[str, str]) -> _Fault | None:
    kind, _, rest = value.partition(":")
    if kind == "env":
        cure = f"Set it where the engine is started: export {rest}=…"
        return None if rest in environment else _Fault(f"The secret {value} is not set.", cure)
    try:
        Path(rest).expanduser().read_text("utf-8")
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        return _Fault(
            f"The secret {value} cannot be read: {reason}.",
            f"Write it into that file, for your eyes only: chmod 600 {rest}",
        )
    return None


def check_fleets(fleets: Sequence[FleetRecord]) -> Findings:
    """Whether the files that were applied are still there, and still say the same."""
    faults = [fault for fleet in fleets if (fault := _fleet_fault(fleet, fleets)) is not None]
    return found("fleet_files", faults, well="Every fleet file is as it was applied.")


def _fleet_fault(fleet: FleetRecord, fleets: Sequence[FleetRecord]) -> Finding | None:
    try:
        data = Path(fleet.file).read_bytes()
    except OSError as error:
        file = quote(Path(fleet.file).name)
        cure = (
            f"Bring it back, or apply it from where it is now: rota apply --take-over {file}. "
            f"If its jobs are to go: apply one with nothing but fleet: {{name: {fleet.name}}}"
        )
        reason = error.strerror or error
        return warning("fleet_files", f"The file {fleet.file} of {fleet.name} cannot be read: {reason}.", cure)
    # Whoever reads a file as text sees every end of a line as a newline.
    same = {hashlib.sha256(one).hexdigest() for one in (data, data.replace(b"\r\n", b"\n"))}
    if fleet.checksum in same:
        return None
    file = quote(fleet.file)
    other = next((one.name for one in fleets if one.file == fleet.file and one.checksum in same), None)
    if other is not None:
        message = f"{fleet.file} is the fleet {other} now; what it was as {fleet.name} is still there."
        cure = f"If only its name changed: rota apply --take-over {file}"
        return warning("fleet_files", message, cure)
    cure = f"See what would change: rota diff {file}. Then: rota apply {file}"
    return warning("fleet_files", f"{fleet.file} has changed since it was applied as {fleet.name}.", cure)


def _grouped(check: str, jobs: Iterable[Patient], fault: Callable[[Patient], _Fault | None], *, well: str) -> Findings:
    """One finding for each fault, with the jobs that have it."""
    groups: dict[_Fault, list[str]] = {}
    for job in jobs:
        one = fault(job)
        if one is not None:
            groups.setdefault(one, []).append(job.label)
    faults = [warning(check, f"{named(labels)}: {one.message}", one.cure) for one, labels in groups.items()]
    return found(check, faults, well=well)
