"""Bundles: modules that are small in the source and sent as one, since every request of a first view counts.

Our modules keep to a few forms, so that this needs no parser: an import takes names from a file, at the beginning of a
line, and what is exported is declared there and never changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

CORE = "main.js"
_IN_CORE = (CORE, "live.js", "controls.js")
_IMPORT = re.compile(r'^import \{(?P<names>[^}]*)\} from "\./(?P<file>\w+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (?P<name>\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
Sources = Mapping[str, str]


def bundle(sources: Sources) -> dict[str, str]:
    """Modules as browsers get them: the core as one, and every other with its parts, as ``log.js`` has
    ``log_rows.js``."""
    return {name: _bundled(name, sources) for name in sources if _owner(name, sources) == name}


def _owner(name: str, sources: Sources) -> str:
    """The module that a module is sent with."""
    whole = name.partition("_")[0] + ".js"
    return CORE if name in _IN_CORE else whole if whole in sources else name


def _bundled(name: str, sources: Sources) -> str:
    parts = tuple(dict.fromkeys(_in_order(name, sources)))
    text = "\n".join(_wrapped(part, sources) for part in parts)
    if name == CORE:
        return text + "".join(f"\nexport const {{ {_exported(sources[part])} }} = {_variable(part)};" for part in parts)
    needs_core = f" = {_variable(CORE)};" in text
    return f'import * as {_variable(CORE)} from "./{CORE}";\n{text}' if needs_core else text


def _in_order(name: str, sources: Sources) -> Iterator[str]:
    """A module after those parts that it needs."""
    for found in _IMPORT.finditer(sources[name]):
        if _owner(found["file"], sources) == _owner(name, sources):
            yield from _in_order(found["file"], sources)
    yield name


def _wrapped(name: str, sources: Sources) -> str:
    """A module as a function that is called at once, so that its names stay its own."""

    def taken(found: re.Match[str]) -> str:
        file, owner = found["file"], _owner(found["file"], sources)
        if owner not in (CORE, _owner(name, sources)):
            raise ValueError(f"{name} imports {file}, which is not sent with it")
        source = _variable(file if owner == _owner(name, sources) else CORE)
        return f"const {{{found['names'].replace(' as ', ': ')}}} = {source};"

    text = _EXPORT.sub("", _IMPORT.sub(taken, sources[name]))
    if other := _OTHER.search(text):
        raise ValueError(f"{name} has a form of import or export that is not known here: {other[0]}")
    return f"const {_variable(name)} = (() => {{\n{text}\nreturn {{ {_exported(sources[name])} }};\n}})();"


def _exported(source: str) -> str:
    return ", ".join(found["name"] for found in _EXPORT.finditer(source))


def _variable(name: str) -> str:
    return f"${name.removesuffix('.js')}"
