"""YAML that people like to read, and that readers of YAML 1.1 and of 1.2 understand alike."""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from rota.config.scalars import resolve

_WIDTH = 120
_SHORT = 90
# Truths, times and numbers of YAML 1.1 that libyaml's writer leaves bare.
_OLD_WORDS = re.compile(
    r"y|Y|n|N|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|=|<<|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"
    r"|[-+]?0b[01_]+|[-+]?[0-9][0-9_,.]*|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*"
)
# Text that stays as it is when it stands on lines of its own.
_LINES = re.compile(r"[^\s\ufeff][^\r\t\x85\u2028\u2029\ufeff]*\n?", re.DOTALL)
_ENDS_IN_SPACE = re.compile(r" (\n|$)")


class _Dumper(yaml.CSafeDumper):
    """Short lists and mappings on one line, long texts on lines of their own, quotes only where they are needed."""


class _Root(dict[str, object]):
    """The outermost mapping, with a line for each of its keys."""


def to_yaml(mapping: Mapping[str, object]) -> str:
    """The mapping as YAML, in its own order."""
    return yaml.dump(
        _Root(mapping),
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
    )


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if _OLD_WORDS.fullmatch(text) or not isinstance(resolve(text), str) or not text.isprintable():
        style = '"'
    if "\n" in text.rstrip("\n") and _LINES.fullmatch(text) and not _ENDS_IN_SPACE.search(text) and _is_plain(text):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_list(dumper: yaml.CSafeDumper, items: list[object]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=_is_short(items))


def _represent_mapping(dumper: yaml.CSafeDumper, mapping: dict[str, object]) -> yaml.MappingNode:
    is_short = not isinstance(mapping, _Root) and _is_short([*mapping, *mapping.values()])
    return dumper.represent_mapping("tag:yaml.org,2002:map", mapping, flow_style=is_short)


def _is_short(items: list[object]) -> bool:
    """Whether it fits on one line."""
    lists = [item for item in items if isinstance(item, list)]
    words = [*(item for item in items if not isinstance(item, list)), *(item for inner in lists for item in inner)]
    if any(isinstance(word, dict | list) or "\n" in str(word) for word in words):
        return False
    return sum(len(str(word)) + 4 for word in words) <= _SHORT


def _is_plain(text: str) -> bool:
    return text.replace("\n", "").isprintable() and not text.endswith("\n\n")


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(dict, _represent_mapping)
_Dumper.add_representer(_Root, _represent_mapping)
_Dumper.ignore_aliases = lambda *_: True  # type: ignore[method-assign]
