"""A job's whole definition: what is assumed, what is refused, and its form in JSON (SPEC sections 2 to 6)."""

from __future__ import annotations

from datetime import time, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.core.action import ActionKind
from rota.core.backoff import Backoff, Ladder, Multiply, NoBackoff, Retry
from rota.core.calendar import Daily
from rota.core.catchup import CatchUp, LateRules
from rota.core.chain import After, ChainOn, ChainPass
from rota.core.definition import (
    Action,
    CommandAction,
    Definition,
    HttpAction,
    PythonAction,
    action_kind,
    check_definition,
    check_name,
    define,
    with_default_backoff,
)
from rota.core.duration import MAX_DURATION
from rota.core.job import Timing
from rota.core.liveness import OnSilence
from rota.core.overlap import Overlap, OverlapRules
from rota.core.schedule import Cron, Every, Manual, Once, Schedule
from rota.core.settlement import SettleRules
from rota.errors import CronParseError, InputError, ScheduleError
from tests.core.states import EVERY_5M, HALF_PAST, HOUR, MINUTE, NOW, TICK
from tests.core.test_governor_properties import spans, timings

ECHO = CommandAction(argv=("/bin/echo", "hello"))
TICKS = HttpAction(url="https://example.org/tick")
RUN = PythonAction(target="reports.nightly:run")
HOURLY = Timing(schedule=Every(HOUR))


def a_job(**fields: object) -> Definition:
    """A job named report that says hello every hour."""
    return define(**({"name": "report", "timing": HOURLY, "action": ECHO} | fields))


def refusal(definition: Definition) -> tuple[str, str, str, str]:
    with pytest.raises(InputError) as caught:
        check_definition(definition)
    return caught.value.field, caught.value.value, caught.value.expected, caught.value.example


@pytest.mark.parametrize(
    ("action", "kind", "pool", "timeout", "repeats"),
    [
        (ECHO, "command", "local", HOUR, 0),
        (TICKS, "http", "remote", timedelta(seconds=30), 1),
        (HttpAction(url="http://a", method="get"), "http", "remote", timedelta(seconds=30), 1),
        (HttpAction(url="http://a", method="POST"), "http", "remote", timedelta(seconds=30), 0),
        (RUN, "python", "inline", None, 0),
    ],
)
def test_the_action_settles_pool_timeout_and_repeats_when_nothing_is_said(
    action: Action, kind: str, pool: str, timeout: timedelta | None, repeats: int
) -> None:
    """SPEC 5: "pool `local` …, `remote` …, `inline`", "`command` 1h, … `http` 30s"; 6: "1 for GET requests"."""
    definition = a_job(action=action)
    assert (definition.pool, definition.timeout) == (pool, timeout)
    assert definition.settle == SettleRules(retry=Retry(on_lost=repeats, on_interrupted=repeats))
    assert action_kind(action) is ActionKind(kind)


@pytest.mark.parametrize(
    ("schedule", "catch_up"),
    [
        (Once(NOW), CatchUp.LATEST),
        (EVERY_5M, CatchUp.SKIP),
        (HALF_PAST, CatchUp.SKIP),
        (Daily(time(9)), CatchUp.SKIP),
        (Manual(), CatchUp.SKIP),
    ],
)
def test_the_schedule_settles_catch_up_when_nothing_is_said(schedule: Schedule, catch_up: CatchUp) -> None:
    """SPEC 4: "`catch_up: skip` (default; `once`: `latest`)"."""
    assert a_job(timing=Timing(schedule=schedule)).late == LateRules(5 * MINUTE, catch_up, 24 * HOUR, 10)


