"""A definition as fields and further rules, and back again (SPEC section 11)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from rota.config.drafts import plain_words, read_draft
from rota.config.spell import spell_job
from rota.core.definition import Definition
from rota.core.schedule import format_schedule
from rota.web.job_form import Form, Kind, asked_of, form_of
from tests.config.definitions import definitions
from tests.config.surroundings import NOW
from tests.config.test_spelling import read_back

often = settings(max_examples=max(300, settings().max_examples))
ON_LINES = ("command", "description", "prompt")


def form(definition: Definition) -> Form:
    return form_of(spell_job(definition), format_schedule(definition.timing.schedule), NOW)


def words_of(asked: Form) -> dict[str, Any]:
    """What the server makes of a form."""
    text, given_words = asked_of(asked)
    draft = read_draft(text, given_words, name="report", agent=None, zone="Asia/Tokyo", now=NOW)
    assert draft.problems == ()
    words: dict[str, Any] = plain_words(draft.words)
    return words


@often
@given(definitions())
def test_every_definition_survives_the_form_unchanged(definition: Definition) -> None:
    assert read_back(definition, words_of(form(definition))) == definition


@often
@given(definitions())
def test_a_field_holds_nothing_that_a_browser_would_change(definition: Definition) -> None:
    for word, text in form(definition).fields.items():
        assert text
        assert "\r" not in text
        assert word in ON_LINES or ("\n" not in text and text.strip() == text)


@pytest.mark.parametrize(
    ("words", "schedule", "wanted"),
    [
        (
            {"every": "5m", "first": "after", "timezone": "Europe/Berlin", "command": ["./run.sh", "a b"]},
            "every 5m first after",
            Form(
                fields={"schedule": "every 5m first after", "timezone": "Europe/Berlin", "command": "./run.sh 'a b'"},
            ),
        ),
        (
            {"after": {"job": "build", "when": ""}, "command": ["x"]},
            "after build on success",
            Form(fields={"command": "x"}, rules='after: {job: build, when: ""}\n'),
        ),
        (
            {"manual": True, "command": "a | b", "shell": True, "timeout": "5m"},
            "manual",
            Form(fields={"schedule": "manual", "command": "a | b"}, is_shell=True, rules="timeout: 5m\n"),
        ),
        (
            {"manual": True, "command": ["a", "b"], "shell": True},
            "manual",
            Form(fields={"schedule": "manual"}, kind=Kind.OTHER, rules="command: [a, b]\nshell: true\n"),
        ),
        (
            {"manual": True, "command": ["a\rb"]},
            "manual",
            Form(fields={"schedule": "manual"}, kind=Kind.OTHER, rules='command: ["a\\rb"]\n'),
        ),
        (
            {"daily": "09:00", "http": "https://example.org"},
            "daily 09:00",
            Form(fields={"schedule": "daily 09:00", "http.url": "https://example.org"}, kind=Kind.HTTP),
        ),
        (
            {"daily": "09:00", "http": {"url": "https://example.org", "method": "POST", "body": "x"}},
            "daily 09:00",
            Form(
                fields={"schedule": "daily 09:00", "http.url": "https://example.org", "http.method": "POST"},
                kind=Kind.HTTP,
                rules="http: {body: x}\n",
            ),
        ),
        (
            {"daily": "09:00", "python": "a:b", "prompt": "Look.\nTell."},
            "daily 09:00",
            Form(fields={"schedule": "daily 09:00", "prompt": "Look.\nTell."}, kind=Kind.OTHER, rules="python: a:b\n"),
        ),
    ],
)
def test_what_fits_a_field_stands_there_and_the_rest_below(words: dict[str, Any], schedule: str, wanted: Form) -> None:
    assert form_of(words, schedule, NOW) == wanted


def test_a_changed_field_goes_before_the_rules() -> None:
    before = form_of({"every": "5m", "http": {"url": "https://a", "expect": [204]}}, "every 5m", NOW)
    after = Form(fields={**before.fields, "http.url": "https://b"}, kind=before.kind, rules=before.rules)
    assert words_of(after) == {"schedule": "every 5m", "http": {"url": "https://b", "expect": [204]}}
