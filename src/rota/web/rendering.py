"""Rendering: templates, and the few filters that say times, durations and states to people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import quote

import jinja2
import msgspec
from markupsafe import Markup

from rota import __version__
from rota.web.assets import Assets

ASSETS = Assets()
_LOCAL = "%Y-%m-%d %H:%M:%S"


@cache
def environment() -> jinja2.Environment:
    """The templates, compiled once. A name that is missing is an error and not an empty place."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("rota.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"asset": ASSETS.address, "version": __version__}
    made.filters |= {
        "piece": lambda text: quote(str(text), safe=""),
        "utc": utc,
        "iso": iso,
        "took": took,
        "said": said,
        "json": as_json,
    }
    return made


def render(template: str, context: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(context)


def utc(at: datetime) -> str:
    """What stands there until the page's own module shows it on the reader's clock."""
    return f"{at.astimezone(UTC).strftime(_LOCAL)} UTC"


def iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def took(seconds: float | None) -> str:
    """How long something took: ``0.42 s``, ``3m 20s``."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"


def said(word: str) -> str:
    """A stored word as people read it."""
    return word.replace("_", " ")


def as_json(value: object) -> Markup:
    """JSON for an attribute; it is escaped there like any text."""
    return Markup.escape(msgspec.json.encode(value).decode())
