"""A definition in the file's words and back again (SPEC section 11)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.config.fleet import define_job, define_job_text, read_mapping
from rota.config.spell import spell_job
from rota.config.yaml_text import to_yaml
from rota.core.backoff import Ladder, NoBackoff, Retry
from rota.core.calendar import Daily
from rota.core.chain import After, ChainOn
from rota.core.definition import CommandAction, Definition, HttpAction, PythonAction, action_kind, define
from rota.core.definition import with_default_backoff as usual
from rota.core.job import Timing
from rota.core.schedule import Cron, Every, Manual, Once
from rota.core.settlement import SettleRules
from tests.config.definitions import definitions, maps, texts
from tests.config.surroundings import NOW

often = settings(max_examples=max(300, settings().max_examples))
ECHO = CommandAction(argv=("/bin/echo", "hello"))


def read_back(definition: Definition, words: dict[str, object]) -> Definition:
    return define_job(words, name=definition.name, agent=definition.agent, zone="Asia/Tokyo", now=NOW)[0]


@often
@given(definitions())
def test_every_definition_comes_back_the_same_from_its_words(definition: Definition) -> None:
    words = spell_job(definition)
    assert read_back(definition, words) == definition
    assert json.loads(json.dumps(words)) == words
    assert words["timezone"] == definition.timing.zone


@often
@given(definitions())
def test_every_definition_comes_back_the_same_from_yaml(definition: Definition) -> None:
    text = to_yaml(spell_job(definition))
    back, _ = define_job_text(
        text, file="edit.yaml", name=definition.name, agent=definition.agent, zone="Asia/Tokyo", now=NOW
    )
    assert back == definition


@often
@given(definitions())
def test_a_reader_of_yaml_1_1_sees_the_same_words(definition: Definition) -> None:
    words = spell_job(definition)
    assert yaml.safe_load(to_yaml(words)) == words


@often
@given(st.dictionaries(texts, texts | maps | st.lists(texts, max_size=3) | st.booleans() | st.integers(), max_size=4))
def test_any_mapping_of_text_comes_back_the_same_from_yaml(mapping: dict[str, object]) -> None:
    text = to_yaml(mapping)
    assert yaml.safe_load(text) == mapping
    assert dict(read_mapping(text, file="x")) == mapping


def a_job(schedule: object, action: object, **given: object) -> Definition:
    timing = Timing(schedule=schedule, zone="Europe/Berlin")  # type: ignore[arg-type]
    return define("report", usual(timing, action_kind(action)), action, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (
            a_job(Cron("0 2 * * *"), ECHO),
            {"cron": "0 2 * * *", "timezone": "Europe/Berlin", "command": ["/bin/echo", "hello"]},
        ),
        (
            a_job(Every(timedelta(minutes=90)), HttpAction(url="https://example.org")),
            {"every": "1h30m", "timezone": "Europe/Berlin", "http": "https://example.org"},
        ),
        (
            a_job(After("build"), PythonAction(target="a:b")),
            {"after": "build", "timezone": "Europe/Berlin", "python": "a:b"},
        ),
        (
            a_job(After("build", ChainOn.DONE), CommandAction(argv=("a | b",), shell=True)),  # noqa: S604
            {
                "after": {"job": "build", "on": "done"},
                "timezone": "Europe/Berlin",
                "command": "a | b",
                "shell": True,
            },
        ),
        (
            a_job(Once(datetime(2026, 12, 1, 9), keep=False), ECHO, timeout=None),
            {
                "at": "2026-12-01T09:00:00",
                "keep": False,
                "timezone": "Europe/Berlin",
                "command": ["/bin/echo", "hello"],
                "timeout": "none",
            },
        ),
        (
            a_job(Manual(), ECHO, settle=SettleRules(retry=Retry(max=2, factor=1.5)), description="Says hello."),
            {
                "description": "Says hello.",
                "manual": True,
                "timezone": "Europe/Berlin",
                "command": ["/bin/echo", "hello"],
                "retry": {"max": 2, "factor": 1.5},
            },
        ),
    ],
)
def test_only_what_differs_is_spelt_and_in_a_pleasant_order(definition: Definition, words: dict[str, object]) -> None:
    assert spell_job(definition) == words
    assert list(spell_job(definition)) == list(words)
    assert read_back(definition, words) == definition


@pytest.mark.parametrize(
    ("backoff", "word"),
    [(NoBackoff(), "none"), (Ladder(), "ladder"), (Ladder((timedelta(minutes=1),)), ["1m"])],
)
def test_a_backoff_is_spelt_where_it_is_not_the_usual_one(backoff: object, word: object) -> None:
    timing = Timing(schedule=Every(timedelta(minutes=5)), backoff=backoff)  # type: ignore[arg-type]
    assert spell_job(define("a", timing, ECHO))["backoff"] == word


def test_yaml_is_short_where_it_can_be_and_quoted_where_it_must_be() -> None:
    definition = define(
        "report",
        Timing(schedule=Daily(time(9, 30)), zone="Europe/Berlin", until=datetime(2026, 12, 31, tzinfo=UTC)),
        CommandAction(argv=("./run.sh", "--all", "no", "1.10"), env={"API_KEY": "env:CODER_KEY", "DEBUG": "yes"}),
        prompt="Look at the logs.\nThen report.\n",
    )
    assert to_yaml(spell_job(definition)) == (
        'daily: "09:30"\n'
        "timezone: Europe/Berlin\n"
        'command: [./run.sh, --all, "no", "1.10"]\n'
        "env: {API_KEY: 'env:CODER_KEY', DEBUG: \"yes\"}\n"
        "prompt: |\n"
        "  Look at the logs.\n"
        "  Then report.\n"
        'until: "2026-12-31T00:00:00+00:00"\n'
    )
