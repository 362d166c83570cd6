"""Fleet files: written, checked, compared and applied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rota.cli import init
from tests.cli.cli import Cli

FLEET = """\
fleet: {name: home, timezone: Europe/Berlin}
agents:
  coder:
    description: Writes code.
    schedules:
      nightly:
        daily: "02:00"
        command: [./nightly.sh]
jobs:
  backup:
    every: 5m
    command: [./backup.sh]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which one stands."""
    place = tmp_path / "fleet"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def file(folder: Path) -> Path:
    (folder / "rota.yaml").write_text(FLEET)
    return folder / "rota.yaml"


@pytest.mark.usefixtures("file")
def test_a_good_file_is_said_to_be_good(cli: Cli) -> None:
    assert cli("check") == "rota.yaml is good. Fleet home, jobs: 2, agents: 1.\n"
    assert cli.json("check") == {**cli.json("check"), "fleet": "home", "jobs": 2, "agents": 1, "warnings": []}
    assert not Path(cli.db).exists()


def test_everything_that_is_wrong_is_listed_with_line_and_cure(cli: Cli, file: Path) -> None:
    file.write_text(FLEET.replace("5m", "5x").replace("daily", "daly"))
    said = cli.refused("check", code=2).splitlines()
    assert said[0].startswith('rota.yaml:7:9: agents.coder.schedules.nightly.daly: There is no key "daly" here.')
    assert said[1] == '    Did you mean "daily"?'
    assert any(line.startswith('rota.yaml:11:12: jobs.backup.every: Invalid every "5x"') for line in said)
    error = json.loads(cli.ask("check", "--json", code=2).stderr)["error"]
    first = error["problems"][0]
    assert (first["file"], first["line"], first["column"]) == (str(file), 7, 9)
    for words in (("diff",), ("apply",)):
        assert "rota.yaml:7:9:" in cli.refused(*words, code=2)
    assert cli.json("job", "list") == []


@pytest.mark.parametrize("word", ["check", "diff", "apply"])
def test_a_missing_file_is_answered_with_how_to_make_one(cli: Cli, word: str) -> None:
    assert "rota init" in cli.refused(word, code=2)
    assert "nothing.yaml" in cli.refused(word, "nothing.yaml", code=2)


def test_a_file_is_found_by_either_name_or_given(cli: Cli, file: Path) -> None:
    file.rename("rota.yml")
    assert "rota.yml is good" in cli("check")
    Path("rota.yml").rename("other.yaml")
    assert "other.yaml is good" in cli("check", "other.yaml")


def test_diff_is_1_until_it_is_applied_and_0_afterwards(cli: Cli, file: Path) -> None:
    shown = cli.ask("diff", code=1).stdout
    assert "+ coder/nightly  rota.yaml:6" in shown
    assert "    every: 5m" in shown
    assert "Would change: 2 added; 0 unchanged. Fleet home, rota.yaml" in shown
    assert cli.json("job", "list") == []
    assert "Applied: 2 added" in cli("apply")
    assert cli("diff") == "Nothing changes; 2 unchanged. Fleet home, rota.yaml\n"
    assert cli.json("diff")["changes"] == []
    assert [(job["name"], job["fleet"], job["line"]) for job in cli.json("job", "list")] == [
        ("backup", "home", 10),
        ("coder/nightly", "home", 6),
    ]
    assert cli.json("job", "show", "backup")["file"] == str(file)


def test_a_change_is_shown_word_by_word(cli: Cli, file: Path) -> None:
    cli("apply")
    file.write_text(
        FLEET.replace("5m", "10m").partition("agents:")[0] + FLEET[FLEET.index("jobs:") :].replace("5m", "10m")
    )
    shown = cli.ask("diff", code=1).stdout.splitlines()
    assert "- coder/nightly" in shown
    assert "    every: 5m → 10m" in shown
    changes = {change["job"]: change for change in cli.json("apply", "--yes")["changes"]}
    assert changes["backup"]["fields"] == [{"field": "every", "before": "5m", "after": "10m"}]
    assert changes["coder/nightly"]["change"] == "removed"
    assert [job["name"] for job in cli.json("job", "list")] == ["backup"]


def test_a_diff_tells_of_sizes_alone(cli: Cli, file: Path) -> None:
    cli("apply")
    file.write_text(f"{FLEET}pools: {{local: 6}}\n")
    shown = cli.ask("diff", code=1).stdout
    assert "~ pool local\n    size: 6" in shown
    assert "1 resized" in shown
    assert "1 resized" in cli("apply")
    file.write_text(f"{FLEET}pools: {{local: 5}}\n")
    assert "size: 6 → 5" in cli.ask("diff", code=1).stdout
    cli("apply")
    assert "Nothing changes" in cli("diff")


@pytest.mark.usefixtures("file")
def test_colours_say_the_same(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert "\033[32m\033[1m+ backup" in cli.ask("diff", code=1).stdout


def test_a_person_is_asked_before_jobs_go(cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("apply")
    file.write_text(FLEET.partition("jobs:")[0])
    monkeypatch.setattr("rota.cli.apply.is_terminal", lambda: True)
    done = cli.ask("apply", code=1, stdin="n\n")
    assert "This removes backup" in done.stderr
    assert "Nothing was changed." in done.stderr
    assert len(cli.json("job", "list")) == 2
    assert "1 removed" in cli("apply", stdin="y\n")
    assert len(cli.json("job", "list")) == 1


def test_jobs_added_by_hand_are_taken_over_when_that_is_said(cli: Cli, file: Path) -> None:
    cli("job", "add", "backup", "--every", "1h", "--", "./backup.sh")
    assert "--take-over" in cli.refused("apply")
    assert "--take-over" in cli.refused("diff")
    assert cli.json("diff", "--take-over", code=1)["is_applied"] is False
    cli("apply", "--take-over")
    assert cli.json("job", "show", "backup")["file"] == str(file)


def test_the_schema_is_one(cli: Cli) -> None:
    schema = json.loads(cli("schema"))
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"jobs", "agents", "pools"} <= set(schema["properties"])


def test_a_first_file_works_at_once(cli: Cli, folder: Path) -> None:
    shown = cli("init")
    assert f"Wrote {folder / 'rota.yaml'}" in shown
    assert "rota up" in shown
    assert "is good" in cli("check")


def test_a_file_that_is_there_is_not_overwritten(cli: Cli, file: Path) -> None:
    assert "rota init --force" in cli.refused("init")
    assert file.read_text() == FLEET
    cli("init", "--force")
    assert file.read_text() != FLEET


def test_a_folder_is_made_and_named(cli: Cli, folder: Path) -> None:
    shown = cli("init", "new/My Agents", "--yes")
    assert f"cd {folder}/new/My Agents" in shown
    assert "name: my-agents" in (folder / "new" / "My Agents" / "rota.yaml").read_text()
    found = cli.json("init", "other")
    assert (found["file"], set(found)) == (f"{folder}/other/rota.yaml", {"file", "timezone", "programs"})


def test_programs_that_are_here_get_an_example(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init.shutil, "which", lambda name: f"/bin/{name}" if name == "codex" else None)
    assert cli.json("init")["programs"] == ["codex"]
    assert "review-with-codex" in Path("rota.yaml").read_text()


def test_a_person_is_asked_for_name_and_zone(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.cli.init.is_terminal", lambda: True)
    done = cli.ask("init", stdin="night shift\nEurope/Berln\nEurope/Berlin\n")
    assert "such as Europe/Berlin" in done.stderr
    text = Path("rota.yaml").read_text()
    assert "name: night-shift" in text
    assert "timezone: Europe/Berlin" in text


def test_a_folder_that_cannot_be_written_is_said(cli: Cli, folder: Path) -> None:
    (folder / "taken").touch()
    assert "taken" in cli.refused("init", "taken/inner")
