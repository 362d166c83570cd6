"""``rota logs``: the output of a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import click
import msgspec

from rota.cli.arguments import run_or_job_argument
from rota.cli.command import Command
from rota.cli.following import follow, print_output
from rota.cli.shown import print_line
from rota.cli.store_command import Site, store_command
from rota.errors import NotFoundError
from rota.operations.output import read_output
from rota.operations.runs import list_runs
from rota.operations.views import OutputView

_EXAMPLES = (
    "rota logs report",
    "rota logs report -f",
    "rota logs report -n 100",
    "rota logs run_0006 --after 100 --json",
)
# The latest runs may all be skipped or waiting.
_LOOKED_AT = 50
_END = 2**53
_PAGE_BYTES = 1024 * 1024


@click.command("logs", cls=Command, examples=_EXAMPLES)
@run_or_job_argument()
@click.option("-f", "--follow", "is_followed", is_flag=True, help="Go on until the run ends, and exit as it did.")
@click.option("--after", type=click.IntRange(0), default=0, help="Only what came after this sequence number.")
@click.option("-n", "--last", metavar="LINES", type=click.IntRange(1), help="Only the last lines there are.")
@store_command("run.output", "run.follow")
async def command(site: Site, *, name: str, is_followed: bool, after: int, last: int | None, as_json: bool) -> int:
    """Print the output of a run, or of the latest run of a job. JSON is an object on each line."""
    run_id = name if name.startswith("run_") else await _latest(site, name)
    if last is not None:
        chunks = await _last(site, run_id, after, last)
        _print(chunks, as_json=as_json)
        after = chunks[-1].sequence if chunks else after
    if is_followed:
        return await follow(site, run_id, after=after, as_json=as_json)
    if last is None:
        await _print_all(site, run_id, after, as_json=as_json)
    return 0


async def _print_all(site: Site, run_id: str, after: int, *, as_json: bool) -> None:
    while chunks := (await read_output(site, run=run_id, after=after)).items:
        _print(chunks, as_json=as_json)
        after = chunks[-1].sequence


def _print(chunks: Iterable[OutputView], *, as_json: bool) -> None:
    for chunk in chunks:
        if as_json:
            print_line(chunk)
        else:
            print_output(chunk)


async def _last(site: Site, run_id: str, after: int, lines: int) -> Sequence[OutputView]:
    """The pieces that hold the last lines after a sequence number."""
    kept: deque[OutputView] = deque()
    before, left = _END, lines
    while items := (await read_output(site, run=run_id, after=after, before=before, most_bytes=_PAGE_BYTES)).items:
        for chunk in reversed(items):
            # The break that ends the last line begins none.
            body = chunk.text if kept else chunk.text.removesuffix("\n")
            count = body.count("\n")
            if count >= left:
                begin = len(body.rsplit("\n", left)[0]) + 1
                kept.appendleft(msgspec.structs.replace(chunk, text=chunk.text[begin:]))
                return kept
            kept.appendleft(chunk)
            left -= count
        before = items[0].sequence
    return kept


async def _latest(site: Site, job: str) -> str:
    """The latest run of a job that somebody took up; one that is skipped or waits has nothing to show."""
    found = (await list_runs(site, job=job, limit=_LOOKED_AT)).items
    run = next((one for one in found if one.worker is not None), None)
    if run is None:
        raise NotFoundError(f"{job} has not run yet. Run it now: rota job run {job}")
    return run.id