def test_the_rest_is_that_of_the_specification_when_nothing_is_said() -> None:
    """SPEC 4: overlap "`skip` (default)", "`max_waiting`, default 1", "`queue_timeout` (default none"; 5: "(10m)"."""
    assert a_job() == Definition(
        name="report",
        timing=HOURLY,
        action=ECHO,
        agent=None,
        description="",
        prompt=None,
        pool="local",
        concurrency_key=None,
        overlap=OverlapRules(Overlap.SKIP, 1),
        late=LateRules(5 * MINUTE, CatchUp.SKIP, 24 * HOUR, 10),
        settle=SettleRules(retry=Retry(), pause_after=None, notify_after=1),
        queue_timeout=None,
        timeout=HOUR,
        silence_after=10 * MINUTE,
        on_silence=OnSilence.FLAG,
    )


GIVEN: dict[str, object] = {
    "agent": "coder",
    "description": "Says hello.",
    "prompt": "Say hello",
    "pool": "gpu",
    "concurrency_key": "repo-1",
    "overlap": OverlapRules(Overlap.QUEUE, 3),
    "late": LateRules(MINUTE, CatchUp.ALL, HOUR, 2),
    "settle": SettleRules(retry=Retry(max=2), pause_after=5, notify_after=3),
    "queue_timeout": 2 * HOUR,
    "timeout": None,
    "silence_after": MINUTE,
    "on_silence": OnSilence.FAIL,
}


@pytest.mark.parametrize("action", [ECHO, TICKS, RUN])
def test_no_default_is_taken_when_everything_is_given(action: Action) -> None:
    timing = Timing(schedule=Once(NOW))
    expected = Definition(name="hello", timing=timing, action=action, **GIVEN)
    assert define("hello", timing, action, **GIVEN) == expected
    assert set(GIVEN) | {"name", "timing", "action"} == set(Definition.__struct_fields__)
    assert check_definition(expected) == ()


def test_a_field_is_refused_when_no_definition_has_it() -> None:
    with pytest.raises(TypeError, match="colour"):
        a_job(colour="red")


@pytest.mark.parametrize(
    ("schedule", "kind", "backoff"),
    [
        (EVERY_5M, ActionKind.COMMAND, Multiply()),
        (EVERY_5M, ActionKind.AGENT, Multiply()),
        (HALF_PAST, ActionKind.AGENT, Ladder()),
        (Daily(time(9)), ActionKind.CHAT, Ladder()),
        (HALF_PAST, ActionKind.COMMAND, NoBackoff()),
        (Once(NOW), ActionKind.AGENT, NoBackoff()),
    ],
)
def test_backoff_follows_schedule_and_action_when_the_default_is_asked_for(
    schedule: Schedule, kind: ActionKind, backoff: Backoff
) -> None:
    """SPEC 3: "the multiplier for intervals, the ladder for `agent` and `chat` on cron or calendar, none …"."""
    timing = Timing(schedule=schedule, zone="Europe/Berlin", max_runs=3, backoff=Ladder((MINUTE,)))
    assert with_default_backoff(timing, kind) == Timing(
        schedule=schedule, zone="Europe/Berlin", max_runs=3, backoff=backoff
    )


NAMED = ("1-100 letters, digits and . _ / -, beginning with a letter or digit", "nightly-report")


@pytest.mark.parametrize("name", ["a", "7", "Z", "nightly-report", "team/a.b_c-d", "a" * 100, "9/", "a//b"])
def test_a_name_is_accepted_when_it_is_made_of_its_letters(name: str) -> None:
    check_name("name", name)
    assert check_definition(a_job(name=name, pool=name, agent=name)) == ()


@pytest.mark.parametrize(
    "name",
    ["", "a" * 101, "-a", ".a", "_a", "/a", "a b", "a\n", "\na", "a:b", "a\\b", "a\0", "ä", "aä", "٣", "a@b", " a"],
)
@pytest.mark.parametrize("field", ["name", "pool", "agent"])
def test_a_name_is_refused_when_it_has_other_letters(field: str, name: str) -> None:
    assert refusal(a_job(**{field: name})) == (field, name, *NAMED)
    with pytest.raises(ScheduleError) as caught:
        check_name("webhook", name)
    assert str(caught.value) == f'Invalid webhook "{name}": expected {NAMED[0]}. Example: nightly-report'


