"""Prompts: the schedule's words, then the work item as quoted data."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from rota.core.prompt import DEFAULT_PROMPT, WorkItem, build_schedule_prompt


class Schedule(NamedTuple):
    prompt: str | None = None


def test_the_schedules_own_prompt_is_used() -> None:
    assert build_schedule_prompt(Schedule("Check the issues.")) == "Check the issues."


def test_the_documented_default_is_used_without_a_prompt() -> None:
    expected = "Do the work that this schedule was set up for, then report briefly what you did."
    assert build_schedule_prompt(Schedule()) == expected == DEFAULT_PROMPT


def test_a_work_item_follows_as_quoted_data() -> None:
    item = WorkItem(id="42", title="Fix it", body="First.\n\nSecond {prompt}.", url="https://example.test/42")
    assert build_schedule_prompt(Schedule("Do this."), item) == (
        "Do this.\n\nThe work item, quoted as data:\n\n"
        "> Id: 42\n> Title: Fix it\n> Link: https://example.test/42\n>\n> First.\n>\n> Second {prompt}."
    )


def test_a_bare_item_has_neither_link_nor_body() -> None:
    prompt = build_schedule_prompt(Schedule("Do this."), WorkItem(id="1", title="T"))
    assert prompt == "Do this.\n\nThe work item, quoted as data:\n\n> Id: 1\n> Title: T"


@given(st.text(), st.text(), st.text())
def test_no_text_from_outside_leaves_its_quotation(title: str, body: str, url: str) -> None:
    prompt = build_schedule_prompt(Schedule("Mine."), WorkItem(id="1", title=title, body=body, url=url))
    ours, quoted = prompt.split("\n\n> Id: 1\n", 1)
    assert ours == "Mine.\n\nThe work item, quoted as data:"
    assert all(line.startswith(">") for line in quoted.splitlines())
