"""The commands of the store, as a person types them, beside a running engine on SQLite."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.actions.bench import is_alive
from tests.rota_process import EngineProcess, ended_runs, engine, eventually, rota, rota_json


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rota")


@pytest.fixture(scope="module")
def db(home: Path) -> str:
    return str(home / "rota.db")


@pytest.fixture(scope="module", autouse=True)
def running(db: str, home: Path) -> Iterator[EngineProcess]:
    with engine(db, home) as process:
        yield process


def test_a_job_ticks_when_it_is_added(db: str) -> None:
    words = ("job", "add", "tick", "--every", "1s", "--pool", "ticks", "--", "/bin/sh", "-c", "echo tick")
    saved = rota_json(*words, db=db)
    assert (saved["name"], len(saved["next_times"])) == ("tick", 5)
    first, second = eventually(lambda: (found := ended_runs(db, "tick")[-2:])[1:] and found)
    assert (first["state"], second["state"]) == ("succeeded", "succeeded")
    assert rota("logs", "tick", db=db).stdout == "tick\n"
    assert "baseline-interval" in rota("why", second["id"], db=db).stdout
    assert rota_json("job", "show", "tick", db=db)["schedule"] == "every 1s"
    rota("job", "pause", "tick", db=db)
    assert rota_json("job", "list", db=db)[0]["status"] == "paused"
    rota("job", "remove", "tick", db=db)
    assert rota("job", "show", "tick", db=db, check=False).returncode == 1


def test_the_command_exits_as_the_run_did_when_it_is_followed(db: str) -> None:
    """`--follow` streams until the end and exits with the run's outcome."""
    rota("job", "add", "fails", "--manual", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 3", db=db)
    done = rota("job", "run", "fails", "--follow", db=db, check=False)
    assert (done.returncode, done.stdout) == (3, "out\n")
    assert done.stderr.splitlines()[1:] == ["err", f"{done.stderr.splitlines()[0]} failed: exit, exit code 3"]


def test_the_same_run_is_meant_when_a_key_is_used_again(db: str) -> None:
    rota("job", "add", "keyed", "--manual", "--", "/bin/true", db=db)
    first = rota_json("job", "run", "keyed", "--key", "k1", db=db)
    second = rota_json("job", "run", "keyed", "--key", "k1", db=db)
    assert (first["run_id"], first["is_new"], second["is_new"]) == (second["run_id"], True, False)


def test_a_run_and_all_it_started_is_gone_when_it_is_cancelled(db: str, home: Path) -> None:
    """SPEC 5: "SIGTERM to the whole tree, 10 s, SIGKILL, confirmed gone, who asked and why recorded"."""
    pids = home / "pids"
    script = f"sleep 300 & echo $! >> {pids}; setsid sleep 300 & echo $! >> {pids}; echo $$ >> {pids}; wait"
    rota("job", "add", "slow", "--manual", "--pool", "slow", "--", "/bin/sh", "-c", script, db=db)
    run_id = rota("job", "run", "slow", db=db).stdout.strip()
    eventually(lambda: (pids.exists() and len(pids.read_text().split()) == 3) or None)
    rota("run", "cancel", run_id, db=db)
    run = eventually(lambda: (found := rota_json("run", "show", run_id, db=db))["ended_at"] and found)
    assert (run["state"], run["reason"]) == ("cancelled", "by_hand")
    assert run["error"].startswith("by ")
    assert [pid for pid in pids.read_text().split() if psutil.pid_exists(int(pid))] == []


def test_a_sentence_says_what_to_fix_when_the_program_is_missing(db: str) -> None:
    rota("job", "add", "missing", "--manual", "--retry", "3", "--", "/no/such/program", db=db)
    done = rota("job", "run", "missing", "-f", db=db, check=False)
    assert done.returncode == 1
    (run,) = ended_runs(db, "missing")
    assert (run["state"], run["attempt"]) == ("permanent_failure", 1)
    assert "install it or fix the job's command" in run["error"]


def test_the_run_times_out_when_it_takes_too_long(db: str) -> None:
    rota("job", "add", "long", "--manual", "--timeout", "1s", "--", "sleep", "60", db=db)
    assert rota("job", "run", "long", "-f", db=db, check=False).returncode == 124


def test_a_second_engine_is_refused_when_one_holds_the_file(db: str, running: EngineProcess) -> None:
    done = rota("up", db=db, check=False)
    assert done.returncode == 1
    message = json.loads(done.stderr)["error"]["message"]
    assert f"process {running.pid}" in message
    assert "rota worker" not in message
    worker = rota("worker", db=db, check=False)
    assert worker.returncode == 2
    assert "PostgreSQL" in worker.stderr


def test_the_store_is_sound_when_it_is_checked(db: str) -> None:
    assert rota("db", "check", db=db).stdout == "All is well.\n"
    assert rota("db", "migrate", db=db).stdout == "Nothing to do.\n"
    assert rota("db", "vacuum", db=db).stdout == "Done.\n"
    (worker,) = rota_json("worker", "list", db=db)
    assert worker["status"] in ("alive", "idle", "busy")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("job", "show", "nothing"), 'There is no job "nothing"'),
        (("run", "show", "run_f"), 'There is no run "run_f"'),
        (("job", "add", "bad name", "--manual", "--", "true"), 'Invalid name "bad name"'),
        (("job", "add", "x", "--every", "5x", "--", "true"), 'Invalid every "5x"'),
        (("job", "add", "x", "--manual"), "Give the command after --"),
        (("job", "add", "x", "--", "true"), "Give one schedule"),
        (("job", "add", "x", "--manual", "--url", "http://x", "--header", "bad"), 'Invalid header "bad"'),
        (("job", "add", "x", "--manual", "--env", "=1", "--", "true"), 'Invalid env "=1"'),
        (("job", "add", "x", "--manual", "--url", "http://x", "--", "true"), "not both"),
        (("job", "list", "--db", "mysql://x"), 'Invalid db "mysql://x"'),
        (("job", "list", "--db", "postgresql://x@127.0.0.1:1/x"), "Check that PostgreSQL runs"),
    ],
)
def test_bad_input_is_answered_with_a_cure_when_given(db: str, words: tuple[str, ...], part: str) -> None:
    done = rota(*words, db=db, check=False)
    assert done.returncode in (1, 2)
    assert part in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("policy", ["skip", "queue", "allow", "replace"])