@given(st.text(st.characters(codec="ascii"), max_size=102))
def test_a_name_is_judged_letter_by_letter_when_it_is_any_text(name: str) -> None:
    is_good = 1 <= len(name) <= 100 and name[0].isalnum() and all(one.isalnum() or one in "._/-" for one in name)
    try:
        check_name("name", name)
    except ScheduleError:
        assert not is_good
    else:
        assert is_good


@pytest.mark.parametrize(
    "action",
    [
        ECHO,
        CommandAction(argv=("true",), cwd="/tmp", env={"A": "1"}, stdin="hello", shell=True),  # noqa: S108, S604
        CommandAction(argv=("echo", "", "ä b\n")),
        TICKS,
        HttpAction(url="http://localhost:8080"),
        HttpAction(url="http://localhost:8080?q=1", method="POST", headers={"A": "1"}, body="{}", expect=(200, 409)),
        HttpAction(url="https://example.org#top"),
        HttpAction(url="https://user@[::1]:9/a/b?c=d#e"),
        RUN,
        PythonAction(target="run:main"),
        PythonAction(target="_a.b2:C_.run"),
    ],
)
def test_an_action_is_accepted_when_it_can_be_run(action: Action) -> None:
    assert check_definition(a_job(action=action)) == ()


PROGRAM = ("a program and its arguments", "/bin/echo hello")


@pytest.mark.parametrize(
    ("argv", "value", "expected"),
    [
        ((), "", PROGRAM),
        (("",), "", PROGRAM),
        (("", "hello", "world"), " hello world", PROGRAM),
    ],
)
def test_a_command_is_refused_when_it_names_no_program(
    argv: tuple[str, ...], value: str, expected: tuple[str, str]
) -> None:
    assert refusal(a_job(action=CommandAction(argv=argv))) == ("command", value, *expected)


NO_HOST = [
    "",
    "example.org",
    "http:example.org",
    "//example.org",
    "http://",
    "https:///path",
    "http://?q",
    "http://#top",
]
NO_URL = ["ftp://a", "httpss://a", "http://a b", "http://a/b c", "http://a/\n", "http://a\n", " http://a"]


@pytest.mark.parametrize("url", [*NO_HOST, *NO_URL])
def test_a_url_is_refused_when_it_is_none(url: str) -> None:
    expected = ("http.url", url, "an http or https URL", "https://example.org/tick")
    assert refusal(a_job(action=HttpAction(url=url))) == expected


@pytest.mark.parametrize(
    "target",
    ["", ":", "run", "run:", ":run", "a:b:c", "a b:c", "1a:b", "a:1b", "a-b:c", "a:b()", "a:b\n", "ä:b", ".a:b"],
)
def test_a_target_is_refused_when_it_is_no_name_in_a_module(target: str) -> None:
    expected = ("python", target, "package.module:name", "reports.nightly:run")
    assert refusal(a_job(action=PythonAction(target=target))) == expected


@pytest.mark.parametrize("field", ["timeout", "queue_timeout", "silence_after"])
@pytest.mark.parametrize(
    ("wait", "value"),
    [
        (timedelta(), "0:00:00"),
        (-TICK, "-1 day, 23:59:59.999999"),
        (MAX_DURATION + TICK, "36525 days, 0:00:00.000001"),
    ],
)
def test_a_wait_is_refused_when_it_is_none_or_longer_than_a_century(field: str, wait: timedelta, value: str) -> None:
    assert refusal(a_job(**{field: wait})) == (field, value, "more than zero, at most 36525d", "10m")
    assert check_definition(a_job(**{field: TICK})) == check_definition(a_job(**{field: MAX_DURATION})) == ()


