"""What tests with a real engine share: jobs that stay until told to go, and limits set by hand."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rota.app import make_site, make_store
from rota.core.definition import Definition
from rota.ledger.site import Site
from rota.operations import jobs
from tests.rota_process import EngineProcess, eventually, rota, rota_json

T = TypeVar("T")


class Hall:
    """A database, jobs that stay until they are told to go, and an engine that looks only when it is called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = str(folder / "rota.db")

    def add(self, name: str, *words: str, script: str = "true") -> None:
        rota("job", "add", name, *words, "--", "/bin/sh", "-c", script, db=self.db)

    def add_stuck(self, name: str, *words: str) -> None:
        self.add(name, "--manual", *words, script=f"while ! test -e {self.folder}/{name}; do sleep 0.05; done")

    def let_go(self, *names: str) -> None:
        for name in names:
            (self.folder / name).touch()

    def run(self, name: str) -> str:
        return rota("job", "run", name, db=self.db).stdout.strip()

    def wait_running(self, *run_ids: str) -> None:
        eventually(lambda: all(self.show(run_id)["state"] == "running" for run_id in run_ids))

    def wait_rounds(self, name: str, count: int) -> list[dict[str, Any]]:
        """The first runs of a job that ticks."""
        return eventually(
            lambda: (done := [run for run in self.runs(name) if run["ended_at"]][::-1])[count - 1 :] and done,
            patience=30 + 3 * count,
        )

    def show(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = rota_json("run", "show", run_id, db=self.db)
        return found

    def runs(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = rota_json("runs", name, "-n", "10000", db=self.db)
        return found

    def size(self, pool: str, slots: int) -> None:
        with closing(sqlite3.connect(self.db, timeout=30)) as connection, connection:
            changed = connection.execute("UPDATE slots SET size = ? WHERE scope = 'pool' AND name = ?", (slots, pool))
            assert changed.rowcount == 1

    def add_all(self, definitions: Iterable[Definition]) -> None:
        """Many jobs, without a process for each."""

        async def ask(site: Site) -> None:
            for definition in definitions:
                await jobs.save_job(site, definition)

        self._within_store(ask)

    def request(self, names: Sequence[str]) -> list[str]:
        """Ask for a run of each, in this order, as ``rota job run`` does; their ids."""

        async def ask(site: Site) -> list[str]:
            return [(await jobs.run_job(site, job=name)).run_id for name in names]

        return self._within_store(ask)

    def _within_store(self, ask: Callable[[Site], Coroutine[Any, Any, T]]) -> T:
        async def within() -> T:
            # With the bell of the file, so that an engine hears of it.
            store, _ = make_store(self.db)
            await store.open()
            try:
                return await ask(make_site(store))
            finally:
                await store.close()

        return asyncio.run(within())

    @contextmanager
    def engine(self, *stuck: str) -> Iterator[EngineProcess]:
        running = self.start()
        try:
            yield running
        finally:
            self.let_go(*stuck)
            running.stop()

    def start(self, *, count: int = 1, drain: str = "5s") -> EngineProcess:
        # Without its safety net: what starts does so because somebody thought of it.
        environment = {"ROTA_POLL": "1h", "ROTA_DRAIN": drain}
        running = EngineProcess(self.db, self.folder / "engine.log", environment=environment)
        running.wait_started(count)
        return running
