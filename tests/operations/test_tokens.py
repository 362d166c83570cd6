"""Tokens: who may come in, and for how long."""

from __future__ import annotations

import pytest

from rota.errors import ConflictError, IntervalParseError, NotFoundError, ScheduleError
from rota.ledger.site import Site
from rota.operations.jobs import run_job
from rota.operations.tokens import (
    caller_of,
    create_token,
    list_tokens,
    revoke_token,
    run_signing_key,
    run_token,
)
from rota.ports.caller import Role
from rota.testing import HandCranked
from tests.engine.conftest import NOW
from tests.engine.jobs import HOUR, OK, job, runs_of, save

pytestmark = pytest.mark.anyio


async def test_a_token_lets_in_until_it_expires_or_is_revoked(site: Site, hand: HandCranked) -> None:
    short = await create_token(site, name="ci", role=Role.OPERATE, expires_in="30m")
    long = await create_token(site, name="page", role=Role.READ)
    caller = await caller_of(site, short.token)
    assert caller is not None
    assert (caller.name, caller.role, caller.is_run) == ("ci", Role.OPERATE, False)
    hand.clock.set(NOW + HOUR)
    assert await caller_of(site, short.token) is None
    assert await caller_of(site, long.token) is not None
    await revoke_token(site, token="page")  # noqa: S106 - a name
    assert await caller_of(site, long.token) is None
    assert [(one.name, one.is_valid) for one in (await list_tokens(site)).items] == [("ci", False), ("page", False)]


async def test_the_secret_is_nowhere_in_the_store(site: Site) -> None:
    made = await create_token(site, name="ci", role=Role.ADMIN)
    secret = made.token.rpartition("_")[2]
    rows = await site.store.read(lambda tx: tx.tokens())
    audit = await site.store.read(lambda tx: tx.audit(before="adt_z", subject=None, like=None, most=10))
    assert secret not in repr(rows)
    assert secret not in repr(audit)
    assert len(secret) >= 40


@pytest.mark.parametrize(
    "change",
    [
        lambda _: "",
        lambda token: token[:-1],
        lambda token: token + "0",
        lambda token: token.swapcase(),
        lambda token: token.replace("rota_", "rotarun_"),
        lambda token: token.partition("_")[2],
        lambda _: "rota__",
        lambda _: "ключ",
        lambda _: "rotarun_1_2",
        lambda _: "rota_a\0b_c",
        lambda token: f"{token}\n",
        lambda _: "rotarun_1_9999999999999999999999_3",
    ],
)
async def test_what_only_looks_like_a_token_lets_nobody_in(site: Site, change: object) -> None:
    made = await create_token(site, name="ci", role=Role.ADMIN)
    assert callable(change)
    assert await caller_of(site, change(made.token)) is None


async def test_a_run_comes_in_with_its_own_token_only_while_it_is_under_way(site: Site, hand: HandCranked) -> None:
    hand.action._decide = lambda _: (HOUR, OK)
    await save(hand, job("coder/a", "manual", agent="coder"))
    await run_job(site, job="coder/a")
    await hand.step()
    (run,) = await runs_of(hand, "coder/a")
    key = await run_signing_key(site)
    assert run.token is not None
    token = run_token(key, run.id, run.token)
    caller = await caller_of(site, token)
    assert caller is not None
    assert (caller.run_id, caller.agent, caller.job_id, caller.role) == (run.id, "coder", run.job_id, Role.READ)
    assert await caller_of(site, run_token(key, run.id, run.token + 1)) is None
    assert await caller_of(site, run_token("another key", run.id, run.token)) is None
    await hand.crank(NOW + 2 * HOUR)
    assert await caller_of(site, token) is None


async def test_a_token_that_makes_no_sense_is_refused(site: Site) -> None:
    with pytest.raises(IntervalParseError):
        await create_token(site, name="ci", role=Role.READ, expires_in="soon")
    with pytest.raises(ScheduleError):
        await create_token(site, name=" ", role=Role.READ)
    with pytest.raises(NotFoundError):
        await revoke_token(site, token="nobody")  # noqa: S106 - a name
    first = await create_token(site, name="ci", role=Role.READ)
    await create_token(site, name="ci", role=Role.READ)
    with pytest.raises(ConflictError, match="Give the id of one"):
        await revoke_token(site, token="ci")  # noqa: S106 - a name
    assert (await revoke_token(site, token=first.id)).revoked_at == NOW