@pytest.mark.parametrize("most", [0, -1])
def test_a_queue_is_refused_when_nothing_may_wait_in_it(most: int) -> None:
    """SPEC 4: "`queue` (at most `max_waiting`, default 1, the rest skipped)"."""
    expected = ("overlap.max_waiting", str(most), "a number from 1", "1")
    assert refusal(a_job(overlap=OverlapRules(Overlap.QUEUE, most))) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"late": LateRules(limit=-1)}, ("catch_up_limit", "-1", "zero or more", "10")),
        ({"settle": SettleRules(pause_after=0)}, ("pause_after", "0", "a number from 1", "5")),
        ({"settle": SettleRules(retry=Retry(max=-1))}, ("retry.max", "-1", "at least 0", "2")),
        ({"timing": Timing(schedule=EVERY_5M, max_runs=0)}, ("max_runs", "0", "a number from 1", "10")),
    ],
)
def test_a_definition_is_refused_when_one_of_its_parts_is(
    fields: dict[str, object], expected: tuple[str, str, str, str]
) -> None:
    assert refusal(a_job(**fields)) == expected


def test_a_definition_is_refused_when_its_cron_expression_cannot_be_read() -> None:
    with pytest.raises(CronParseError, match="hour must be 0-23"):
        check_definition(a_job(timing=Timing(schedule=Cron("0 25 * * *"))))


def test_the_first_thing_is_named_when_several_could_never_work() -> None:
    wrong: dict[str, object] = {
        "name": "",
        "pool": "",
        "agent": "",
        "action": CommandAction(argv=()),
        "late": LateRules(limit=-1),
        "settle": SettleRules(notify_after=0),
        "overlap": OverlapRules(max_waiting=0),
        "timeout": timedelta(),
        "queue_timeout": timedelta(),
        "silence_after": timedelta(),
        "timing": Timing(schedule=Every(timedelta())),
    }
    fields = ["command" if field == "action" else field for field in wrong]
    fields[4:7] = ["catch_up_limit", "notify_after", "overlap.max_waiting"]
    fields[-1] = "every"
    for field, name in zip(fields, list(wrong), strict=True):
        assert refusal(a_job(**wrong))[0] == field
        del wrong[name]
    assert check_definition(a_job(**wrong)) == ()


def test_a_person_is_warned_when_the_schedule_may_surprise() -> None:
    """SPEC 2: "if one begins with `*`, both must (Vixie; warn when saved)"."""
    (warning,) = check_definition(a_job(timing=Timing(schedule=Cron("0 9 */2 * 1"))))
    assert warning == 'day of month "*/2" and day of week "1" must both match, because one begins with "*"'


def test_a_definition_is_short_when_it_is_written_as_json() -> None:
    """SPEC 1: "the same in Python, SQL, JSON"; what is not said is not written."""
    text = (
        '{"name":"report","timing":{"schedule":{"type":"cron","expression":"30 * * * *"}},'
        '"action":{"type":"command","argv":["/bin/echo","hello"]},"pool":"local"}'
    )
    short = Definition(name="report", timing=Timing(schedule=HALF_PAST), action=ECHO, pool="local")
    assert msgspec.json.encode(short).decode() == text
    assert msgspec.json.decode(text, type=Definition) == short


@pytest.mark.parametrize("action", ['{"type":"ssh","argv":["a"]}', '{"argv":["a"]}', '{"type":"http"}', "null"])
def test_json_is_refused_when_its_action_is_of_no_known_kind(action: str) -> None:
    text = f'{{"name":"a","timing":{{"schedule":{{"type":"manual"}}}},"pool":"local","action":{action}}}'
    with pytest.raises(msgspec.ValidationError, match=r"\$\.action"):
        msgspec.json.decode(text, type=Definition)


