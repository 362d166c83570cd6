"""Decisions as data: replayed, put into words, stored and read back."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest

from rota.core.decision import Decision, Moment, Rule, Source, Step, describe, replay
from rota.core.governor import decide
from tests.core.states import HALF_PAST, HOUR, MINUTE, NOW, interval_hint, job_state, oneshot_hint, today

TEN_PAST, HALF = today("10:10"), today("10:30")
CRON, HINT = Source.BASELINE_CRON, Source.AI_INTERVAL


def test_sources_have_the_documented_names_when_stored() -> None:
    """baseline-cron, baseline-interval, baseline-calendar, baseline-once, ai-interval, ai-oneshot, clamped-min,
    clamped-max, paused, backoff.
    """
    assert [source.value for source in Source] == [
        "baseline-cron",
        "baseline-interval",
        "baseline-calendar",
        "baseline-once",
        "backoff",
        "ai-interval",
        "ai-oneshot",
        "clamped-min",
        "clamped-max",
        "quiet",
        "paused",
        "after-run",
        "none",
    ]


def test_moments_and_rules_keep_their_names_when_stored() -> None:
    assert [moment.value for moment in Moment] == ["created", "fired", "skipped", "settled", "replanned"]
    assert [rule.value for rule in Rule] == [
        "asked",
        "candidate",
        "ignored",
        "chosen",
        "overdue",
        "clamped",
        "not-before",
        "quiet",
        "ended",
        "paused",
    ]


REPLAYS = [
    ((), None, Source.NONE),
    ((Step(Rule.ASKED, NOW),), None, Source.NONE),
    ((Step(Rule.CANDIDATE, NOW, CRON), Step(Rule.IGNORED, NOW, HINT)), None, Source.NONE),
    ((Step(Rule.CHOSEN, HALF, CRON),), HALF, CRON),
    ((Step(Rule.CHOSEN, HALF, CRON), Step(Rule.CANDIDATE, NOW, HINT)), HALF, CRON),
    ((Step(Rule.CHOSEN, HALF, CRON), Step(Rule.IGNORED, NOW, HINT)), HALF, CRON),
    ((Step(Rule.CHOSEN, HALF, CRON), Step(Rule.ASKED, NOW)), HALF, CRON),
    ((Step(Rule.CHOSEN, HALF, CRON), Step(Rule.NOT_BEFORE, TEN_PAST)), TEN_PAST, CRON),
    *(
        ((Step(Rule.CHOSEN, HALF, CRON), Step(rule, TEN_PAST, HINT)), TEN_PAST, HINT)
        for rule in Rule
        if rule not in {"asked", "candidate", "ignored"}
    ),
    ((Step(Rule.CHOSEN, HALF, CRON), Step(Rule.ENDED, None, Source.NONE)), None, Source.NONE),
    ((Step(Rule.CHOSEN, None, Source.AFTER_RUN),), None, Source.AFTER_RUN),
]


@pytest.mark.parametrize(("trail", "at", "source"), REPLAYS)
def test_replay_ends_where_the_last_rule_led_when_followed(
    trail: tuple[Step, ...], at: datetime | None, source: Source
) -> None:
    assert replay(trail) == (at, source)
    assert replay(iter(trail)) == (at, source)


WORDS = [
    (Step(Rule.ASKED), "asked:"),
    (Step(Rule.ASKED, NOW, because="settled"), "asked: at 2026-03-02T10:00:00+00:00 because settled"),
    (Step(Rule.CHOSEN, None, Source.NONE), "chosen: none"),
    (Step(Rule.CHOSEN, None, Source.AFTER_RUN, None, "it runs"), "chosen: after-run because it runs"),
    (Step(Rule.IGNORED, None, HINT, NOW), "ignored: ai-interval (limit 2026-03-02T10:00:00+00:00)"),
    (
        Step(Rule.CLAMPED, TEN_PAST, Source.CLAMPED_MIN, NOW, "min_interval is 0:10:00"),
        (
            "clamped: clamped-min at 2026-03-02T10:10:00+00:00 (limit 2026-03-02T10:00:00+00:00) "
            "because min_interval is 0:10:00"
        ),
    ),
]


@pytest.mark.parametrize(("step", "text"), WORDS)
def test_step_is_put_into_words_when_described(step: Step, text: str) -> None:
    assert describe((step,)) == (text,)


def test_trail_has_a_line_for_each_step_when_described() -> None:
    trail = decide(NOW, job_state(HALF_PAST, min_interval=HOUR), moment=Moment.SETTLED).trail
    assert describe(trail) == (
        "asked: at 2026-03-02T10:00:00+00:00 because settled",
        "candidate: baseline-cron at 2026-03-02T10:30:00+00:00 because the next match in UTC",
        "chosen: baseline-cron at 2026-03-02T10:30:00+00:00",
        (
            "clamped: clamped-min at 2026-03-02T11:00:00+00:00 (limit 2026-03-02T10:30:00+00:00) "
            "because min_interval is 1:00:00"
        ),
    )
    assert describe(iter(())) == ()


def test_decision_is_small_json_when_there_is_little_to_say() -> None:
    assert msgspec.json.encode(Decision(None, Source.NONE)) == b'{"next_run_at":null,"source":"none"}'
    assert msgspec.json.encode(Step(Rule.ASKED)) == b'{"rule":"asked"}'


def test_decision_is_readable_json_when_it_is_stored() -> None:
    decision = Decision(HALF, CRON, (Step(Rule.CHOSEN, HALF, CRON, NOW, "so"),), TEN_PAST)
    text = (
        '{"next_run_at":"2026-03-02T10:30:00Z","source":"baseline-cron","trail":[{"rule":"chosen",'
        '"at":"2026-03-02T10:30:00Z","source":"baseline-cron","limit":"2026-03-02T10:00:00Z","because":"so"}],'
        '"redecide_at":"2026-03-02T10:10:00Z"}'
    )
    assert msgspec.json.encode(decision).decode() == text
    assert msgspec.json.decode(text, type=Decision) == decision


def test_trail_leads_to_the_same_time_when_it_was_stored() -> None:
    """It is stored with the planned time and copied to the run it causes."""
    hints = (interval_hint(MINUTE, today("11:00"), "planner", "busy"), oneshot_hint(TEN_PAST, NOW))
    decision = decide(NOW, job_state(HALF_PAST, hints=hints, max_interval=MINUTE / 2), moment=Moment.SETTLED)
    stored = msgspec.json.decode(msgspec.json.encode(decision), type=Decision)
    assert stored == decision
    assert replay(stored.trail) == (today("10:00:30"), Source.CLAMPED_MAX)
    assert stored.redecide_at == today("11:00")


@pytest.mark.parametrize("value", [Step(Rule.ASKED), Decision(None, Source.NONE)])
def test_decision_cannot_be_changed_when_it_is_made(value: Step | Decision) -> None:
    with pytest.raises(AttributeError):
        value.source = Source.PAUSED  # type: ignore[misc]
