"""Commands: what a child is given, how it ends, and what is said before it starts (SPEC section 5)."""

# ruff: noqa: S604 - tests may look at files, and shells are what is tested

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import anyio
import pytest

from rota.actions.command import Command
from rota.core.definition import PythonAction
from rota.core.run import RunState
from rota.ports.action import Work
from tests.actions.bench import Shelf, command, make_output, make_work, perform, script, survivors, unique, until, yes

pytestmark = pytest.mark.anyio

IDENTITY = (
    *("ROTA_RUN_ID", "ROTA_JOB", "ROTA_AGENT", "ROTA_ATTEMPT", "ROTA_TRACE_ID", "TRACEPARENT", "ROTA_FENCING_TOKEN"),
)


async def environment_of(work: Work) -> dict[str, str]:
    result, shelf = await perform(work)
    assert result.outcome.state == RunState.SUCCEEDED, result
    return dict(entry.split("=", 1) for entry in shelf.text().split("\ufffd") if entry)


@pytest.mark.parametrize("word", ["$HOME", "a b", "*", "; echo no", "`id`", "'", '"', "\\", "ü€", "", "-n x", "a\nb"])
async def test_arguments_arrive_as_they_are_when_no_shell_is_asked_for(word: str) -> None:
    """argv (never a shell unless `shell: true`)."""
    _, shelf = await perform(command("/usr/bin/printf", "%s|", "first", word))
    assert shelf.text() == f"first|{word}|"


async def test_shell_reads_the_words_when_asked() -> None:
    _, shelf = await perform(command("echo", "$((6 * 7))", "|", "tr", "2", "3", shell=True))
    assert shelf.text() == "43\n"


async def test_child_starts_in_its_directory_when_one_is_given(tmp_path: Path) -> None:
    _, shelf = await perform(command("pwd", cwd=str(tmp_path)))
    assert shelf.text() == f"{tmp_path.resolve()}\n"