texts = st.text(max_size=8)
maps = st.dictionaries(texts, texts, max_size=2)
words = st.lists(texts, max_size=3).map(tuple)
actions = st.one_of(
    st.builds(CommandAction, argv=words, cwd=st.none() | texts, env=maps, stdin=st.none() | texts, shell=st.booleans()),
    st.builds(
        HttpAction,
        url=texts,
        method=st.sampled_from(["GET", "POST"]),
        headers=maps,
        body=st.none() | texts,
        expect=st.lists(st.integers(100, 599), max_size=2).map(tuple),
    ),
    st.builds(PythonAction, target=texts),
)
counts = st.integers(0, 1_000)
retries = st.builds(Retry, counts, spans, st.floats(1, 1e6), spans, counts, counts)
chained = st.builds(After, texts, st.sampled_from(ChainOn), st.none() | texts, spans, st.sampled_from(ChainPass))
given_fields = st.fixed_dictionaries(
    {},
    optional={
        "agent": texts,
        "description": texts,
        "prompt": texts,
        "pool": texts,
        "concurrency_key": texts,
        "overlap": st.builds(OverlapRules, st.sampled_from(Overlap), counts),
        "late": st.builds(LateRules, spans, st.sampled_from(CatchUp), spans, counts),
        "settle": st.builds(SettleRules, retry=retries, pause_after=st.none() | counts, notify_after=counts),
        "queue_timeout": spans,
        "timeout": st.none() | spans,
        "silence_after": spans,
        "on_silence": st.sampled_from(OnSilence),
    },
)


@settings(max_examples=max(200, settings().max_examples))
@given(texts, timings() | chained.map(lambda after: Timing(schedule=after)), actions, given_fields)
def test_a_definition_comes_back_the_same_when_it_goes_through_json(
    name: str, timing: Timing, action: Action, fields: dict[str, object]
) -> None:
    definition = define(name, timing, action, **fields)
    text = msgspec.json.encode(definition)
    back = msgspec.json.decode(text, type=Definition)
    assert back == definition
    assert type(back.action) is type(action)
    assert msgspec.json.encode(back) == text


@pytest.mark.parametrize(
    ("env", "value"),
    [
        ({"": "x"}, ""),
        ({"A=B": "x"}, "A=B"),
        ({"A": "env:"}, "env:"),
        ({"A": "env:A B"}, "env:A B"),
        ({"A": "env:1A"}, "env:1A"),
        ({"A": "file:"}, "file:"),
        ({"A": "file: "}, "file: "),
    ],
)
def test_variables_that_no_child_could_have_are_refused(env: dict[str, str], value: str) -> None:
    definition = define("job", Timing(schedule=Manual()), CommandAction(argv=("x",), env=env))
    with pytest.raises(ScheduleError) as refused:
        check_definition(definition)
    assert (refused.value.field, refused.value.value) == ("env", value)


@pytest.mark.parametrize("value", ["", "plain", "env:A_1", "file:~/my secret", "environment", "a:b", "files:x"])
def test_variables_and_secrets_by_reference_are_accepted(value: str) -> None:
    check_definition(define("job", Timing(schedule=Manual()), CommandAction(argv=("x",), env={"NAME": value})))


@pytest.mark.parametrize(
    ("name", "value"),
    [("a b", "x"), ("", "x"), ("a:", "x"), ("ä", "x"), ("a", "x\r\ny"), ("a", "x\x7f"), ("a", "\x1b")],
)
def test_headers_that_no_request_could_carry_are_refused(name: str, value: str) -> None:
    action = HttpAction(url="http://example.org", headers={name: value})
    with pytest.raises(ScheduleError, match="a value of one line"):
        check_definition(define("job", Timing(schedule=Manual()), action))


@pytest.mark.parametrize(
    ("url", "is_good"), [("http://a:99999/", False), ("http://a:65535/", True), ("http://a/", True)]
)
def test_a_port_is_one_that_exists(url: str, *, is_good: bool) -> None:
    definition = define("job", Timing(schedule=Manual()), HttpAction(url=url, headers={"Accept": "a\tb é"}))
    if is_good:
        check_definition(definition)
        return
    with pytest.raises(ScheduleError, match="a port"):
        check_definition(definition)
