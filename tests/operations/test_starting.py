"""The fleet file that a newcomer gets."""

from __future__ import annotations

import asyncio
import re
import subprocess
from datetime import UTC, datetime

import pytest

from rota.config.fleet import Fleet, Surroundings, load_fleet
from rota.core.chain import After
from rota.core.definition import CommandAction, HttpAction
from rota.core.schedule import Every, Once, Wall
from rota.errors import ScheduleError
from rota.operations.starting import ExampleFleet, example_fleet, fleet_name

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
HOSTILE = [
    "",
    "/",
    "/home/ada/My Projéct",
    "/srv/true",
    "/srv/NULL",
    "/srv/123",
    "/srv/1e5",
    "/srv/2026-01-01",
    '/srv/a": [x]\nagents: {evil: {}} #',
    "/srv/{name}{0}",
    "/srv/${HOME}",
    "/srv/Ärger\u2028\u202e\x1b[31m",
    "/srv/日本語",
    "/srv/---",
    "x" * 300,
    "/srv/\ud800",
]


def load(text: str) -> Fleet:
    surroundings = Surroundings(file="rota.yaml", folder="/srv", home="/srv", environment={}, zone="UTC", now=NOW)
    return load_fleet(text.encode(), surroundings)


def uncommented(text: str) -> str:
    """The text with everything in it that only waits to be used; sentences begin with a capital letter."""
    examples = re.sub(r"^ *# [A-Z][a-z].*$", "", text, flags=re.MULTILINE)
    return re.sub(r"^( +)# ( *[a-zA-Z_-]+:)", r"\1\2", examples, flags=re.MULTILINE)


async def example(**given: object) -> ExampleFleet:
    return await example_fleet(None, **given)  # type: ignore[arg-type] # it needs no site


@pytest.mark.parametrize("folder", HOSTILE)
async def test_the_example_is_accepted_without_a_warning_whatever_the_folder_is_called(folder: str) -> None:
    made = await example(folder=folder, timezone="Europe/Berlin", programs=("claude", folder))
    fleet = load(made.text)
    assert made.file == "rota.yaml"
    assert (fleet.warnings, fleet.timezone, fleet.name) == ((), "Europe/Berlin", fleet_name(folder))
    assert [agent.name for agent in fleet.agents] == ["clerk"]


async def test_the_example_has_every_kind_of_job_that_it_explains() -> None:
    fleet = load((await example()).text)
    by_name = {job.definition.name: job.definition for job in fleet.jobs}
    assert list(by_name) == ["clerk/tick", "clerk/disk-space", "hello", "disk-report"]
    kinds = [type(one.timing.schedule) for one in by_name.values()]
    assert kinds[0] is Every
    assert issubclass(kinds[1], Wall)
    assert kinds[3] is After
    assert all(isinstance(one.action, CommandAction) and not one.action.shell for one in by_name.values())
    assert Once not in kinds
    assert fleet.pools == {"local": 2}


@pytest.mark.parametrize(
    ("programs", "added"),
    [
        ((), ["claude"]),
        (("vim", "rm"), ["claude"]),
        (("gemini", "/usr/local/bin/codex"), ["codex", "gemini"]),
        (("claude", "codex", "gemini"), ["claude", "codex", "gemini"]),
    ],
)
async def test_what_is_commented_out_is_accepted_too_when_it_is_used(
    programs: tuple[str, ...], added: list[str]
) -> None:
    fleet = load(uncommented((await example(programs=programs)).text))
    by_name = {job.definition.name: job.definition for job in fleet.jobs}
    assert fleet.warnings == ()
    assert [name.removeprefix("clerk/review-with-") for name in by_name if "review" in name] == added
    assert isinstance(by_name["status-page"].action, HttpAction)
    assert by_name["status-page"].settle.retry.max == 3
    assert len(by_name["digest"].timing.quiet) == 3
    assert by_name["upload"].action.env["API_KEY"] == "env:UPLOAD_KEY"  # type: ignore[union-attr]


async def test_agents_are_asked_as_their_programs_want_to_be() -> None:
    text = (await example(programs=("claude", "codex", "gemini"))).text
    for words in ("[claude, -p, ", "[codex, exec, ", "[gemini, -p, "):
        assert text.count(words) == 1


async def test_every_command_of_the_example_works_at_once() -> None:
    fleet = load((await example()).text)
    for job in fleet.jobs:
        assert isinstance(job.definition.action, CommandAction)
        process = await asyncio.create_subprocess_exec(*job.definition.action.argv, stdout=subprocess.DEVNULL)
        assert await process.wait() == 0


async def test_no_line_is_long_and_every_comment_is_one_line() -> None:
    text = (await example(programs=("claude",))).text
    assert max(map(len, text.splitlines())) <= 110
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


async def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(ScheduleError, match="such as Europe/Berlin"):
        await example(timezone="Europe/Berlim")
