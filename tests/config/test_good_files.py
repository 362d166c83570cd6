"""Fleet files that are right: every key, inheritance, variables, merges, and the words of YAML 1.2."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import msgspec
import pytest

from rota.config.fleet import FleetAgent, define_job
from rota.core.backoff import Ladder, Multiply, NoBackoff, Retry
from rota.core.calendar import Daily, MonthDay, Monthly, NthWeekday, Weekday, Weekly
from rota.core.catchup import CatchUp, LateRules
from rota.core.chain import After, ChainOn, ChainPass
from rota.core.definition import CommandAction, Definition, HttpAction, PythonAction
from rota.core.job import Timing
from rota.core.liveness import OnSilence
from rota.core.overlap import Overlap, OverlapRules
from rota.core.quiet import QuietDates, QuietDay, QuietHours, QuietPolicy
from rota.core.schedule import Chat, Cron, Every, First, Manual, Once, Schedule, Webhook
from rota.core.settlement import SettleRules
from tests.config.surroundings import AROUND, NOW, job_of, load

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)

WHOLE = """
fleet: {name: home, description: Mine., timezone: Europe/Berlin}
engine:
  poll: 20s
  beat: 10s
  dead_after: 5
  scan: 4s
  snapshot: 50s
  fire_batch: 100
  claim_batch: 200
  max_concurrent: 8
  max_jitter: 0
  jitter_threshold: 0
  drain: 1m
pools: {local: 2, gpu: 0}
jobs:
  all:
    description: Everything.
    cron: "0 2 * * *"
    timezone: UTC
    prompt: Do it.
    command: [./run.sh, 5, 0644, 1.10, on, "no"]
    cwd: sub
    env: {A: 1, B: "x"}
    stdin: hello
    shell: true
    pool: gpu
    concurrency_key: repo
    overlap: {policy: queue, max_waiting: 3}
    start_within: 0
    catch_up: all
    catch_up_window: 2d
    catch_up_limit: 0
    retry: {max: 2, first: 1m, factor: 1.5, cap: 2h, on_lost: 1, on_interrupted: 3}
    pause_after: 5
    notify_after: 2
    backoff: [30s, 1m]
    quiet: [22:00-07:00, sat, 2026-12-24..2026-12-26]
    quiet_policy: defer
    from: 2026-01-01T00:00
    until: 2026-12-31T00:00+01:00
    max_runs: 10
    stagger: 2m
    jitter: 5
    min_interval: 1m
    max_interval: 1h
    queue_timeout: 2h
    timeout: none
    silence_after: 5m
    on_silence: fail
    enabled: false
    renamed_from: old