def test_a_policy_is_understood_when_given_as_it_is_written_everywhere_else(db: str, policy: str) -> None:
    rota("job", "add", f"with-{policy}", "--manual", "--overlap", policy, "--", "true", db=db)
    # What is assumed anyway is not written down.
    assert rota_json("job", "show", f"with-{policy}", db=db)["definition"].get("overlap", "skip") == policy


def test_a_name_is_refused_when_another_job_has_it(db: str) -> None:
    rota("job", "add", "twice", "--manual", "--", "true", db=db)
    done = rota("job", "add", "twice", "--manual", "--", "true", db=db, check=False)
    assert done.returncode == 1
    assert 'There is already a job named "twice"' in done.stderr


def test_results_are_recorded_once_when_the_engine_stops(tmp_path: Path) -> None:
    db = str(tmp_path / "rota.db")
    for number in range(5):
        rota("job", "add", f"j{number}", "--manual", "--pool", f"p{number}", "--", "sleep", "0.5", db=db)
    with engine(db, tmp_path) as stopping:
        for number in range(5):
            rota("job", "run", f"j{number}", db=db)
        eventually(lambda: [run["started_at"] is None for run in rota_json("runs", db=db)] == [False] * 5)
        assert stopping.stop() == 0
    events = [event["event"] for event in stopping.events()]
    assert events.count("run.ended") == 5
    assert "result.refused" not in events


def test_nothing_steers_the_terminal_when_output_is_shown(db: str) -> None:
    """GUARANTEES: "escapes stripped in the CLI"."""
    script = r"printf 'a\033]52;c;x\007b\302\233c\342\200\256dé\n'"
    rota("job", "add", "steers", "--manual", "--", "/bin/sh", "-c", script, db=db)
    followed = rota("job", "run", "steers", "--follow", db=db)
    assert followed.stdout == "a]52;c;xbcdé\n"
    run_id = rota_json("runs", "steers", db=db)[0]["id"]
    assert "\033" not in rota("run", "show", run_id, db=db).stdout


def test_a_stubborn_child_is_not_waited_for_when_the_engine_is_told_twice_to_stop(tmp_path: Path) -> None:
    """SPEC 7: the second signal ends everything at once."""
    db, witness = str(tmp_path / "rota.db"), tmp_path / "pid"
    script = f"trap '' TERM; echo $$ > {witness}; while :; do sleep 0.1; done"
    rota("job", "add", "stubborn", "--manual", "--", "/bin/sh", "-c", script, db=db)
    with engine(db, tmp_path) as stopping:
        rota("job", "run", "stubborn", db=db)
        eventually(lambda: witness.exists() and witness.read_text())
        stopping.process.terminate()
        eventually(lambda: [event for event in stopping.events() if event["event"] == "worker.stopping"])
        stopping.process.terminate()
        # Well under the ten seconds of grace that a child has otherwise.
        assert stopping.process.wait(8) == 0
    assert not is_alive(int(witness.read_text()))
    assert [run["state"] for run in rota_json("runs", db=db)] == ["cancelled"]