async def test_relative_program_is_found_from_its_directory_when_one_is_given(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\necho from here\n")
    program.chmod(0o700)
    work = command("./tool", cwd=str(tmp_path))
    assert await Command().preflight(work) is None
    _, shelf = await perform(work)
    assert shelf.text() == "from here\n"


async def test_child_is_alone_in_its_session_when_it_starts() -> None:
    """A process group of its own."""
    code = "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0))"
    _, shelf = await perform(command(sys.executable, "-c", code))
    assert shelf.text() == "True\n"


@pytest.mark.parametrize("name", ["ROTA_DB", "MY_TOKEN", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH", "LD_PRELOAD_X", "LC"])
async def test_our_own_environment_stays_here_when_a_child_starts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment allowlist, none of Rota's own secrets in the child."""
    monkeypatch.setenv(name, "postgresql://rota:hunter2@db")
    found = await environment_of(command("env", "-0"))
    assert name not in found
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "TZ", "LC_ALL", "LC_TIME", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"]
)
async def test_child_knows_its_surroundings_when_they_are_harmless(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = os.environ["PATH"] if name == "PATH" else "C"
    monkeypatch.setenv(name, value)
    assert (await environment_of(command("env", "-0")))[name] == value


async def test_environment_is_the_given_one_and_nothing_else_when_listed() -> None:
    found = await environment_of(command("/usr/bin/env", "-0", env={"COLOUR": "blue", "PATH": "/nowhere"}))
    assert (found["COLOUR"], found["PATH"]) == ("blue", "/nowhere")
    unknown = set(found) - {"COLOUR", *IDENTITY}
    assert unknown <= {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "LANG", "LANGUAGE", "TZ"} | {
        name for name in unknown if name.startswith(("LC_", "XDG_", "SSL_", "SSH_AUTH_SOCK"))
    }


async def test_child_knows_its_run_when_it_starts() -> None:
    """The child gets ROTA_RUN_ID ROTA_JOB ROTA_AGENT ROTA_ATTEMPT ROTA_TRACE_ID TRACEPARENT ROTA_FENCING_TOKEN."""
    work = command("env", "-0", agent="claude", attempt=3, token=41)
    found = await environment_of(work)
    assert {name: found[name] for name in IDENTITY} == dict(work.identity)
    assert (found["ROTA_JOB"], found["ROTA_AGENT"], found["ROTA_ATTEMPT"]) == ("nightly", "claude", "3")
    assert (found["ROTA_RUN_ID"], found["ROTA_FENCING_TOKEN"]) == (work.run_id, "41")


async def test_identity_wins_when_the_job_sets_the_same_names() -> None:
    work = command("env", "-0", env={"ROTA_RUN_ID": "forged", "ROTA_FENCING_TOKEN": "999"})
    found = await environment_of(work)
    assert (found["ROTA_RUN_ID"], found["ROTA_FENCING_TOKEN"]) == (work.run_id, "7")


async def test_trace_is_a_w3c_traceparent_when_handed_on() -> None:
    work = command("env", "-0")
    parent = (await environment_of(work))["TRACEPARENT"]
    found = re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01", parent)
    assert found is not None
    assert found[1] == work.trace_id
    assert int(found[1], 16) != 0
    assert int(found[2], 16) != 0


@pytest.mark.parametrize("text", ["", "hello\n", "ü€😀", "x" * 1_000_000], ids=len)
async def test_child_reads_its_input_when_stdin_is_given(text: str) -> None:
    _, shelf = await perform(command("cat", stdin=text))
    assert shelf.text() == text


async def test_stdin_is_empty_when_none_is_given() -> None:
    result, shelf = await perform(command("cat"))
    assert (result.outcome.state, shelf.text()) == (RunState.SUCCEEDED, "")


async def test_run_ends_well_when_nobody_reads_its_stdin() -> None:
    result, _ = await perform(command("true", stdin="x" * 5_000_000))
    assert result.outcome.state == RunState.SUCCEEDED


async def test_input_is_a_private_file_and_gone_when_the_run_is_over() -> None:
    """Its input (webhook body, chat text, parent's output; ≤ 1 MiB) as the file ROTA_INPUT."""
    text = 'echo "$ROTA_INPUT"; stat -c %a "$ROTA_INPUT" "$(dirname "$ROTA_INPUT")"; cat "$ROTA_INPUT"'
    _, shelf = await perform(script(text, input='{"ü": 1}'))
    path, mode, folder_mode, body = shelf.text().split("\n")
    assert (mode, folder_mode, body) == ("600", "700", '{"ü": 1}')
    assert not Path(path).parent.exists()


async def test_input_is_gone_when_the_run_is_cancelled_or_the_child_removed_it(tmp_path: Path) -> None:
    told = tmp_path / "told"
    work = script(f'echo "$ROTA_INPUT" > {told}.new; mv {told}.new {told}; sleep 600', input="x")
    async with anyio.create_task_group() as group:
        group.start_soon(perform, work)
        await until(told.exists)
        group.cancel_scope.cancel()
    assert not Path(told.read_text().strip()).parent.exists()
    result, _ = await perform(script('rm -r "$(dirname "$ROTA_INPUT")"', input="x"))
    assert result.outcome.state == RunState.SUCCEEDED


async def test_there_is_no_input_file_when_there_is_no_input() -> None:
    assert "ROTA_INPUT" not in await environment_of(command("env", "-0"))


@pytest.mark.parametrize("code", [0, 1, 2, 77, 127, 128, 255])
async def test_exit_code_decides_when_the_child_exits(code: int) -> None:
    """Success is exit code 0."""
    result, _ = await perform(script(f"echo last words; exit {code}"))
    outcome = result.outcome
    assert (outcome.exit_code, outcome.output) == (code, "last words\n")
    assert outcome.state == (RunState.SUCCEEDED if code == 0 else RunState.FAILED)
    assert outcome.error == ("" if code == 0 else f"exit code {code}")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGTERM, "ended by SIGTERM"),
        (signal.SIGKILL, "ended by SIGKILL"),
        (signal.SIGSEGV, "ended by SIGSEGV"),
        (signal.SIGRTMIN + 3, f"ended by signal {signal.SIGRTMIN + 3}"),
    ],
)
async def test_signal_is_named_when_it_ends_the_child(number: int, said: str) -> None:
    result, _ = await perform(script(f"ulimit -c 0; kill -{int(number)} $$"))
    assert (result.outcome.state, result.outcome.error) == (RunState.FAILED, said)
    assert result.outcome.exit_code == -number


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"argv": ("true",), "cwd": "/nowhere"},
            "The directory /nowhere does not exist; create it or change the job's cwd.",
        ),
        (
            {"argv": ("true",), "cwd": "/etc/passwd"},
            "The directory /etc/passwd does not exist; create it or change the job's cwd.",
        ),
        (
            {"argv": ("no-such-program",)},
            "The program no-such-program was not found or may not be executed; install it or fix the job's command.",
        ),
        (
            {"argv": ("/etc/passwd",)},
            "The program /etc/passwd was not found or may not be executed; install it or fix the job's command.",
        ),
        (
            {"argv": ("ls",), "env": {"PATH": "/nowhere"}},
            "The program ls was not found or may not be executed; install it or fix the job's command.",
        ),
        (
            {"argv": ("true",), "env": {"KEY": "env:NO_SUCH_VARIABLE"}},
            "The secret env:NO_SUCH_VARIABLE is not set; set the environment variable NO_SUCH_VARIABLE.",
        ),
        (
            {"argv": ("true",), "env": {"KEY": "file:/no/such/file"}},
            "The secret file:/no/such/file cannot be read: [Errno 2] No such file or directory: '/no/such/file'.",
        ),
    ],
    ids=["no directory", "a file", "no program", "not executable", "not in its path", "no variable", "no file"],
)
async def test_preflight_says_what_to_fix_when_the_work_cannot_start(given: dict[str, object], sentence: str) -> None:
    """Preflight before the start: the directory exists, the program may be executed, secrets resolve."""
    assert await Command().preflight(command(*given.pop("argv"), **given)) == sentence  # type: ignore[misc]


