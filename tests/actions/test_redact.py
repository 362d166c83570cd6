"""Secrets: redacted in every form (literal, URL, base64) across chunk borders (GUARANTEES, doors)."""

# ruff: noqa: S105 - these secrets are none, and tests may look at files

from __future__ import annotations

import base64
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.actions.redact import HIDDEN, Redactor

SECRET = "pa55/w+rd =ü?"


def redact(secrets: Iterable[str], *pieces: str) -> str:
    redactor = Redactor(secrets)
    return "".join([*map(redactor.feed, pieces), redactor.finish()])


def basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        quote(SECRET, safe="").lower(),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(SECRET.encode()).decode().rstrip("="),
    ],
)
def test_secret_is_hidden_when_it_is_written_in_any_form(form: str) -> None:
    """Redacted in every form (literal, URL, base64)."""
    assert redact([SECRET], f"a {form} z").replace("=", "") == f"a {HIDDEN} z"


@pytest.mark.parametrize("user", ["u", "me", "rota", "admin", "x" * 17])
@pytest.mark.parametrize("after", ["", "\n", "~", "ÿ", "and more"])
def test_secret_is_hidden_when_it_lies_within_a_longer_base64(user: str, after: str) -> None:
    """As in ``Authorization: Basic``: where it begins decides what it looks like."""
    shown = redact(["s3cret-token"], f"Authorization: Basic {basic(user, 's3cret-token' + after)}\n")
    assert HIDDEN in shown
    padded = shown.removeprefix("Authorization: Basic ").split(HIDDEN)[0]
    assert b"s3c" not in base64.b64decode(padded + "A" * (-len(padded) % 4))


@pytest.mark.parametrize("secret", ["", "a", "abc"])
def test_secret_is_left_alone_when_it_is_too_short_to_tell(secret: str) -> None:
    assert redact([secret], "abc a b c") == "abc a b c"


def test_text_is_untouched_when_there_is_no_secret() -> None:
    assert redact([], "any", "thing") == "anything"
    assert redact(["hunter2"], "hunter", "1 hunter", "3") == "hunter1 hunter3"


@pytest.mark.parametrize(
    ("secrets", "text", "shown"),
    [
        (["abcd", "abcdefgh"], "abcdefgh", HIDDEN),
        (["abcd", "abcdefgh"], "abcdefg", f"{HIDDEN}efg"),
        (["abcdef", "defghi"], "abcdefghi", HIDDEN),
        (["abab"], "ababab", HIDDEN),
        (["aaaa"], "a" * 1_000 + "b", f"{HIDDEN}b"),
        (["abcd"], "abcdabcd", HIDDEN * 2),
        (["abcd", "[secret]"], "abcd", HIDDEN),
        (["]xyz"], "]xy]xyz", f"]xy{HIDDEN}"),
        (["line1\nline2"], "line1\nline2\n", f"{HIDDEN}\n"),
    ],
)
def test_no_part_of_a_secret_shows_when_secrets_overlap(secrets: list[str], text: str, shown: str) -> None:
    assert redact(secrets, text) == shown
    assert redact(secrets, *text) == shown


@pytest.mark.parametrize("form", [SECRET, quote(SECRET), base64.b64encode(SECRET.encode()).decode().rstrip("=")])
def test_secret_is_hidden_when_it_is_split_at_any_place(form: str) -> None:
    """A secret split over two writes."""
    text = f"a {form} z"
    for place in range(len(text) + 1):
        assert redact([SECRET], text[:place], text[place:]) == f"a {HIDDEN} z"


@given(
    st.lists(st.text("abc%", min_size=4, max_size=9), max_size=4),
    st.data(),
)
def test_cuts_make_no_difference_when_text_comes_in_pieces(secrets: list[str], data: st.DataObject) -> None:
    parts = st.one_of(st.text("abc%25[]", max_size=6), st.sampled_from(secrets or [""]))
    text = "".join(data.draw(st.lists(parts, max_size=8)))
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    assert redact(secrets, *pieces) == redact(secrets, text)
    without = redact(secrets, text).replace(HIDDEN, "\0")
    assert not any(secret in without for secret in secrets)


@given(st.text(min_size=4), st.text(), st.text(), st.integers(0, 200))
def test_any_secret_is_hidden_when_split_anywhere(secret: str, before: str, after: str, place: int) -> None:
    text = before + secret + after
    shown = redact([secret], text[:place], text[place:])
    assert HIDDEN in shown
    assert secret not in shown.replace(HIDDEN, "\0") or "\0" in secret


def test_little_is_held_back_when_nothing_secret_is_near() -> None:
    redactor = Redactor(["hunter2"])
    assert redactor.feed("a line\n") == "a line\n"
    assert redactor.feed("hun") == ""
    assert redactor.feed("ting\n") == "hunting\n"


def test_what_is_held_stays_small_when_everything_looks_like_a_secret() -> None:
    redactor = Redactor(["a" * 100])
    shown = sum(len(redactor.feed("a" * 1_000)) for _ in range(100))
    assert shown == len(HIDDEN)
    assert len(redactor._held) < 200


def test_bytes_that_are_no_text_are_hidden_when_the_environment_holds_them() -> None:
    """Environments may hold any bytes; output shows them as replacement characters."""
    raw = b"tok\xff\xfeen-123"
    assert redact([raw.decode("utf-8", "surrogateescape")], raw.decode("utf-8", "replace")) == HIDDEN
