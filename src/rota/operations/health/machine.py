"""The doctor looks at the machine: file modes, room on the disk, the port, the zone, the environment."""

from __future__ import annotations

import difflib
import errno
import shutil
import socket
import stat
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from rota.core.zone import zone_named
from rota.errors import InputError
from rota.ledger.site import Settings, settings_from
from rota.operations.health.findings import Finding, Findings, failure, found, ok, warning
from rota.operations.premises import Premises
from rota.ports.records import WorkerRecord

_MEBIBYTE = 1024**2
_LITTLE, _VERY_LITTLE = 1024 * _MEBIBYTE, 100 * _MEBIBYTE
_LOGS = "rota*.log*"
_KNOWN = frozenset(
    {
        *(f"ROTA_{name.upper()}" for name in Settings.__struct_fields__),
        *("ROTA_DB", "ROTA_PORT", "ROTA_HTTP_ALLOW", "ROTA_API_URL", "ROTA_API_TOKEN", "ROTA_PROMPT"),
        *("ROTA_RUN_ID", "ROTA_JOB", "ROTA_AGENT", "ROTA_ATTEMPT", "ROTA_TRACE_ID", "ROTA_FENCING_TOKEN", "ROTA_INPUT"),
    }
)


def check_modes(premises: Premises, *, is_file: bool) -> Findings:
    """Whether the files that hold definitions, output and tokens are for their owner's eyes."""
    paths = [Path(premises.token_file)]
    if is_file:
        paths += [Path(f"{premises.database}{suffix}") for suffix in ("", "-wal", "-shm")]
    faults = [fault for path in (*paths, *_open_logs(Path(premises.log_folder))) for fault in exposed(path)]
    return found("file_modes", faults, well="Only their owner can read the files of Rota.")


def _open_logs(folder: Path) -> list[Path]:
    """The logs in a folder that others may enter; in one that is private they are safe."""
    is_private = not folder.is_dir() or not folder.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return [] if is_private else sorted(path for path in folder.glob(_LOGS) if path.suffix != ".lock")


def exposed(path: Path, *, check: str = "file_modes") -> Iterator[Finding]:
    """What is wrong with a file that others can read; nothing with one that is not there."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    cure = f"Take it from them: chmod 600 {quote(str(path))}"
    if mode & stat.S_IRWXO:
        yield failure(check, f"Everybody on this machine can read or change {path}.", cure)
    elif mode & stat.S_IRWXG:
        yield warning(check, f"The group of {path} can read or change it.", cure)


def check_disk(folder: Path) -> Findings:
    place = next((one for one in (folder, *folder.parents) if one.exists()), Path("/"))
    free = shutil.disk_usage(place).free
    message = f"{free // _MEBIBYTE:,} MiB are free on the disk of {folder}."
    cure = f"Free some space. Of Rota: rota db vacuum. What fills it: du -xh {quote(str(place))} | sort -h | tail"
    if free < _VERY_LITTLE:
        return (failure("disk", message, cure),)
    return (warning("disk", message, cure),) if free < _LITTLE else ok("disk", message)


def check_port(premises: Premises, workers: Iterable[WorkerRecord] = ()) -> Findings:
    """Whether the page and the API can have their port, or have it."""
    where = f"port {premises.port} of {premises.host}"
    if premises.is_serving:
        return ok("port", f"This Rota has {where}.")
    reason = _refusal(premises.host, premises.port)
    if reason is None:
        return ok("port", f"Nobody has {where}.")
    if reason != errno.EADDRINUSE:
        cure = "Choose another address: rota up --host 127.0.0.1 --port 7682"
        return (failure("port", f"Rota may not have {where}: {errno.errorcode.get(reason, reason)}.", cure),)
    pid = _holder(premises.port)
    here = socket.gethostname()
    if pid is not None and pid in {worker.pid for worker in workers if worker.host == here}:
        return ok("port", f"A Rota has {where}: process {pid}.")
    who, stop = ("Somebody else", "") if pid is None else (f"The process {pid}", f" (kill {pid})")
    cure = f"Stop it{stop}, or choose another port, here and for rota up: export ROTA_PORT={premises.port + 1}"
    return (failure("port", f"{who} has {where}.", cure),)


def _refusal(host: str, port: int) -> int | None:
    """Why the port cannot be had, as the system numbers its errors."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # As servers do: those that just left do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror:
        return errno.EADDRNOTAVAIL
    except OSError as error:
        return error.errno
    return None


def _holder(port: int) -> int | None:
    # It reads much of /proc, and is wanted only when something is wrong.
    import psutil  # noqa: PLC0415

    try:
        listening = [one for one in psutil.net_connections(kind="tcp") if one.status == psutil.CONN_LISTEN]
    except (psutil.Error, OSError):
        return None
    return next((one.pid for one in listening if one.laddr and one.laddr.port == port and one.pid), None)


def check_machine_zone() -> Findings:
    """Whether zones are known at all, and which one this machine is in."""
    import tzlocal  # noqa: PLC0415

    try:
        zone_named("Europe/Berlin")
    except InputError:
        return (failure("zone_data", "This machine knows no time zones.", "Install them: pip install tzdata"),)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            name = str(tzlocal.reload_localzone())
    except (LookupError, ValueError, OSError) as error:
        cure = "Set it: timedatectl set-timezone Europe/Berlin, or TZ=Europe/Berlin in the environment"
        reason = str(error.args[0] if error.args else error).splitlines()[0]
        return (warning("zone_data", f"The zone of this machine is not known, so UTC is taken: {reason}.", cure),)
    return ok("zone_data", f"Zones are known; this machine is in {name}.")


def check_environment(environment: Mapping[str, str]) -> Findings:
    """Whether every variable that is meant for Rota is one that it knows, and can be read."""
    faults = [_unknown(name) for name in sorted(environment) if name.startswith("ROTA_") and name not in _KNOWN]
    try:
        settings_from(environment)
    except InputError as error:
        cure = f"For example: export ROTA_{error.field.removeprefix('ROTA_').upper()}={error.example}"
        faults.append(failure("environment", str(error), cure))
    return found("environment", faults, well="Rota knows every variable that begins with ROTA_.")


def _unknown(name: str) -> Finding:
    near: Sequence[str] = difflib.get_close_matches(name, sorted(_KNOWN), n=1)
    cure = f"Did you mean {near[0]}? Otherwise: unset {name}" if near else f"Take it away: unset {name}"
    return warning("environment", f"Rota does not know the variable {name}.", cure)
