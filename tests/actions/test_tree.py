"""Process trees: no descendant of a run survives it (GUARANTEES G9; SPEC section 5, timeouts)."""

# ruff: noqa: ASYNC220, ASYNC222 - tests may look at files and start witnesses

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import psutil
import pytest

from rota.actions.command import Command
from rota.actions.tree import Tree, end_named, new_mark
from rota.core.run import RunState
from rota.ports.action import Work
from tests.actions.bench import (
    GRACE,
    IS_LONG,
    Shelf,
    is_alive,
    make_output,
    perform,
    pids_in,
    script,
    survivors,
    unique,
    until,
    yes,
    zombies,
)

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
# Each writes its number down and stays. The number of seconds is the tag by which survivors are found.
LEAF = "echo $$ >> {witness}; exec sleep {tag}"
RESPAWN = 'sh -c \\"echo $$ >> {witness}; exec sleep {tag}\\" &'
QUIET = "</dev/null >/dev/null 2>&1"
SHAPES = {
    "background": f"sh -c '{LEAF}' &",
    "background without pipe": f"sh -c '{LEAF}' {QUIET} &",
    "double fork": f"( ( sh -c '{LEAF}' & ) & )",
    "setsid": f"setsid sh -c '{LEAF}' &",
    "setsid and fork": f"setsid -f sh -c '{LEAF}' {QUIET}",
    "ignores SIGTERM": f"sh -c 'trap \"\" TERM; {LEAF}' &",
    "ignores SIGTERM in a new session": f"setsid -f sh -c 'trap \"\" TERM; {LEAF}' {QUIET}",
    "scrubbed environment": f"env -i /bin/sh -c '{LEAF}' &",
    "scrubbed daemon, a leader": f"env -i /usr/bin/setsid -f /bin/sh -c '{LEAF}' {QUIET}",
    "scrubbed daemon, forked twice": f"( env -i /usr/bin/setsid /bin/sh -c '( {LEAF} ) & exit' {QUIET} & )",
    "scrubbed daemon that ignores SIGTERM": f"env -i /usr/bin/setsid -f /bin/sh -c 'trap \"\" TERM; {LEAF}' {QUIET}",
    "daemon of a daemon": f"setsid -f env -i /bin/sh -c '/usr/bin/setsid -f sh -c \"{LEAF}\"; sleep {{tag}}' {QUIET}",
    "stopped": "sh -c 'echo $$ >> {witness}; kill -STOP $$; exec sleep {tag}' &",
    "respawning": f"sh -c 'trap \"{RESPAWN}\" TERM; echo $$ >> {{witness}}; while :; do sleep {{tag}}; done' &",
}
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


class Garden:
    """A place where a run plants processes."""

    def __init__(self, folder: Path) -> None:
        self.witness = folder / "witness"
        self.tag = f"600.{int(unique()[:12], 16)}"

    def fill(self, text: str) -> str:
        return text.replace("{witness}", str(self.witness)).replace("{tag}", self.tag)

    def pids(self) -> list[int]:
        return pids_in(self.witness)

    def assert_empty(self) -> None:
        assert [pid for pid in self.pids() if is_alive(pid)] == []
        assert survivors(self.tag) == []
        assert zombies() == []


@pytest.fixture
def garden(tmp_path: Path) -> Iterator[Garden]:
    garden = Garden(tmp_path)
    yield garden
    for pid in garden.pids():
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


async def cancel_performing(work: Work, garden: Garden, *, times: int = 1, count: int = 1) -> None:
    """Cancel the run as soon as its processes are there; it returns when they are not."""
    task = asyncio.create_task(perform(work))
    await until(lambda: len(garden.pids()) >= count)
    assert survivors(garden.tag)
    for _ in range(times):
        task.cancel()
        await anyio.sleep(0.01)
    with pytest.raises(asyncio.CancelledError):
        await task


@shapes
async def test_no_descendant_is_left_when_a_run_is_cancelled(shape: str, garden: Garden) -> None:
    """No descendant of a run survives cancel."""
    await cancel_performing(script(garden.fill(f"{shape}\nsleep {{tag}}")), garden)
    garden.assert_empty()


