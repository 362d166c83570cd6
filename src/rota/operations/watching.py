"""Watching a fleet file: when it changes it is applied again, and what cannot be accepted changes nothing."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from rota.errors import ConflictError, FleetError, Problem
from rota.ledger.site import Site
from rota.log import log, log_fields
from rota.operations.fleets import FleetText, apply_loaded, load

LOOK_EVERY = timedelta(seconds=1)
# A file that is being written is left alone until it has been the same for this long.
_STILL = timedelta(milliseconds=300)
_TRY_AGAIN = timedelta(seconds=30)
# More than a fleet file may have; how much that is, its reader knows.
_MOST_BYTES = 16 * 1024 * 1024
_Signature = tuple[int, int, int]


def read_fleet_file(path: Path, environment: Mapping[str, str], timezone: str) -> FleetText:
    """A file and its surroundings; one that cannot be read is answered like one that cannot be accepted."""
    try:
        if path.exists() and not path.is_file():
            raise FleetError([Problem("this is not a file.", "Name a file that holds text.", file=str(path))])
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "surrogateescape")
    except OSError as error:
        cure = "Write one that works at once: rota init" if isinstance(error, FileNotFoundError) else ""
        message = f"the file cannot be read: {(error.strerror or str(error)).lower()}."
        raise FleetError([Problem(message, cure, file=str(path))]) from None
    return FleetText(text=text, file=str(path), environment=dict(environment), timezone=timezone)


class FleetWatch:
    """Looks at a file again and again, as the step of a loop."""

    def __init__(self, site: Site, path: Path, environment: Mapping[str, str], timezone: str) -> None:
        self._site = site
        self._path = path
        self._environment = environment
        self._timezone = timezone
        self._known: _Signature | None = None
        self._seen: _Signature | None = None
        self._settings: Mapping[str, timedelta | int] | None = None

    async def apply(self) -> Mapping[str, timedelta | int]:
        """Apply the file as it is now; its settings for the engine. Raises what is wrong with it."""
        signature = await asyncio.to_thread(_signature, self._path)
        source = await asyncio.to_thread(read_fleet_file, self._path, self._environment, self._timezone)
        fleet = await load(self._site, source)
        changes = await apply_loaded(self._site, fleet, source)
        self._known = self._seen = signature
        for warning in changes.warnings:
            log("fleet.warned", level=logging.WARNING, file=source.file, line=warning.line, reason=str(warning))
        counts = Counter(change.change for change in changes.changes)
        place = {"fleet": changes.fleet, "file": changes.file}
        log_fields("fleet.applied", {**place, **counts, "unchanged": changes.unchanged})
        self._check_settings(fleet.settings)
        return fleet.settings

    def _check_settings(self, settings: Mapping[str, timedelta | int]) -> None:
        """An engine has the settings that it was started with; whoever changes them must know."""
        if self._settings is not None and self._settings != settings:
            reason = "the settings under engine count from the next start; until then those of before do"
            log("fleet.warned", level=logging.WARNING, file=str(self._path), reason=reason)
        self._settings = settings

    async def look(self) -> datetime:
        """Apply the file if it has changed and is whole; when to look again."""
        now = self._site.clock.now()
        signature = await asyncio.to_thread(_signature, self._path)
        if signature == self._known:
            return now + LOOK_EVERY
        if signature != self._seen:
            self._seen = signature
            return now + _STILL
        if signature is None:
            self._refuse("it is gone; its jobs stay as they are")
        elif not await self._apply_again():
            return now + _TRY_AGAIN
        self._known = signature
        return now + LOOK_EVERY

    async def _apply_again(self) -> bool:
        """Whether the file has had its answer: what stands in its way, unlike what is wrong with it, may go."""
        try:
            await self.apply()
        except FleetError as error:
            for problem in error.problems:
                self._refuse(str(problem), line=problem.line)
        except ConflictError as error:
            self._refuse(str(error))
            return False
        return True

    def _refuse(self, reason: str, line: int | None = None) -> None:
        log("fleet.refused", level=logging.ERROR, file=str(self._path), line=line or None, reason=reason)


def _signature(path: Path) -> _Signature | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - one call for all three
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
