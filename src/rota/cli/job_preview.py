"""``rota job preview``: what a job would be, before it is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from rota.app import machine_zone
from rota.cli.arguments import agent_option
from rota.cli.command import Command
from rota.cli.job_options import job_options
from rota.cli.job_words import laid_over, source_name, text_of_file
from rota.cli.preview_shown import print_due_times, print_words
from rota.cli.refusal import BAD_INPUT, show_problems
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.errors import Problem
from rota.operations.drafting import JobPreview, preview_job

_EXAMPLES = (
    "rota job preview --daily 09:00 --quiet sat --quiet sun -- ./report.sh",
    "rota job preview --from-file report.yaml",
    "rota job preview --from-file report.yaml --timezone Asia/Tokyo --json",
)


@click.command("preview", cls=Command, examples=_EXAMPLES)
@click.option("--name", default="job", metavar="NAME", help="Its name; a stagger is counted from it.")
@agent_option("The agent that would own it.")
@job_options
@store_command("job.preview")
async def preview(
    site: Site,
    *,
    name: str,
    agent: str | None,
    source: Path | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - click's own
) -> int:
    """Show when a job would run, and everything that is wrong with it. Nothing is saved; exit 2 if it could not be."""
    text = "" if source is None else text_of_file(source)
    words, zone = laid_over({}, options), machine_zone()
    shown = await preview_job(site, text=text, definition=words, name=name, agent=agent, timezone=zone)
    if as_json:
        print_json(shown)
    elif shown.problems:
        show_problems([_placed(problem, source) for problem in shown.problems])
    else:
        _print(site, shown, zone)
    return BAD_INPUT if shown.problems else 0


def _placed(problem: Problem, source: Path | None) -> Problem:
    is_in_file = source is not None and problem.line
    return msgspec.structs.replace(problem, file=source_name(source)) if is_in_file and source else problem


def _print(site: Site, shown: JobPreview, zone: str) -> None:
    print_words(shown.in_words, shown.warnings, zone=shown.definition.get("timezone", zone))
    if not shown.next_times:
        click.echo("No due time: it only runs when something asks for it.")
    print_due_times(shown.next_times, now=site.clock.now())
