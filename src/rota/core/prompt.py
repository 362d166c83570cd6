"""Prompts: the schedule's words, then the work item, quoted as data and never read as a template."""

from __future__ import annotations

from typing import Protocol

import msgspec

DEFAULT_PROMPT = "Do the work that this schedule was set up for, then report briefly what you did."


class HasPrompt(Protocol):
    """Anything with words of its own for the agent."""

    @property
    def prompt(self) -> str | None: ...


class WorkItem(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work from a source outside."""

    id: str
    title: str
    body: str = ""
    url: str = ""


def build_schedule_prompt(schedule: HasPrompt, item: WorkItem | None = None) -> str:
    """What the agent is told. Every line of the item is quoted, so that no text in it can pass for our own words."""
    prompt = schedule.prompt or DEFAULT_PROMPT
    if item is None:
        return prompt
    lines = [f"Id: {item.id}", f"Title: {item.title}"]
    if item.url:
        lines.append(f"Link: {item.url}")
    if item.body:
        lines += ["", item.body]
    # Any line break that some reader honours must not lead out of the quotation.
    quoted = "\n".join(f"> {line}".rstrip() for line in "\n".join(lines).splitlines())
    return f"{prompt}\n\nThe work item, quoted as data:\n\n{quoted}"