@shapes
async def test_no_descendant_is_left_when_the_main_child_exits(shape: str, garden: Garden) -> None:
    text = garden.fill(f"{shape}\nwhile ! test -s {{witness}}; do sleep 0.01; done; exit 3")
    with anyio.fail_after(10):
        result, _ = await perform(script(text))
    assert (result.outcome.state, result.outcome.exit_code) == (RunState.FAILED, 3)
    assert len(garden.pids()) >= 1
    garden.assert_empty()


@shapes
async def test_no_descendant_is_left_when_the_main_child_exits_at_once(shape: str, garden: Garden) -> None:
    for _ in range(20 if IS_LONG else 1):
        result, _ = await perform(script(garden.fill(shape)))
        assert result.outcome.exit_code == 0
        garden.assert_empty()


@shapes
async def test_no_descendant_is_left_when_the_time_is_up(shape: str, garden: Garden) -> None:
    """timeout: SIGTERM to the whole tree, 10 s, SIGKILL, confirmed gone."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await perform(script(garden.fill(f"{shape}\nsleep {{tag}}")))
    garden.assert_empty()


async def test_all_shapes_end_together_when_one_run_has_them_all(garden: Garden) -> None:
    text = "\n".join([*SHAPES.values(), "sleep {tag}"])
    await cancel_performing(script(garden.fill(text)), garden, count=len(SHAPES))
    garden.assert_empty()


@pytest.mark.parametrize("times", [2, 5])
async def test_tree_is_gone_when_a_run_is_cancelled_again_and_again(times: int, garden: Garden) -> None:
    """Cancelling ``perform`` ends the work, for certain, before it returns."""
    text = garden.fill(f"trap '' TERM\n{SHAPES['ignores SIGTERM']}\nwhile :; do sleep {{tag}}; done")
    await cancel_performing(script(text), garden, times=times)
    garden.assert_empty()


@pytest.mark.parametrize("after", [step / 1000 for step in range(0, 24, 1 if IS_LONG else 4)])
async def test_nothing_is_left_when_a_run_is_cancelled_while_it_starts(after: float, garden: Garden) -> None:
    shape = SHAPES["scrubbed daemon, a leader"]
    task = asyncio.create_task(perform(script(garden.fill(f"{shape}\nsleep {{tag}}"))))
    await anyio.sleep(after)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    garden.assert_empty()


def test_tree_is_gone_when_the_event_loop_itself_is_torn_down(garden: Garden) -> None:
    async def crash() -> None:
        task = asyncio.create_task(perform(script(garden.fill(f"{SHAPES['setsid']}\nsleep {{tag}}"))))
        await until(garden.pids)
        assert not task.done()
        raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(crash())
    garden.assert_empty()


async def test_child_may_tidy_up_when_it_is_ended(garden: Garden, tmp_path: Path) -> None:
    tidied = tmp_path / "tidied"
    tidy = f"trap 'sleep 0.05; echo yes > {tidied}; exit' TERM"
    text = f"{tidy}; echo $$ >> {{witness}}; while :; do sleep 0.01; done"
    task = asyncio.create_task(perform(script(garden.fill(text))))
    await until(garden.pids)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tidied.read_text() == "yes\n"


@pytest.mark.parametrize("grace", [0.2, 0.6])
async def test_grace_is_as_long_as_told_when_a_child_ignores_sigterm(grace: float, garden: Garden) -> None:
    work = script(garden.fill(f"trap '' TERM; {LEAF}"))
    task = asyncio.create_task(Command(grace=grace).perform(work, make_output(work, Shelf()), yes))
    await until(garden.pids)
    begun = anyio.current_time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert grace <= anyio.current_time() - begun < grace + 2
    garden.assert_empty()


async def test_end_comes_at_once_when_the_tree_listens(garden: Garden) -> None:
    work = script(garden.fill(f"{SHAPES['setsid']}\nsleep {{tag}}"))
    task = asyncio.create_task(Command(grace=10).perform(work, make_output(work, Shelf()), yes))
    await until(garden.pids)
    begun = anyio.current_time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert anyio.current_time() - begun < 3
    garden.assert_empty()


@pytest.mark.parametrize("how", ["sleep {tag} &", "setsid sleep {tag} &", "yes {tag} &"])
async def test_run_ends_when_a_child_keeps_the_pipe_open(how: str, garden: Garden) -> None:
    """Nothing hangs on a pipe that someone else holds."""
    with anyio.fail_after(10):
        result, shelf = await perform(script(garden.fill(f"echo done; {how}")))
    assert result.outcome.state == RunState.SUCCEEDED
    assert shelf.text().startswith("done\n")
    garden.assert_empty()


async def test_run_ends_when_the_pipe_is_held_from_outside_the_tree(tmp_path: Path) -> None:
    """A program may hand its descriptors to a server, as tmux does; the server is not the run's."""
    address = tmp_path / "socket"
    take = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); c = s.accept()[0]; "
        "print(socket.recv_fds(c, 1, 1)[1], flush=True); c.send(b'x'); sys.stdin.read()"
    )
    give = (
        "import socket, sys; c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1]); "
        "print('given', flush=True); socket.send_fds(c, [b'x'], [1]); c.recv(1)"
    )
    keeper = subprocess.Popen(
        [sys.executable, "-c", take, str(address)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        await until(address.exists)
        await anyio.sleep(0.1)
        before = psutil.Process().num_fds()
        with anyio.fail_after(10):
            result, shelf = await perform(script(f'{sys.executable} -c "{give}" {address}'))
        assert psutil.Process().num_fds() == before
        assert (result.outcome.exit_code, shelf.text()) == (0, "given\n")
        assert is_alive(keeper.pid)
    finally:
        keeper.communicate()


async def test_other_children_live_on_when_a_run_ends(garden: Garden) -> None:
    """What the embedding program starts, in whatever session, is none of a run's business."""
    others = [
        subprocess.Popen(["sleep", "600"], start_new_session=is_leader, env=environment)
        for is_leader in (False, True)
        for environment in (None, {})
    ]
    dead = subprocess.Popen(["false"], start_new_session=True)
    try:
        await until(lambda: psutil.Process(dead.pid).status() == psutil.STATUS_ZOMBIE)
        two = [asyncio.create_task(perform(script(garden.fill(f"{SHAPES['setsid']}\nsleep {{tag}}")))) for _ in "ab"]
        await until(lambda: len(garden.pids()) == 2)
        await perform(script("exit 0"))
        assert [other.poll() for other in others] == [None] * 4
        assert [is_alive(pid) for pid in garden.pids()] == [True] * 2
        two[0].cancel()
        await asyncio.wait([two[0]])
        assert sorted(is_alive(pid) for pid in garden.pids()) == [False, True]
        two[1].cancel()
        await asyncio.wait(two)
        assert dead.wait() == 1
    finally:
        for other in others:
            other.kill()
            other.wait()
    garden.assert_empty()


async def test_number_given_away_is_left_alone_when_the_child_is_long_gone() -> None:
    """A process's identity is its number and its start, never the number alone."""
    with subprocess.Popen(["sleep", "600"]) as child:
        gone = psutil.Process(child.pid)
        child.kill()
    stranger = subprocess.Popen(["sh", "-c", "sleep 600 & wait"], start_new_session=True)
    try:
        await until(lambda: psutil.Process(stranger.pid).children())
        tree = Tree(stranger.pid, run_id="run_gone", token=str(1), mark=new_mark())
        for former in (gone, None):
            tree._root = former
            assert tree.members() == []
        assert await tree.end(grace=GRACE)
        assert stranger.poll() is None
    finally:
        os.killpg(stranger.pid, signal.SIGKILL)
        stranger.wait()


async def test_event_loop_goes_on_when_a_look_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ending one run delays nothing else: a look reads every process there is."""
    gate, answers = threading.Event(), []
    monkeypatch.setattr(Tree, "members", lambda _: answers.append(gate.wait(10)) or [])
    asyncio.get_running_loop().call_later(0.05, gate.set)
    assert await Tree(os.getpid(), run_id="run_1", token=str(1)).end(grace=GRACE)
    assert answers == [True, True]


@pytest.mark.parametrize(
    ("text", "name", "is_root_ended"),
    [
        ("env -i /usr/bin/setsid /bin/sh -c '{leaf}' & wait", "run_other", False),
        ("env -i /bin/sh -c '{leaf}' &", "run_other", True),
        ("ROTA_RUN_ID=run_{tag} ROTA_FENCING_TOKEN=7 setsid sh -c '{leaf}' &", "run_{tag}", True),
    ],
    ids=["descent", "session", "name"],
)
async def test_each_way_finds_its_own_when_no_other_would(
    text: str, name: str, is_root_ended: bool, garden: Garden
) -> None:
    """Process group, subreaper, tree walk."""
    root = subprocess.Popen(["sh", "-c", garden.fill(text.replace("{leaf}", LEAF))], start_new_session=True)
    tree = Tree(root.pid, run_id=garden.fill(name), token=str(7), mark=0)
    await until(lambda: garden.pids() and (root.poll() is not None) == is_root_ended)
    (leaf,) = garden.pids()
    assert leaf in [process.pid for process in tree.members()]
    assert await tree.end(grace=GRACE)
    assert not is_alive(leaf)
    root.wait()
    if psutil.pid_exists(leaf) and psutil.Process(leaf).ppid() == os.getpid():
        os.waitpid(leaf, 0)


async def test_run_of_a_killed_engine_is_ended_when_recovery_asks(garden: Garden) -> None:
    """No descendant of a run survives a scheduler restart."""
    code = (
        "import asyncio, sys; from tests.actions.bench import perform, script; "
        "asyncio.run(perform(script(sys.argv[1], run_id=sys.argv[2])))"
    )
    text, run_id = garden.fill("\n".join([*SHAPES.values(), "sleep {tag}"])), f"run_{unique()}"
    engine = subprocess.Popen([sys.executable, "-c", code, text, run_id], cwd=ROOT)
    await until(lambda: len(garden.pids()) >= len(SHAPES))
    engine.kill()
    engine.wait()
    assert len(survivors(garden.tag)) >= len(SHAPES)
    count = await asyncio.to_thread(end_named, run_id, "7")
    assert count >= len(SHAPES)
    assert survivors(garden.tag) == []
    assert end_named(run_id, "7") == 0
    for pid in zombies():
        # Here they are children of this process; a real restart leaves them to init.
        os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("environment", "is_named"),
    [
        ({"ROTA_RUN_ID": "run_a1", "ROTA_FENCING_TOKEN": "7"}, True),
        ({"ROTA_RUN_ID": "run_a1", "ROTA_FENCING_TOKEN": "7", "X": "y"}, True),
        ({"ROTA_RUN_ID": "run_a1", "ROTA_FENCING_TOKEN": "8"}, False),
        ({"ROTA_RUN_ID": "run_a1", "ROTA_FENCING_TOKEN": "77"}, False),
        ({"ROTA_RUN_ID": "run_a", "ROTA_FENCING_TOKEN": "7"}, False),
        ({"ROTA_RUN_ID": "run_a12", "ROTA_FENCING_TOKEN": "7"}, False),
        ({"MY_ROTA_RUN_ID": "run_a1", "ROTA_FENCING_TOKEN": "7"}, False),
        ({"ROTA_RUN_ID": "run_a1"}, False),
        ({"BOTH": "ROTA_RUN_ID=run_a1 ROTA_FENCING_TOKEN=7"}, False),
        ({}, False),
    ],
)
def test_only_what_carries_the_name_is_ended_when_recovery_asks(environment: dict[str, str], is_named: bool) -> None:
    own = unique()
    mine = {name: value.replace("run_a", f"run_{own}") for name, value in environment.items()}
    child = subprocess.Popen(["/bin/sleep", "600"], env=mine)
    try:
        assert end_named(f"run_{own}1", "7") == int(is_named)
        assert child.poll() == (-signal.SIGKILL if is_named else None)
    finally:
        child.kill()
        child.wait()


def test_nobody_is_ended_when_the_name_is_our_own() -> None:
    """A tool that a run has called may itself look for leftovers."""
    code = "from rota.actions.tree import end_named; print(end_named('run_own', '7', patience=0))"
    environment = {**os.environ, "ROTA_RUN_ID": "run_own", "ROTA_FENCING_TOKEN": "7"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_marks_differ_when_runs_live_at_the_same_time() -> None:
    marks = [new_mark() for _ in range(1_000)]
    assert None not in marks
    assert len(set(marks)) == 1_000
