"""The JSON Schema for editors and for the API: it agrees with what is read (SPEC section 11)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import given

from rota.config.composer import compose
from rota.config.findings import Findings
from rota.config.fleet import define_job
from rota.config.schema import fleet_schema, job_schema
from rota.config.spell import spell_job
from rota.core.definition import Definition
from tests.config.definitions import definitions
from tests.config.surroundings import HERE, NOW, load
from tests.config.test_good_files import INHERITED, WHOLE

FLEET = jsonschema_rs.Draft202012Validator(fleet_schema())
JOB = jsonschema_rs.Draft202012Validator(job_schema())
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "fleet-file.md"


def as_json(text: str) -> Any:  # noqa: ANN401
    return json.loads(json.dumps(compose(text, Findings())))


def documented() -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("schema", [fleet_schema(), job_schema()])
def test_a_schema_is_a_schema_of_2020_12_without_an_id(schema: dict[str, object]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "$id" not in schema
    assert jsonschema_rs.meta.is_valid(schema)
    assert json.dumps(schema).count('"title"') == 1


@pytest.mark.parametrize("text", [WHOLE, INHERITED, "{}", "jobs:\n"])
def test_good_files_fit_the_schema(text: str) -> None:
    assert FLEET.is_valid(as_json(text))


@pytest.mark.parametrize(
    "text",
    [
        "jobz: {}",
        "jobs: []",
        "jobs: {a: {evry: 5m, command: [x]}}",
        "jobs: {a: {command: [x]}}",
        "jobs: {a: {every: 5m}}",
        "jobs: {a: {every: 5m, cron: '@daily', command: [x]}}",
        "jobs: {a: {every: 5m, command: [x], http: 'https://example.org'}}",
        "jobs: {a: {every: 5, command: [x]}}",
        "jobs: {a: {every: 5m, command: [x], overlap: skp}}",
        "jobs: {a: {every: 5m, command: [x], retry: {mx: 1}}}",
        "jobs: {a: {every: 5m, command: [x], max_runs: 0}}",
        "jobs: {a: {every: 5m, command: {a: b}}}",
        "jobs: {'a b': {every: 5m, command: [x]}}",
        "jobs: {a: {daily: '25:00', command: [x]}}",
        "jobs: {a: {manual: false, command: [x]}}",
        "agents: {a: {max_concurrent: 0}}",
        "agents: {a: {every: 5m}}",
        "agents: {a: {schedules: {b: {}}}}",
        "defaults: {command: [x]}",
        "engine: {poll: 30}",
        "pools: {local: -1}",
        "fleet: home",
    ],
)
def test_broken_shapes_do_not_fit_the_schema(text: str) -> None:
    assert not FLEET.is_valid(as_json(text))


@given(definitions())
def test_every_job_in_its_words_fits_the_schema(definition: Definition) -> None:
    assert JOB.is_valid(spell_job(definition))


def properties(schema: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
    found = list(schema.get("properties", {}).items())
    return found + [pair for inner in schema.get("$defs", {}).values() for pair in properties(inner)]


@pytest.mark.parametrize("schema", [fleet_schema(), job_schema()], ids=["fleet", "job"])
def test_every_key_is_described_and_its_examples_fit(schema: dict[str, Any]) -> None:
    for key, inner in properties(schema):
        assert inner.get("description"), key
        for value in inner.get("examples", []):
            fits = jsonschema_rs.Draft202012Validator({"$defs": schema["$defs"], **inner})
            assert fits.is_valid(value), (key, value)


def test_the_examples_of_a_job_are_read() -> None:
    schema: Any = job_schema()
    schedules = {"cron", "every", "at", "in", "daily", "weekly", "monthly", "after", "once", "schedule"}
    for key, inner in schema["properties"].items():
        for value in inner.get("examples", []):
            action = {} if key in ("command", "http", "python") else {"command": ["x"]}
            schedule = {} if key in schedules else {"every": "5m"}
            define_job({**schedule, **action, key: value}, name="a", agent=None, zone="UTC", now=NOW)


def test_the_documented_files_are_read_and_fit_the_schema() -> None:
    examples = [
        text for text in documented() if re.search(r"^(jobs|agents|defaults|engine|pools):", text, re.MULTILINE)
    ]
    assert len(examples) >= 3
    for text in examples:
        load(text)
        assert FLEET.is_valid(as_json(text)), text


def test_every_key_is_documented() -> None:
    text = DOCS.read_text("utf-8")
    missing = sorted({key for key, _ in properties(fleet_schema()) if not re.search(rf"`{key}[`:]", text)})
    assert missing == []


def test_words_of_the_schema_are_those_of_the_file() -> None:
    broken = [path.read_bytes() for path in sorted((HERE / "broken").glob("*-two-*.yaml"))]
    assert broken
    assert not any(FLEET.is_valid(yaml.safe_load(data)) for data in broken)