"""


def test_every_key_is_read() -> None:
    """SPEC 2 to 6, and 7: "**Settings** (`engine:` in the file …)"."""
    fleet = load(WHOLE)
    assert (fleet.name, fleet.description, fleet.timezone) == ("home", "Mine.", "Europe/Berlin")
    assert fleet.settings == {
        "poll": timedelta(seconds=20),
        "beat": timedelta(seconds=10),
        "dead_after": 5,
        "scan": timedelta(seconds=4),
        "snapshot": timedelta(seconds=50),
        "fire_batch": 100,
        "claim_batch": 200,
        "max_concurrent": 8,
        "max_jitter": timedelta(),
        "jitter_threshold": 0,
        "drain": MINUTE,
    }
    assert fleet.pools == {"local": 2, "gpu": 0}
    assert fleet.warnings == ()
    (job,) = fleet.jobs
    assert (job.line, job.renamed_from, job.is_enabled) == (17, "old", False)
    assert job.definition == Definition(
        name="all",
        description="Everything.",
        timing=Timing(
            schedule=Cron("0 2 * * *"),
            zone="UTC",
            begins_at=datetime(2026, 1, 1, tzinfo=UTC),
            until=datetime(2026, 12, 30, 23, tzinfo=UTC),
            max_runs=10,
            quiet=(
                QuietHours(time(22), time(7)),
                QuietDay(Weekday.SAT),
                QuietDates(date(2026, 12, 24), date(2026, 12, 26)),
            ),
            quiet_policy=QuietPolicy.DEFER,
            stagger=2 * MINUTE,
            jitter=5.0,
            min_interval=MINUTE,
            max_interval=HOUR,
            backoff=Ladder((timedelta(seconds=30), MINUTE)),
        ),
        action=CommandAction(  # noqa: S604
            argv=("./run.sh", "5", "0644", "1.10", "on", "no"),
            cwd="/srv/fleet/sub",
            env={"A": "1", "B": "x"},
            stdin="hello",
            shell=True,
        ),
        prompt="Do it.",
        pool="gpu",
        concurrency_key="repo",
        overlap=OverlapRules(Overlap.QUEUE, 3),
        late=LateRules(timedelta(), CatchUp.ALL, timedelta(days=2), 0),
        settle=SettleRules(retry=Retry(2, MINUTE, 1.5, 2 * HOUR, 1, 3), pause_after=5, notify_after=2),
        queue_timeout=2 * HOUR,
        timeout=None,
        silence_after=5 * MINUTE,
        on_silence=OnSilence.FAIL,
    )


@pytest.mark.parametrize(
    ("words", "schedule"),
    [
        ("once: {at: 2026-12-01T09:00, keep: false}", Once(datetime(2026, 12, 1, 9), keep=False)),
        ("once: {in: 20m}", Once(NOW + 20 * MINUTE)),
        ("at: 2026-12-01T09:00", Once(datetime(2026, 12, 1, 9))),
        ("at: 2026-12-01T09:00+01:00, keep: false", Once(datetime(2026, 12, 1, 8, tzinfo=UTC), keep=False)),
        ("in: 20m, keep: true", Once(NOW + 20 * MINUTE)),
        ("every: 1h30m", Every(90 * MINUTE)),
        ("every: 5m, first: after", Every(5 * MINUTE, First.AFTER)),
        ('cron: "@daily"', Cron("@daily")),
        ('cron: " 0  9 * * * "', Cron("0 9 * * *")),
        ("daily: 09:00", Daily(time(9))),
        ("weekly: {on: [mon, Thursday], at: 9:30}", Weekly((Weekday.MON, Weekday.THU), time(9, 30))),
        ('weekly: {on: "mon,thu", at: "09:00:30"}', Weekly((Weekday.MON, Weekday.THU), time(9, 0, 30))),
        ("monthly: {on: 31, at: 09:00}", Monthly(MonthDay(31), time(9))),
        ("monthly: {on: last fri, at: 09:00}", Monthly(NthWeekday(-1, Weekday.FRI), time(9))),
        ("manual: true", Manual()),
        ("webhook: true", Webhook()),
        ("chat: true", Chat()),
        ("after: build", After("build")),
        (
            "after: {job: build, on: failure, when: oh no, delay: 5m, pass: output}",
            After("build", ChainOn.FAILURE, "oh no", 5 * MINUTE, ChainPass.OUTPUT),
        ),
        ('schedule: "weekly mon,thu 09:00"', Weekly((Weekday.MON, Weekday.THU), time(9))),
        ("schedule: 0 9 * * 1-5", Cron("0 9 * * 1-5")),
    ],
)
def test_a_schedule_is_read_in_each_of_its_forms(words: str, schedule: Schedule) -> None:
    assert job_of(f"jobs:\n  a: {{{words}, command: [x]}}", "a").timing.schedule == schedule


@pytest.mark.parametrize(
    ("words", "action"),
    [
        ("command: [./x, --all]", CommandAction(argv=("./x", "--all"), cwd="/srv/fleet")),
        ("command: ./x --all 'a b'", CommandAction(argv=("./x", "--all", "a b"), cwd="/srv/fleet")),
        ("command: x | y, shell: true", CommandAction(argv=("x | y",), cwd="/srv/fleet", shell=True)),  # noqa: S604
        ("command: [x y]", CommandAction(argv=("x y",), cwd="/srv/fleet")),
        ("command: [x], cwd: ~", CommandAction(argv=("x",), cwd="/srv/fleet")),
        ('command: [x], cwd: "~"', CommandAction(argv=("x",), cwd="/home/me")),
        ("command: [x], cwd: ~/src", CommandAction(argv=("x",), cwd="/home/me/src")),
        ("command: [x], cwd: ./a/../b", CommandAction(argv=("x",), cwd="/srv/fleet/a/../b")),
        ("command: [x], cwd: /etc", CommandAction(argv=("x",), cwd="/etc")),
        ("http: https://example.org", HttpAction(url="https://example.org")),
        (
            "http: {url: https://example.org, method: post, headers: {N: 1}, body: '', expect: 204}",
            HttpAction(url="https://example.org", method="POST", headers={"N": "1"}, body="", expect=(204,)),
        ),
        ("python: reports.nightly:run", PythonAction(target="reports.nightly:run")),
    ],
)
def test_an_action_is_read_in_each_of_its_forms(words: str, action: object) -> None:
    assert job_of(f"jobs:\n  a: {{manual: true, {words}}}", "a").action == action


def test_what_is_not_said_has_the_defaults_of_action_and_schedule() -> None:
    """SPEC 3: "the multiplier for intervals … none for the rest"; 5: "`command` 1h, … `http` 30s"; 6: "1 for GET"."""
    ping = job_of("jobs:\n  a: {every: 5m, http: https://example.org}", "a")
    assert (ping.pool, ping.timeout, ping.timing.backoff) == ("remote", timedelta(seconds=30), Multiply())
    assert ping.settle.retry == Retry(on_lost=1, on_interrupted=1)
    once = job_of("jobs:\n  a: {at: 2026-12-01T09:00, command: x, retry: {max: 1}}", "a")
    assert (once.late.catch_up, once.timing.backoff, once.settle.retry) == (CatchUp.LATEST, NoBackoff(), Retry(max=1))


@pytest.mark.parametrize(
    ("word", "backoff"),
    [("none", NoBackoff()), ("multiply", Multiply()), ("ladder", Ladder()), ("1m", Ladder((MINUTE,)))],
)
def test_a_backoff_is_one_word_or_a_list(word: str, backoff: object) -> None:
    assert job_of(f"jobs:\n  a: {{manual: true, command: x, backoff: {word}}}", "a").timing.backoff == backoff


INHERITED = """
fleet: {timezone: Europe/Berlin}
defaults:
  timeout: 30m
  retry: {max: 2, cap: 5m}
  env: {LANG: C, LEVEL: low}
  quiet: sat
  pause_after: 3
