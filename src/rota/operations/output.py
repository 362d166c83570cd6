"""The output of a run, from either end."""

from __future__ import annotations

from collections.abc import Sequence as Several
from itertools import accumulate

from rota.ledger.site import Site
from rota.operations.inputs import Bytes, Limit, Name, Sequence
from rota.operations.runs import find_run
from rota.operations.views import OutputView, Page, output_view
from rota.ports.records import OutputRecord, OutputSize
from rota.ports.store import Transaction


async def read_output(
    site: Site,
    *,
    run: Name,
    after: Sequence = 0,
    before: Sequence | None = None,
    limit: Limit = 500,
    most_bytes: Bytes | None = None,
) -> Page[OutputView]:
    """The output of a run after a sequence number, or the last of it before one, in order.

    ``next`` goes on from the last piece; whoever reads backwards goes on from the first one. ``most_bytes`` of text are
    given at most, but always a piece if there is one.
    """
    record = await find_run(site, run)

    async def forwards(tx: Transaction) -> tuple[list[OutputRecord], bool]:
        if most_bytes is None:
            rows = await tx.output(run_id=record.id, after=after, most=limit)
            return rows, len(rows) == limit
        sizes = await tx.output_sizes(run_id=record.id, after=after, most=limit)
        count = _fitting(sizes, most_bytes)
        rows = await tx.output(run_id=record.id, after=after, most=count) if count else []
        return rows, count < len(sizes) or count == limit

    async def backwards(tx: Transaction, end: int) -> tuple[list[OutputRecord], bool]:
        sizes = await tx.output_sizes_before(run_id=record.id, after=after, before=end, most=limit)
        count = len(sizes) if most_bytes is None else _fitting(sizes, most_bytes)
        if not count:
            return [], False
        rows = await tx.output(run_id=record.id, after=sizes[count - 1].sequence - 1, most=count)
        # Some of it may just have been cut, and others have taken its place.
        return [row for row in rows if row.sequence < end], False

    rows, is_cut = await site.store.read(forwards if before is None else lambda tx: backwards(tx, before))
    return Page(tuple(output_view(row) for row in rows), str(rows[-1].sequence) if is_cut and rows else None)


def _fitting(sizes: Several[OutputSize], most: int) -> int:
    """How many of them fit, but one at least."""
    sums = accumulate(one.size for one in sizes)
    return max(sum(1 for total in sums if total <= most), min(1, len(sizes)))