async def test_preflight_says_nothing_when_all_is_well(tmp_path: Path) -> None:
    assert await Command().preflight(command("true", cwd=str(tmp_path))) is None
    assert await Command().preflight(script("no-such-program || true")) is None


@pytest.mark.parametrize(
    "work",
    [
        command("/no/such/program"),
        command("/etc/passwd"),
        command("true", cwd="/nowhere"),
        command("echo", "a\0b"),
        command("true", env={"A=B": "c"}),
        command("true", env={"A": "b\0c"}),
    ],
    ids=["missing", "not executable", "no directory", "nul argument", "odd name", "nul value"],
)
async def test_run_fails_with_a_reason_when_the_child_cannot_be_started(work: Work) -> None:
    """A spawn failure never ends a schedule."""
    result, shelf = await perform(work)
    assert (result.outcome.state, result.outcome.reason) == (RunState.FAILED, "spawn")
    assert result.outcome.error.startswith(f"{work.definition.action.argv[0]} could not be started: ")  # type: ignore[union-attr]
    assert shelf.text() == ""


async def test_nothing_is_spawned_when_the_start_is_refused(tmp_path: Path) -> None:
    """At most one start per attempt: the claim commits before the spawn."""
    witness, tag = tmp_path / "witness", unique()
    asked = []

    async def refused() -> bool:
        asked.append(witness.exists())
        return False

    work = script(f"echo {tag} > {witness}; sleep 600")
    result = await Command().perform(work, make_output(work, Shelf()), refused)
    assert (result.outcome.state, result.outcome.reason) == (RunState.CANCELLED, "fenced")
    assert asked == [False]
    assert survivors(tag) == []
    assert not witness.exists()


async def test_start_is_on_record_when_the_child_begins(tmp_path: Path) -> None:
    record = tmp_path / "record"

    async def started() -> bool:
        record.touch()
        return True

    work = script(f"test -e {record}")
    result = await Command().perform(work, make_output(work, Shelf()), started)
    assert result.outcome.exit_code == 0


async def test_other_actions_are_refused_when_given_to_a_command() -> None:
    work = make_work(PythonAction(target="os:getpid"))
    with pytest.raises(TypeError, match="nightly is no command"):
        await Command().perform(work, make_output(work, Shelf()), yes)
