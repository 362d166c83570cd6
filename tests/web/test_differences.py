"""Differences of two values, as the audit shows them."""

from __future__ import annotations

import pytest

from rota.web.differences import Difference, differences


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        (None, None, []),
        ({"size": 1}, {"size": 1}, []),
        ({"scope": "pool", "size": 1}, {"scope": "pool", "size": 4}, [Difference("size", "1", "4")]),
        (None, {"every": "5m"}, [Difference("every", None, "5m")]),
        ({"every": "5m"}, None, [Difference("every", "5m", None)]),
        (
            {"every": "5m"},
            {"cron": "0 9 * * *"},
            [Difference("every", "5m", None), Difference("cron", None, "0 9 * * *")],
        ),
        (
            {"retry": {"max": 1, "first": "1m"}},
            {"retry": {"max": 2, "first": "1m"}},
            [Difference("retry.max", "1", "2")],
        ),
        ({"overlap": "skip"}, {"overlap": {"policy": "queue"}}, [Difference("overlap", "skip", '{"policy":"queue"}')]),
        ({"command": ["a", "b"]}, {"command": ["a"]}, [Difference("command", '["a","b"]', '["a"]')]),
        ("ci", None, [Difference("", "ci", None)]),
        (False, True, [Difference("", "false", "true")]),
    ],
)
def test_only_what_differs_is_told_field_by_field(before: object, after: object, wanted: list[Difference]) -> None:
    assert list(differences(before, after)) == wanted
