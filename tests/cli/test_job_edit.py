"""``rota job edit``: with options, from a file, and in an editor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli import Cli
from tests.rota_process import ROTA


@pytest.fixture
def edited(cli: Cli) -> Cli:
    cli(
        "job",
        "add",
        "x",
        "--daily",
        "09:00",
        "--timezone",
        "Europe/Berlin",
        "--retry",
        "2",
        "--env",
        "A=1",
        "--",
        "./x",
    )
    return cli


def definition(cli: Cli) -> dict[str, Any]:
    found: dict[str, Any] = cli.json("job", "show", "x")["definition"]
    return found


BEFORE = {
    "daily": "09:00",
    "timezone": "Europe/Berlin",
    "command": ["./x"],
    "env": {"A": "1"},
    "retry": {"max": 2},
}


def test_only_what_is_given_changes(edited: Cli) -> None:
    assert definition(edited) == BEFORE
    edited("job", "edit", "x", "--timeout", "30m")
    assert definition(edited) == {**BEFORE, "timeout": "30m"}
    edited("job", "edit", "x", "--retry-first", "10s", "--env", "B=2")
    assert definition(edited)["retry"] == {"max": 2, "first": "10s"}
    assert definition(edited)["env"] == {"A": "1", "B": "2"}
    edited("job", "edit", "x", "--retry", "0")
    assert "max" not in definition(edited).get("retry", {})


def test_another_schedule_takes_the_place_of_the_one_before(edited: Cli) -> None:
    edited("job", "edit", "x", "--every", "5m")
    assert {**definition(edited), "every": "5m"} == {**{k: v for k, v in BEFORE.items() if k != "daily"}, "every": "5m"}


def test_another_action_takes_the_place_of_the_one_before(edited: Cli) -> None:
    edited("job", "edit", "x", "--", "./y", "--all")
    assert definition(edited)["command"] == ["./y", "--all"]
    assert definition(edited)["env"] == {"A": "1"}
    edited("job", "edit", "x", "--url", "https://example.org/", "--header", "A: b")
    found = definition(edited)
    assert found["http"] == {"url": "https://example.org/", "headers": {"A": "b"}}
    assert not {"command", "env"} & set(found)
    edited("job", "edit", "x", "--method", "POST")
    assert definition(edited)["http"] == {"url": "https://example.org/", "method": "POST", "headers": {"A": "b"}}


def test_a_word_can_be_taken_away(edited: Cli) -> None:
    edited("job", "edit", "x", "--unset", "retry", "--unset", "env")
    assert definition(edited) == {word: value for word, value in BEFORE.items() if word not in ("retry", "env")}
    assert 'no "quiet" to take away' in edited.refused("job", "edit", "x", "--unset", "quiet", code=2)


def test_a_file_takes_the_place_of_everything(edited: Cli) -> None:
    edited("job", "edit", "x", "--from-file", "-", stdin="manual: true\ncommand: [./y]\n")
    assert definition(edited) == {"manual": True, "timezone": "Europe/Berlin", "command": ["./y"]}
    said = edited.refused("job", "edit", "x", "--from-file", "-", code=2, stdin="manual: false\n")
    assert "standard input:1:9: manual: " in said


def test_what_is_wrong_changes_nothing(edited: Cli) -> None:
    assert 'Invalid every "5x"' in edited.refused("job", "edit", "x", "--every", "5x", code=2)
    assert 'There is no job "y"' in edited.refused("job", "edit", "y", "--every", "5m")
    assert definition(edited) == BEFORE


def test_a_job_from_a_file_is_changed_there(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rota.yaml").write_text("jobs:\n  x:\n    manual: true\n    command: [./y]\n")
    cli("apply")
    monkeypatch.setenv("EDITOR", "false")
    for words in (("job", "edit", "x"), ("job", "edit", "x", "--every", "5m"), ("job", "remove", "x")):
        assert f"{tmp_path}/rota.yaml:2" in cli.refused(*words)


def editor(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that does what the script says to the file ``$1``."""
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(path))


def test_an_editor_shows_the_job_and_its_text_is_saved(
    edited: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(tmp_path, f'cp "$1" {tmp_path}/seen; sed -i s/09:00/10:30/ "$1"', monkeypatch)
    assert edited("job", "edit", "x").startswith("Saved x")
    assert definition(edited) == {**BEFORE, "daily": "10:30"}
    seen = (tmp_path / "seen").read_text()
    assert seen.startswith("# x: ")
    assert "retry: {max: 2}" in seen


def test_nothing_changes_when_the_editor_is_left_without_saving(
    edited: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(tmp_path, "exit 0", monkeypatch)
    done = edited.ask("job", "edit", "x")
    assert (done.stdout, done.stderr) == ("", "Nothing was changed.\n")
    assert edited.json("job", "show", "x")["version"] == 1


def test_a_text_with_problems_is_shown_with_its_lines_and_kept(
    edited: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    editor(tmp_path, 'printf "daily: 25:00\\ncommand: [x]\\n" > "$1"', monkeypatch)
    said = edited.refused("job", "edit", "x", code=2)
    assert "x.yaml:1:8: daily: " in said
    kept = Path(said.rpartition("kept in ")[2].strip())
    assert kept.read_text() == "daily: 25:00\ncommand: [x]\n"
    assert definition(edited) == BEFORE


def test_editing_can_go_on_when_the_first_text_has_problems(
    edited: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.cli.job_editor.is_terminal", lambda: True)
    script = f'if [ -e {tmp_path}/again ]; then sed -i s/25:00/11:00/ "$1"; else sed -i s/09:00/25:00/ "$1"; fi'
    editor(tmp_path, f"{script}; touch {tmp_path}/again", monkeypatch)
    done = edited.ask("job", "edit", "x", stdin="y\n")
    assert "25:00" in done.stderr
    assert definition(edited) == {**BEFORE, "daily": "11:00"}


def test_a_change_by_somebody_else_is_not_overwritten(
    edited: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other = f"{ROTA} job edit x --timeout 7m --db {edited.db} >/dev/null"
    editor(tmp_path, f'{other}; sed -i s/09:00/10:30/ "$1"', monkeypatch)
    said = edited.refused("job", "edit", "x")
    assert "changed meanwhile: it is at version 2, not 1" in said
    assert "10:30" in Path(said.rpartition("kept in ")[2].strip()).read_text()
    assert definition(edited) == {**BEFORE, "timeout": "7m"}


def test_options_are_asked_for_when_there_is_no_terminal(edited: Cli) -> None:
    assert "there is no terminal for an editor" in edited.refused("job", "edit", "x", code=2)


def test_a_text_is_kept_when_a_person_gives_up(edited: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("rota.cli.job_editor.is_terminal", lambda: True)
    editor(tmp_path, 'sed -i s/09:00/25:00/ "$1"', monkeypatch)
    said = edited.ask("job", "edit", "x", code=2, stdin="n\n").stderr
    assert "x.yaml:3:8: daily: " in said
    assert "25:00" in Path(said.rpartition("kept in ")[2].strip()).read_text()
    assert definition(edited) == BEFORE
