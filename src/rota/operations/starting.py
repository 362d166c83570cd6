"""Starting: the fleet file that a newcomer gets, which works at once and explains itself."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated

import msgspec

from rota.core.zone import zone_named
from rota.ledger.site import Site
from rota.operations.inputs import Zone

FILE = "rota.yaml"
Folder = Annotated[str, msgspec.Meta(max_length=300)]
Program = Annotated[str, msgspec.Meta(max_length=300)]

_LONGEST_NAME = 60
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9-]*")
_TRUTHS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
# How each program is asked without a person at the keyboard.
_ASKING = {"claude": ("-p",), "codex": ("exec",), "gemini": ("-p",)}

_TEXT = """\
# The fleet of Rota: what runs here, and when.
# Try it:  rota check    is anything wrong with this file?
#          rota up       start the engine
#          rota runs     what has run, and how it went

fleet:
  name: {name}
  # Every job runs by this clock, unless it says otherwise.
  timezone: {zone}

# How many runs may be under way at once. Commands take a place in the pool "local".
pools:
  local: 2

# What every job has, unless it says otherwise.
defaults:
  timeout: 10m

agents:
  # An agent owns jobs. This one does one thing at a time.
  clerk:
    description: Keeps an eye on this machine.
    max_concurrent: 1
    schedules:
      # The whole name of this job is clerk/tick. An interval counts from the end of the previous run.
      tick:
        every: 1m
        command: [date, "+It is %H:%M:%S, and Rota is at work."]

      # Once a day. Other ways to say when: cron: "0 9 * * 1-5", weekly, monthly, at.
      disk-space:
        daily: "09:00"
        command: [df, -h, .]

{asking}
jobs:
  # A job that belongs to no agent. Run it now:  rota job run hello
  hello:
    weekly: {{on: [mon], at: "08:00"}}
    command: [echo, "Good morning. A new week begins."]

  # A job that follows another one, when that succeeds.
  disk-report:
    after: clerk/disk-space
    command: [echo, "The disk was looked at."]

  # Take the "# " away to use one of these.

  # A request. When it fails it is tried again, three times at most.
  # status-page:
  #   every: 15m
  #   http:
  #     url: https://example.org/health
  #     expect: [200]
  #   retry: {{max: 3, first: 10s}}

  # Quiet hours: due times within them are skipped, or wait for their end with defer.
  # digest:
  #   cron: "0 * * * *"
  #   command: [echo, "Nothing new."]
  #   quiet: ["22:00-07:00", sat, sun]
  #   quiet_policy: defer

  # A secret is never written down here: it is looked up when a run starts.
  # upload:
  #   daily: "23:30"
  #   command: [./upload.sh]
  #   env:
  #     API_KEY: env:UPLOAD_KEY
  #     PASSWORD: file:~/.config/upload/password
"""

_ASKED = """\
      # {title}
      # {name}:
      #   cron: "0 9 * * 1-5"
      #   command: [{words}, "Review what changed since yesterday and write down what you find."]
      #   timeout: 1h
"""


class ExampleFleet(msgspec.Struct, frozen=True):
    """The text of a fleet file, and the name to write it under."""

    text: str
    file: str


async def example_fleet(
    site: Site,  # noqa: ARG001 - operations share one signature
    *,
    programs: tuple[Program, ...] = (),
    timezone: Zone = "UTC",
    folder: Folder = "",
) -> ExampleFleet:
    """A first fleet file, which works at once; with examples for those of some programs that are agents."""
    zone = zone_named(timezone).key
    text = _TEXT.format(name=_written(fleet_name(folder)), zone=zone, asking=_asking(programs))
    return ExampleFleet(text, FILE)


def fleet_name(folder: str) -> str:
    """A name that a fleet may have, from the last part of a folder's path."""
    last = posixpath.basename(folder.rstrip("/"))
    letters = unicodedata.normalize("NFKD", last).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", letters)
    return "-".join(words)[:_LONGEST_NAME].rstrip("-") or "main"


def _written(name: str) -> str:
    """Numbers and truths need quotes to be names."""
    return name if _PLAIN_NAME.fullmatch(name) and name not in _TRUTHS else f'"{name}"'


def _asking(programs: Iterable[str]) -> str:
    """A commented-out schedule for each program that is an agent; for one of them at least, to show how."""
    names = {posixpath.basename(program) for program in programs}
    found = [name for name in _ASKING if name in names]
    titles = {name: f"Let {name} work every weekday morning." for name in found}
    if not found:
        titles = {"claude": "An AI agent is a command, too. Once it is installed:"}
    shown = (
        _ASKED.format(title=title, name=f"review-with-{name}", words=", ".join((name, *_ASKING[name])))
        for name, title in titles.items()
    )
    return "\n".join(shown)
