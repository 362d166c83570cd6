"""Definitions made at random, all of them valid, over everything that the fleet file has words for."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from hypothesis import reject
from hypothesis import strategies as st

from rota.core.backoff import Backoff, Ladder, Multiply, NoBackoff, Retry
from rota.core.calendar import LAST, Daily, MonthDay, Monthly, NthWeekday, Weekday, Weekly
from rota.core.catchup import CatchUp, LateRules
from rota.core.chain import After, ChainOn, ChainPass
from rota.core.definition import Action, CommandAction, Definition, HttpAction, PythonAction, check_definition
from rota.core.duration import MAX_DURATION
from rota.core.job import Timing
from rota.core.liveness import OnSilence
from rota.core.overlap import Overlap, OverlapRules
from rota.core.quiet import Quiet, QuietDates, QuietDay, QuietHours, QuietPolicy
from rota.core.schedule import Chat, Cron, Every, First, Manual, Once, Schedule, Webhook
from rota.core.settlement import SettleRules
from rota.errors import InputError

TICK = timedelta(microseconds=1)

spans = st.integers(1, 300).map(lambda minutes: timedelta(minutes=minutes)) | st.timedeltas(TICK, MAX_DURATION)
spans_or_zero = st.just(timedelta()) | spans
counts = st.integers(0, 100) | st.integers(0, 2**63 - 1)
counts_from_1 = counts.map(lambda count: count or 1)
# Everything that text may hold, and often what YAML has its own ideas about.
_TEMPTING = (
    *("", " ", "on", "no", "Yes", "n", "null", "~", "true", "1", "0644", "1e3", "0x1f", "1_000", "09:00", "2026-12-24"),
    *("- a", "a: b", "#a", "a #b", "${X}", "$${", "'", '"', "*a", "&a", "!a", "|", ">", "%", "@", "`", "[", "{", ","),
    *(
        "a\nb\n",
        "a\n b\n\nc",
        " a\nb",
        "a \nb",
        "\ta\nb",
        "a\tb\nc",
        "\n",
        "a\n\n",
        "\ufeff",
        "\x85",
        "\u2028",
        "=",
        "<<",
    ),
    *("...", "---", "--- a", "a\n---\nb", "a\n...\nb", "?", "? a", ":", "-", "env:NAME", "file:~/x", "😀", "a\r\nb"),
)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20) | st.sampled_from(
    _TEMPTING
)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,20}", fullmatch=True) | st.sampled_from(["on", "1", "null", "no"])
maps = st.dictionaries(texts, texts, max_size=3)
clocks = st.builds(time, st.integers(0, 23), st.integers(0, 59), st.sampled_from([0, 0, 1, 59]))
weekdays = st.sampled_from(Weekday)
wall_times = st.datetimes(datetime(1970, 1, 2), datetime(9998, 12, 30))
instants = wall_times.map(lambda at: at.replace(tzinfo=UTC))
dates = st.dates(date(1970, 1, 1), date(9998, 12, 31))

chains = st.builds(
    After,
    names,
    st.sampled_from(ChainOn),
    st.none() | texts.filter(lambda text: not text.startswith("/")) | st.just("/[1-9]\\d* failed/"),
    spans_or_zero,
    st.sampled_from(ChainPass),
)
schedules: st.SearchStrategy[Schedule] = st.one_of(
    st.builds(Once, wall_times | instants, st.booleans()),
    st.builds(Every, spans, st.sampled_from(First)),
    st.sampled_from(["* * * * *", "*/7 * * * *", "0 9 * * 1-5", "0 9 1 * mon", "@daily", "0 0 L * ?"]).map(Cron),
    st.builds(Daily, clocks),
    st.builds(Weekly, st.lists(weekdays, min_size=1, max_size=9).map(tuple), clocks),
    st.builds(Monthly, st.integers(1, 31).map(MonthDay) | st.just(MonthDay(LAST)), clocks),
    st.builds(Monthly, st.builds(NthWeekday, st.sampled_from([1, 2, 3, 4, 5, LAST]), weekdays), clocks),
    st.sampled_from([Manual(), Webhook(), Chat()]),
    chains,
)
quiets: st.SearchStrategy[Quiet] = st.one_of(
    st.tuples(clocks, clocks).filter(lambda two: two[0] != two[1]).map(lambda two: QuietHours(*two)),
    st.builds(QuietDay, weekdays),
    st.tuples(dates, dates).map(lambda two: QuietDates(*sorted(two))),
)
backoffs: st.SearchStrategy[Backoff] = st.one_of(
    st.just(Multiply()),
    st.just(NoBackoff()),
    st.just(Ladder()),
    st.lists(spans, min_size=1, max_size=3).map(lambda steps: Ladder(tuple(steps))),
)
actions: st.SearchStrategy[Action] = st.one_of(
    st.builds(
        CommandAction,
        argv=st.tuples(texts.filter(bool)) | st.lists(texts, min_size=1, max_size=4).map(tuple),
        cwd=st.none() | texts,
        env=maps,
        stdin=st.none() | texts,
        shell=st.booleans(),
    ),
    st.builds(
        HttpAction,
        url=st.sampled_from(["https://example.org", "http://[::1]:9/a?b=c#d", "https://a/%20?x=${Y}"]),
        method=st.sampled_from(["GET", "POST", "ON"]),
        headers=maps,
        body=st.none() | texts,
        expect=st.lists(st.integers(100, 599), max_size=3).map(tuple),
    ),
    st.builds(PythonAction, target=st.sampled_from(["reports.nightly:run", "a:b", "null:no"])),
)


@st.composite
def timings(draw: st.DrawFn) -> Timing:
    least, most = sorted(draw(st.tuples(spans, spans)))
    begins_at, until = sorted(draw(st.tuples(instants, instants)))
    return Timing(
        schedule=draw(schedules),
        zone=draw(st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"])),
        begins_at=draw(st.sampled_from([None, begins_at])),
        until=draw(st.sampled_from([None, until])),
        max_runs=draw(st.none() | counts_from_1),
        quiet=tuple(draw(st.lists(quiets, max_size=3))),
        quiet_policy=draw(st.sampled_from(QuietPolicy)),
        stagger=draw(spans_or_zero),
        jitter=draw(st.floats(0, 10)),
        min_interval=draw(st.sampled_from([None, least])),
        max_interval=draw(st.sampled_from([None, most])),
        backoff=draw(backoffs),
    )


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    """Any definition that the core accepts and that the file can say."""
    retry = st.builds(Retry, counts, spans, st.floats(1, allow_infinity=False), spans, counts, counts)
    definition = Definition(
        name=draw(names),
        timing=draw(timings()),
        action=draw(actions),
        agent=draw(st.none() | names),
        description=draw(texts),
        prompt=draw(st.none() | texts),
        pool=draw(st.sampled_from(["local", "remote", "inline"]) | names),
        concurrency_key=draw(st.none() | texts),
        overlap=draw(st.builds(OverlapRules, st.sampled_from(Overlap), counts_from_1)),
        late=draw(st.builds(LateRules, spans_or_zero, st.sampled_from(CatchUp), spans_or_zero, counts)),
        settle=draw(
            st.builds(SettleRules, retry=retry, pause_after=st.none() | counts_from_1, notify_after=counts_from_1)
        ),
        queue_timeout=draw(st.none() | spans),
        timeout=draw(st.none() | spans),
        silence_after=draw(spans),
        on_silence=draw(st.sampled_from(OnSilence)),
    )
    try:
        check_definition(definition)
    except InputError:
        reject()
    return definition
