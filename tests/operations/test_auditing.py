"""Finding changes by a part of the name of what was changed (SPEC section 11)."""

from __future__ import annotations

import pytest

from rota.ledger.site import Site
from rota.operations.auditing import list_audit
from rota.operations.limits import set_limit

pytestmark = pytest.mark.anyio


async def subjects(site: Site, contains: str) -> list[str]:
    return [one.subject for one in (await list_audit(site, contains=contains)).items]


async def test_changes_are_found_by_a_part_of_their_subject_whatever_its_case(site: Site) -> None:
    for name in ("gpu.one", "GPU/two", "local"):
        await set_limit(site, name=name, size=1)
    assert await subjects(site, "gpu") == ["GPU/two", "gpu.one"]
    assert await subjects(site, "GPU") == ["GPU/two", "gpu.one"]
    assert await subjects(site, "oca") == ["local"]
    assert await subjects(site, "remote") == []


async def test_what_stands_for_any_text_elsewhere_is_only_itself_here(site: Site) -> None:
    for name in ("a_b", "acb"):
        await set_limit(site, name=name, size=1)
    assert await subjects(site, "a_b") == ["a_b"]
    assert await subjects(site, "%") == []
    assert await subjects(site, "!") == []


async def test_pages_of_found_changes_go_on_where_the_last_one_ended(site: Site) -> None:
    for size in (1, 2, 3):
        await set_limit(site, name="gpu", size=size)
        await set_limit(site, name="local", size=size)
    first = await list_audit(site, contains="gp", limit=2)
    rest = await list_audit(site, contains="gp", limit=2, after=first.next)
    assert [one.after["size"] for one in (*first.items, *rest.items)] == [3, 2, 1]  # type: ignore[index]
    assert rest.next is None
