"""From bytes to text that can be YAML at all, and what the parser says, in plain words."""

from __future__ import annotations

import re

import yaml

from rota.config.findings import Refusal, Wording
from rota.config.tree import Spot, column_of, line_of, spot_at

MAX_BYTES = 5_000_000
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|(?!^)\ufeff")
_TAG_DIRECTIVE = re.compile(r"^%TAG", re.MULTILINE)
_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

_SAID: dict[str, Wording] = {
    "mapping values are not allowed": (
        'A ":" stands where no key can be.',
        "Check the indentation; put a value that holds a colon and a space in quotes.",
    ),
    "did not find expected key": (
        "This line does not fit into the mapping around it.",
        "Indent it like its neighbours; check that quotes and brackets before it are closed.",
    ),
    "did not find expected '-'": (
        "A list and a mapping are mixed.",
        'Begin each item of the list with "- " at the same indentation.',
    ),
    "could not find expected ':'": ("This is a key without a colon.", "Write key: value."),
    "found unknown escape": (
        "A backslash in double quotes begins something that YAML does not know.",
        "Double the backslash, or use single quotes.",
    ),
    "found a tab": ("A tab is used for indentation.", "Indent with spaces."),
    "block sequence entries are not allowed": (
        "A list cannot begin here.",
        "Put the list on lines of its own, or write [a, b].",
    ),
    "did not find expected node content": (
        "A value is missing here, or a bracket is too many.",
        "Put text that begins with a bracket or a comma in quotes.",
    ),
    "did not find expected <document start>": (
        "Something stands after the end of the document.",
        "Remove it, or check the brackets and the indentation before it.",
    ),
    "found incompatible YAML": ("This is a version of YAML that cannot be read.", "Remove the line %YAML."),
    "did not find expected tag URI": (
        '"!" begins a tag that YAML does not know.',
        "Put text that begins with ! in quotes.",
    ),
    "did not find expected comment or line break": (
        'After "|" or ">" the text begins on the next line.',
        "Put text that begins with | or > in quotes.",
    ),
}


class Malformed(Refusal):
    """A text that is no YAML, or not of the kind that is read here."""

    def __init__(self, message: str, cure: str, spot: Spot) -> None:
        super().__init__(message, cure)
        self.spot = spot


def decoded(data: bytes) -> str:
    """The text of a file, without a byte order mark."""
    if len(data) > MAX_BYTES:
        raise Malformed(
            f"The file has {len(data):,} bytes; the limit is {MAX_BYTES:,}.",
            "Split it, or move long prompts into files of their own.",
            spot_at(1, 1),
        )
    if wide := _WIDE.get(data[:2]):
        raise Malformed(f"The file is in {wide}.", "Save it as UTF-8.", spot_at(1, 1))
    try:
        return checked(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        raise Malformed(
            f"Byte {error.start + 1} is not UTF-8.", "Save the file as UTF-8.", _spot_after(before)
        ) from None


def checked(text: str) -> str:
    """A text that holds only characters that YAML allows."""
    if len(text) > MAX_BYTES:
        raise Malformed(f"The text is longer than {MAX_BYTES:,} characters.", "Shorten it.", spot_at(1, 1))
    if found := _FORBIDDEN.search(text):
        is_nul = found[0] == "\0"
        name = "NUL" if is_nul else f"U+{ord(found[0]):04X}"
        # Written as an escape, it could not be given to a program either.
        escape = "" if is_nul else '; in double quotes it can be written as an escape, such as "\\e"'
        message = f"The character {name} is not allowed here."
        raise Malformed(message, f"Remove it{escape}.", _spot_after(text[: found.start()]))
    if found := _TAG_DIRECTIVE.search(text):
        raise Malformed("Tags of your own are not read.", "Remove the line %TAG.", _spot_after(text[: found.start()]))
    return text


def malformed(error: yaml.MarkedYAMLError, text: str) -> Malformed:
    """What the parser found, in plain words, where a person would look for it."""
    said, context = error.problem or "", error.context or ""
    here, opened = _spot(error.problem_mark), _spot(error.context_mark or error.problem_mark)
    if "alias" in context or "anchor" in context:
        return _star(opened, text)
    if "quoted scalar" in context and "end of stream" in said:
        return Malformed("The quote that begins here is never closed.", "Close it.", opened)
    if "flow" in context and "','" in said:
        bracket = said[-2]
        return Malformed(
            f'The bracket that opens here is not closed with "{bracket}" (looked for on line {line_of(here)}).',
            "Close it, or put a comma between the entries.",
            opened,
        )
    if "cannot start any token" in said:
        return _odd_beginning(here, text)
    for phrase, (message, cure) in _SAID.items():
        if phrase in said:
            return Malformed(message, cure, opened if phrase.startswith("could not find") else here)
    return Malformed(f"This is not YAML: {said}.", "Check quotes, brackets and indentation around this line.", here)


def _star(spot: Spot, text: str) -> Malformed:
    sign = _character(text, spot)
    return Malformed(
        f'A plain "{sign}" begins {"an alias" if sign == "*" else "an anchor"}, not text.',
        'Put the value in quotes, such as cron: "*/5 * * * *".',
        spot,
    )


def _odd_beginning(spot: Spot, text: str) -> Malformed:
    sign = _character(text, spot)
    if sign == "\t":
        return Malformed("A tab is used for indentation.", "Indent with spaces.", spot)
    return Malformed(f'A plain value cannot begin with "{sign}".', "Put it in quotes.", spot)


def _character(text: str, spot: Spot) -> str:
    lines = text.splitlines()
    line, column = line_of(spot), column_of(spot)
    return lines[line - 1][column - 1 : column] if line <= len(lines) else ""


def _spot(mark: yaml.Mark | None) -> Spot:
    return spot_at(mark.line + 1, mark.column + 1) if mark else spot_at(1, 1)


def _spot_after(before: str) -> Spot:
    line_start = before.rfind("\n") + 1
    return spot_at(before.count("\n") + 1, len(before) - line_start + 1)
