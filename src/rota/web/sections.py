"""Sections: every page there is, its address, and what shows it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from rota.ports.caller import Role
from rota.web import agents, audit, editor, job, jobs, overview, run, runs, settings, workers
from rota.web.visit import Context, Visit

Show = Callable[[Visit], Awaitable[Context]]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page. ``section`` is the entry of the menu that it belongs to."""

    pattern: tuple[str, ...]
    template: str
    show: Show
    section: str
    role: Role = Role.READ

    def match(self, pieces: tuple[str, ...]) -> Mapping[str, str] | None:
        """What the path says, if it is one of this page."""
        if len(pieces) != len(self.pattern):
            return None
        values = {}
        for wanted, piece in zip(self.pattern, pieces, strict=True):
            if wanted.startswith("{") and piece:
                values[wanted[1:-1]] = piece
            elif wanted != piece:
                return None
        return values


def _page(path: str, show: Show, section: str, *, template: str | None = None, role: Role = Role.READ) -> Page:
    return Page(
        pattern=tuple(path[1:].split("/")),
        template=f"{template or section}.html",
        show=show,
        section=section,
        role=role,
    )


PAGES = (
    _page("/", overview.show, "overview"),
    _page("/jobs", jobs.show, "jobs"),
    _page("/jobs/{job}", job.show, "jobs", template="job"),
    _page("/runs", runs.show, "runs"),
    _page("/runs/{run}", run.show, "runs", template="run"),
    _page("/agents", agents.show, "agents"),
    _page("/agents/{agent}", agents.show_one, "agents", template="agent"),
    _page("/audit", audit.show, "audit"),
    _page("/workers", workers.show, "workers"),
    _page("/settings", settings.show, "settings"),
    _page("/new-job", editor.show_new, "jobs", template="editor", role=Role.OPERATE),
    _page("/jobs/{job}/edit", editor.show_edit, "jobs", template="editor", role=Role.ADMIN),
)
