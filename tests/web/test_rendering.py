"""Rendering: times, durations and words as people read them, and nothing that a page could be broken with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import jinja2
import pytest

from rota.web.assets import Assets
from rota.web.rendering import ASSETS, environment, iso, said, took, utc


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0, "0.00 s"),
        (0.4249, "0.42 s"),
        (9.996, "10.00 s"),
        (12.34, "12.3 s"),
        (60, "1m 00s"),
        (200, "3m 20s"),
        (3600, "1h 00m"),
        (90061, "25h 01m"),
    ],
)
def test_durations_are_said_with_what_matters(seconds: float | None, text: str) -> None:
    assert took(seconds) == text


def test_times_are_utc_until_the_page_shows_them_on_the_readers_clock() -> None:
    at = datetime(2026, 11, 18, 21, 5, tzinfo=timezone(timedelta(hours=9)))
    assert utc(at) == "2026-11-18 12:05:00 UTC"
    assert iso(at) == "2026-11-18T12:05:00Z"
    assert iso(at.astimezone(UTC)) == "2026-11-18T12:05:00Z"


def test_stored_words_are_read_as_words() -> None:
    assert said("permanent_failure") == "permanent failure"


def test_what_comes_from_outside_is_text_and_never_markup() -> None:
    made = environment().from_string('<a href="/jobs/{{ name | piece }}" data-x="{{ value | json }}">{{ name }}</a>')
    shown = made.render(name='"><script>', value={"a": "'\"><script>"})
    assert "<script>" not in shown
    assert "/jobs/%22%3E%3Cscript%3E" in shown


def test_a_name_that_is_missing_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        environment().from_string("{{ nobody }}").render()


def test_every_template_can_be_read() -> None:
    for name in environment().list_templates():
        environment().get_template(name)


def test_an_asset_is_found_under_its_fingerprint_and_under_no_other() -> None:
    *_, fingerprint, name = ASSETS.address("main.js").split("/")
    found = ASSETS.find(fingerprint, name)
    assert found is not None
    assert found.media_type == "text/javascript"
    assert ASSETS.find("0" * 12, name) is None
    assert ASSETS.find(fingerprint, "../pages.py") is None
    with pytest.raises(KeyError):
        ASSETS.address("nothing.js")


def test_all_styles_are_one_file_that_begins_with_the_base() -> None:
    found = Assets().find(ASSETS.fingerprint, "app.css")
    assert found is not None
    assert found.content.startswith(b"/* Colours")
    assert b".problem-list" in found.content