agents:
  coder:
    description: Writes code.
    max_concurrent: 2
    timezone: Asia/Tokyo
    cwd: ~/app
    env: {LEVEL: high, KEY: "env:CODER_KEY"}
    command: [./agent.sh]
    prompt: Be brief.
    retry: {max: 4}
    schedules:
      plain: {manual: true}
      own:
        manual: true
        timezone: UTC
        env: {LANG: null, MORE: yes}
        retry: {cap: null, first: 1m}
        timeout: null
        quiet: null
        prompt: null
        pause_after: null
      call: {manual: true, http: https://example.org}
  silent: {}
  caller:
    http: {url: https://example.org/a, method: POST, headers: {A: "1", B: "2"}}
    schedules:
      other: {manual: true, http: {url: https://example.org/b, headers: {B: null, C: "3"}}}
jobs:
  alone: {manual: true, command: x}
"""


def test_jobs_inherit_from_defaults_and_agent_key_by_key_where_it_is_a_mapping() -> None:
    plain = job_of(INHERITED, "coder/plain")
    assert plain.agent == "coder"
    assert plain.description == ""
    assert plain.timing.zone == "Asia/Tokyo"
    assert plain.timing.quiet == (QuietDay(Weekday.SAT),)
    assert plain.prompt == "Be brief."
    assert plain.timeout == 30 * MINUTE
    assert plain.settle == SettleRules(retry=Retry(max=4, cap=5 * MINUTE), pause_after=3)
    assert plain.action == CommandAction(
        argv=("./agent.sh",), cwd="/home/me/app", env={"LANG": "C", "LEVEL": "high", "KEY": "env:CODER_KEY"}
    )


def test_null_takes_away_what_would_be_inherited() -> None:
    own = job_of(INHERITED, "coder/own")
    assert own.timing.zone == "UTC"
    assert own.timing.quiet == ()
    assert (own.prompt, own.timeout) == (None, HOUR)
    assert own.settle == SettleRules(retry=Retry(max=4, first=MINUTE))
    assert isinstance(own.action, CommandAction)
    assert own.action.env == {"LEVEL": "high", "KEY": "env:CODER_KEY", "MORE": "yes"}


def test_an_own_action_replaces_the_inherited_one() -> None:
    assert job_of(INHERITED, "coder/call").action == HttpAction(url="https://example.org")
    assert job_of(INHERITED, "caller/other").action == HttpAction(
        url="https://example.org/b", headers={"A": "1", "C": "3"}
    )


def test_agents_are_read_with_their_limits() -> None:
    fleet = load(INHERITED)
    assert fleet.agents == (
        FleetAgent("coder", 10, "Writes code.", 2, "Asia/Tokyo"),
        FleetAgent("silent", 31),
        FleetAgent("caller", 32),
    )
    assert [(job.definition.name, job.line) for job in fleet.jobs] == [
        ("coder/plain", 20),
        ("coder/own", 21),
        ("coder/call", 30),
        ("caller/other", 35),
        ("alone", 37),
    ]


def test_the_zone_is_the_machines_when_nobody_names_one() -> None:
    """SPEC 2: "every job has an IANA zone (own, else agent's, else fleet's, else the machine's)"."""
    assert job_of(INHERITED, "alone").timing.zone == "Europe/Berlin"
    fleet = load("jobs:\n  a: {manual: true, command: x}")
    assert (fleet.name, fleet.timezone, fleet.jobs[0].definition.timing.zone) == ("main", AROUND.zone, AROUND.zone)


def test_wall_times_of_a_job_are_read_in_its_zone() -> None:
    timing = job_of(
        "jobs:\n  a: {manual: true, command: x, from: 2026-07-01T09:00, timezone: Europe/Berlin}", "a"
    ).timing
    assert timing.begins_at == datetime(2026, 7, 1, 7, tzinfo=UTC)


def test_overlap_is_replaced_as_a_whole() -> None:
    text = "defaults: {overlap: {policy: queue, max_waiting: 5}}\njobs:\n"
    text += "  a: {manual: true, command: x}\n  b: {manual: true, command: x, overlap: {policy: replace}}\n"
    text += "  c: {manual: true, command: x, overlap: allow}\n  d: {manual: true, command: x, max_waiting: 2}\n"
    assert [job.definition.overlap for job in load(text).jobs] == [
        OverlapRules(Overlap.QUEUE, 5),
        OverlapRules(Overlap.REPLACE, 1),
        OverlapRules(Overlap.ALLOW, 5),
        OverlapRules(Overlap.QUEUE, 2),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${FOLDER}", "data"),
        ("a${FOLDER}b${COUNT}", "adatab4"),
        ("${NOBODY:-x y}", "x y"),
        ("${NOBODY:-}", ""),
        ("${EMPTY:-x}", "x"),
        ("${EMPTY}", ""),
        ("$${FOLDER}", "${FOLDER}"),
        ("$$${FOLDER}", "$${FOLDER}"),
        ("$FOLDER $ 5$", "$FOLDER $ 5$"),
        ("${LOUD}", "true"),
    ],
)
def test_variables_are_put_into_text(text: str, expected: str) -> None:
    job = job_of(f'jobs:\n  a: {{manual: true, command: [x, "{text}"], description: "{text}"}}', "a")
    assert isinstance(job.action, CommandAction)
    assert (job.action.argv[1], job.description) == (expected, expected)


def test_a_variable_may_hold_a_number_or_a_truth() -> None:
    text = "jobs:\n  a:\n    manual: true\n    command: x\n    max_runs: ${COUNT}\n    shell: ${LOUD}\n"
    text += '    max_waiting: "${COUNT}"\n    retry: {factor: "${COUNT}.5"}\n'
    job = job_of(text, "a")
    assert (job.timing.max_runs, job.overlap.max_waiting, job.settle.retry.factor) == (4, 4, 4.5)
    assert isinstance(job.action, CommandAction)
    assert job.action.shell


def test_a_secret_that_would_be_kept_as_text_is_warned_of() -> None:
    text = "jobs:\n  a:\n    manual: true\n    command: [x]\n    env:\n      A: ${CODER_KEY}\n      B: env:CODER_KEY\n"
    (warning,) = load(text).warnings
    assert (warning.line, warning.column, warning.path) == (6, 10, "jobs.a.env.A")
    assert "env:CODER_KEY" in warning.cure
    assert load("jobs:\n  a: {manual: true, command: [x, '${CODER_KEY}']}").warnings == ()


def test_references_to_secrets_stay_as_they_are() -> None:
    job = job_of("jobs:\n  a: {manual: true, command: x, env: {A: 'env:CODER_KEY', B: 'file:~/key'}}", "a")
    assert isinstance(job.action, CommandAction)
    assert job.action.env == {"A": "env:CODER_KEY", "B": "file:~/key"}


def test_anchors_aliases_and_merges_are_read() -> None:
    text = """
jobs:
  base: &base
    manual: true
    command: &command [x, y]
    env: &env {A: "1"}
    timeout: 5m
  merged:
    <<: *base
    timeout: 6m
  listed:
    <<: [{timeout: 7m}, *base]
    env: {<<: *env, B: "2"}
  aliased: {every: 5m, command: *command, env: *env}
"""
    jobs = {job.definition.name: job.definition for job in load(text).jobs}
    assert msgspec.structs.replace(jobs["merged"], name="base", timeout=5 * MINUTE) == jobs["base"]
    assert jobs["listed"].timeout == 7 * MINUTE
    assert jobs["listed"].action == CommandAction(argv=("x", "y"), cwd="/srv/fleet", env={"A": "1", "B": "2"})
    assert jobs["aliased"].action == jobs["base"].action


@pytest.mark.parametrize(
    ("word", "text"),
    [
        *((word, word) for word in ("on", "off", "yes", "No", "y", "09:00", "1:30", "2026-12-24", "1_000", "0b1", "=")),
        *((word, word) for word in ("0644", "0o17", "0x1F", "1e3", "1.10", "+5", ".5", "!!str 5"[6:], "1" * 500)),
        ('"null"', "null"),
        ("'~'", "~"),
        ("!!str true", "true"),
        ("! 5", "5"),
        ("|\n        a\n        b", "a\nb\n"),
        (">\n        a\n        b", "a b\n"),
    ],
)
def test_words_are_those_of_yaml_1_2_and_numbers_are_text_as_written(word: str, text: str) -> None:
    job = job_of(f"jobs:\n  a:\n    manual: true\n    command: x\n    description:\n      {word}\n", "a")
    assert job.description == text


def test_keys_are_text_even_if_they_look_like_truths() -> None:
    job = job_of("jobs:\n  on: {weekly: {on: [mon], at: 09:00}, command: x, env: {no: a, 1: b, null: c}}", "on")
    assert isinstance(job.action, CommandAction)
    assert job.action.env == {"no": "a", "1": "b", "null": "c"}


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffjobs: {}\n",
        "%YAML 1.2\n---\njobs: {}\n...\n",
        "jobs:\n",
        "jobs: null\nagents: ~\nfleet:\nengine:\npools:\ndefaults:\n",
        "jobs: {}\r\nagents: {}\r\n",
        "# only a name\nfleet: {name: x}\n",
    ],
)
def test_a_file_without_jobs_is_a_fleet_without_jobs(text: str) -> None:
    assert load(text).jobs == ()


@pytest.mark.parametrize(
    ("job", "line", "words", "cure"),
    [
        ("{after: buidl, command: x}", 3, 'no job "buidl"', 'Did you mean "build"'),
        ("{after: elsewhere, command: x}", 3, 'no job "elsewhere"', "elsewhere"),
        ('{cron: "0 9 1 * mon", command: x}', 3, "a day that matches either one counts", ""),
        ('{schedule: "0 9 1 * mon", command: x}', 3, "a day that matches either one counts", ""),
        ("{manual: true, command: x, pool: gpuu}", 3, 'no pool "gpuu"', 'Did you mean "gpu"'),
        ("{manual: true, command: x, pool: other}", 3, 'no pool "other"', "rota pool set"),
    ],
)
def test_a_person_is_warned_of_what_may_surprise(job: str, line: int, words: str, cure: str) -> None:
    text = f"jobs:\n  build: {{manual: true, command: x}}\n  a: {job}\npools: {{gpu: 1}}\n"
    (warning,) = load(text).warnings
    assert warning.line == line
    assert warning.path.startswith("jobs.a.")
    assert words in warning.message
    assert cure in warning.cure


@pytest.mark.parametrize(
    ("job", "wait"),
    [
        ("{at: 2026-12-01T09:00, command: x}", None),
        ("{once: {at: 2026-12-01T09:00}, command: x}", None),
        ("{every: 5m, command: x}", None),
    ],
)
def test_a_wait_is_kept_as_it_is_written(job: str, wait: str | None) -> None:
    """So that a later reading of the same words does not mean another time."""
    (only,) = load(f"jobs:\n  a: {job}\n").jobs
    assert only.wait == wait


@pytest.mark.parametrize(
    ("schedule", "wait"),
    [
        ("in: 5m", "5m"),
        ("once: {in: 1h}", "1h"),
        ("schedule: in 5m", "5m"),
        ("at: 2026-12-01T09:00", None),
        ("once: {at: 2026-12-01T09:00}", None),
        ("schedule: once 2026-12-01T09:00", None),
        ("every: 5m", None),
    ],
)
def test_how_long_from_now_is_kept_as_it_is_written(schedule: str, wait: str | None) -> None:
    (job,) = load(f"jobs:\n  a: {{{schedule}, command: x}}\n").jobs
    assert job.wait == wait


def test_a_chain_that_is_too_long_is_warned_of_where_it_becomes_so() -> None:
    """SPEC 6: "Depth limit 10"."""
    lines = "".join(f"  job-{n}: {{after: job-{n - 1}, command: x}}\n" for n in range(12, 0, -1))
    (warning,) = load(f"jobs:\n  job-0: {{manual: true, command: x}}\n{lines}").warnings
    assert warning.path == "jobs.job-11.after"


def test_agents_and_defaults_switch_jobs_off() -> None:
    text = "defaults: {enabled: false}\nagents:\n  a: {enabled: true, command: x, schedules: {b: {manual: true}}}\n"
    text += "jobs:\n  c: {manual: true, command: x}\n  d: {manual: true, command: x, enabled: true}\n"
    assert [job.is_enabled for job in load(text).jobs] == [True, False, True]


def test_one_job_from_json_is_taken_as_it_is() -> None:
    words = {"every": "5m", "command": "x ${HOME}", "cwd": "~/a", "timeout": None}
    definition, warnings = define_job(words, name="a/b", agent="a", zone="Asia/Tokyo", now=NOW)
    assert (definition.name, definition.agent, definition.timing.zone) == ("a/b", "a", "Asia/Tokyo")
    assert definition.action == CommandAction(argv=("x", "${HOME}"), cwd="~/a")
    assert warnings == ()
    assert define_job({"cron": "0 9 1 * mon", "command": ["x"]}, name="a", agent=None, zone="UTC", now=NOW)[1]
