"""Many runs ended or asked for again at once, on every database."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from rota.core.run import RunState
from rota.errors import StoreUnavailableError
from rota.ledger.site import Site
from rota.operations import auditing, jobs, many_runs, runs
from rota.ports.caller import Caller, Door
from rota.ports.store import Store
from rota.testing import HandCranked
from tests.engine.jobs import FAILED, HOUR, job, save, used_slots

pytestmark = pytest.mark.anyio


async def asked(site: Site, name: str, count: int) -> list[str]:
    """Runs of a job, asked for by hand."""
    return [(await jobs.run_job(site, job=name, input=f"{number}")).run_id for number in range(count)]


async def state_of(site: Site, run_id: str) -> str:
    return (await runs.show_run(site, run=run_id)).state


async def test_waiting_runs_end_at_once_and_running_ones_are_told_to(site: Site, hand: HandCranked) -> None:
    hand.action._decide = lambda _: (HOUR, FAILED)
    await save(hand, job("a", "manual"), slots=1)
    ids = await asked(site, "a", 3)
    await hand.step()
    many = await many_runs.cancel_many(site, runs=tuple(ids), reason="enough")
    assert (set(many.done), many.made, many.refused) == (set(ids), (), ())
    assert [await state_of(site, run_id) for run_id in ids] == ["running", "cancelled", "cancelled"]
    found = await site.store.read(lambda tx: tx.cancelled_runs(ids=ids))
    assert [run_id for run_id, _ in found] == ids[:1]
    assert (await runs.show_run(site, run=ids[1])).reason == "enough"
    assert await used_slots(hand) == 2


async def test_every_run_has_an_entry_of_its_own_in_the_audit(site: Site, hand: HandCranked) -> None:
    await save(hand, job("a", "manual"))
    ids = await asked(site, "a", 3)
    await many_runs.cancel_many(site, runs=tuple(ids), reason="enough")
    again = await many_runs.retry_many(site, runs=tuple(ids))
    for run_id, new in zip(again.done, again.made, strict=True):
        found = [
            (one.operation, one.before, one.after) for one in (await auditing.list_audit(site, subject=run_id)).items
        ]
        assert found == [
            ("run.retry", None, {"run": new}),
            ("run.cancel", {"state": "queued"}, {"reason": "enough"}),
        ]


async def test_runs_are_done_once_more_with_their_input(site: Site, hand: HandCranked) -> None:
    hand.action._decide = lambda _: (timedelta(), FAILED)
    await save(hand, job("a", "manual"), job("b", "manual"))
    ids = [*await asked(site, "a", 2), *await asked(site, "b", 1)]
    await hand.step()
    many = await many_runs.retry_many(site, runs=tuple(ids))
    assert (set(many.done), len(set(many.made)), many.refused) == (set(ids), 3, ())
    for run_id, new in zip(many.done, many.made, strict=True):
        before, after = await runs.show_run(site, run=run_id), await runs.show_run(site, run=new)
        assert (after.state, after.cause, after.job, after.input) == ("queued", "manual", before.job, before.input)
    await hand.step()
    assert {await state_of(site, new) for new in many.made} == {RunState.FAILED}


async def test_what_cannot_be_done_to_one_is_told_and_done_to_the_others(site: Site, hand: HandCranked) -> None:
    await save(hand, job("a", "manual"), job("gone", "manual"))
    ended, orphan, waiting = (*await asked(site, "a", 1), *await asked(site, "gone", 1), *await asked(site, "a", 1))
    await runs.cancel_run(site, run=ended)
    cancelled = await many_runs.cancel_many(site, runs=(ended, waiting, waiting, "run_none"))
    assert cancelled.done == (waiting,)
    assert {one.run_id: one.why for one in cancelled.refused} == {
        ended: f"{ended} has ended already: cancelled",
        "run_none": 'There is no run "run_none". See the latest: rota runs',
    }
    await jobs.remove_job(site, job="gone")
    (live,) = await asked(site, "a", 1)
    retried = await many_runs.retry_many(site, runs=(ended, orphan, live))
    assert (retried.done, len(retried.made)) == ((ended,), 1)
    assert {one.run_id: one.why for one in retried.refused} == {
        orphan: 'The job "gone" is gone, so its run cannot be done again.',
        live: f"{live} has not ended: queued",
    }


async def test_a_run_that_would_be_skipped_counts_as_refused(site: Site) -> None:
    await jobs.propose_job(site, name="idea", definition={"manual": True, "command": ["true"]})
    (run_id,) = await asked(site, "idea", 1)
    many = await many_runs.retry_many(site, runs=(run_id,))
    assert (many.done, many.made) == ((), ())
    assert many.refused[0].why.endswith("was skipped: disabled")


async def test_more_than_share_a_transaction_are_all_done(site: Site, hand: HandCranked) -> None:
    await save(hand, job("a", "manual"))
    ids = await asked(site, "a", 230)
    many = await many_runs.cancel_many(site, runs=tuple(ids))
    assert (sorted(many.done), many.refused) == (sorted(ids), ())
    again = await many_runs.retry_many(site, runs=tuple(ids))
    assert (len(set(again.made)), again.refused) == (230, ())
    assert len((await runs.list_runs(site, state=(RunState.QUEUED,), limit=1_000)).items) == 230


async def test_the_rest_is_refused_when_the_database_goes_away_in_between(
    site: Site, hand: HandCranked, monkeypatch: pytest.MonkeyPatch
) -> None:
    await save(hand, job("a", "manual"))
    ids = await asked(site, "a", 150)
    good, calls = type(site.store).write, 0

    async def flaky(store: Store, body: object) -> object:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise StoreUnavailableError("The database is away.")
        return await good(store, body)  # type: ignore[arg-type]

    monkeypatch.setattr(type(site.store), "write", flaky)
    many = await many_runs.cancel_many(site, runs=tuple(ids))
    assert (len(many.done), {one.why for one in many.refused}) == (100, {"The database is away."})
    with pytest.raises(StoreUnavailableError):
        await many_runs.cancel_many(site, runs=tuple(ids))


async def test_only_people_may_name_a_run_by_its_beginning(site: Site, hand: HandCranked) -> None:
    await save(hand, job("a", "manual"))
    (run_id,) = await asked(site, "a", 1)
    program = msgspec.structs.replace(site, caller=Caller(name="ci", door=Door.API))
    assert (await many_runs.cancel_many(program, runs=(run_id[:-1],))).done == ()
    assert (await many_runs.cancel_many(site, runs=(run_id[:-1], run_id))).done == (run_id,)
