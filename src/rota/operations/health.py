"""Health: rows that contradict each other."""

from __future__ import annotations

from rota.ports.store import Store, Transaction


async def contradictions(store: Store) -> list[str]:
    """What cannot be true at once, a sentence each."""

    async def body(tx: Transaction) -> list[str]:
        return [
            *(f"{run_id} waits in the queue, but its state is {state}." for run_id, state in await tx.misplaced_runs()),
            *(f"{run_id} is queued, but not in the queue." for (run_id,) in await tx.forgotten_runs()),
            *(f"{run_id} is running, but nobody holds it." for (run_id,) in await tx.unheld_runs()),
            *(
                f"The {scope} {name} counts {used} runs, but {running} are running."
                for scope, name, used, running in await tx.miscounted_slots()
            ),
        ]

    return await store.read(body)
