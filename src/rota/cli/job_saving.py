"""``rota job add`` and ``rota job edit``: saving what a job is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rota.app import machine_zone
from rota.cli.arguments import agent_option, job_argument
from rota.cli.command import Command
from rota.cli.job_editor import edit_in_editor
from rota.cli.job_options import job_options
from rota.cli.job_words import Words, has_words, in_file, laid_over, new_words, source_name, words_of_file
from rota.cli.plain import plain
from rota.cli.shown import moment, print_json
from rota.cli.store_command import Site, store_command
from rota.errors import FleetError
from rota.operations import jobs
from rota.operations.jobs import SavedJob

_ADD = (
    "rota job add tick --every 1s -- /bin/sh -c 'echo tick'",
    'rota job add report --cron "0 9 * * 1-5" --timezone Europe/Berlin -- ./report.sh',
    "rota job add ping --daily 09:00 --url https://example.org/ping --expect 200,204",
    "rota job add backup --from-file backup.yaml",
)
_EDIT = (
    "rota job edit report",
    "rota job edit report --daily 08:30 --timeout 30m",
    "rota job edit report --unset quiet --unset until",
    "rota job edit report --from-file report.yaml",
)


@click.command("add", cls=Command, examples=_ADD)
@click.argument("name")
@agent_option("The agent that owns the job.")
@click.option("--propose", "is_proposed", is_flag=True, help="Let it wait until somebody accepts it.")
@job_options
@store_command("job.add", "job.propose")
async def add(
    site: Site,
    *,
    name: str,
    agent: str | None,
    is_proposed: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - click's own
) -> None:
    """Save a new job NAME that runs ARGV, and show its next five due times."""
    save = jobs.propose_job if is_proposed else jobs.add_job
    words = new_words(options)
    try:
        saved = await save(site, name=name, definition=words, agent=agent, timezone=machine_zone())
    except FleetError as error:
        raise _placed(error, options["source"]) from None
    _show_saved(site, saved, as_json=as_json, verb="Proposed" if is_proposed else "Saved")


@click.command("edit", cls=Command, examples=_EDIT)
@job_argument()
@job_options
@click.option("--unset", "unset", multiple=True, metavar="WORD", help="Take a word of the fleet file away.")
@store_command("job.edit")
async def edit(
    site: Site,
    *,
    job: str,
    unset: tuple[str, ...],
    as_json: bool,
    **options: Any,  # noqa: ANN401 - click's own
) -> int | None:
    """Change what a job is. Only what is given changes; without any option it opens in your editor."""
    record = await jobs.find_job(site, job)
    jobs.refuse_from_file(record)
    shown = await jobs.show_job(site, job=record.id)
    if not has_words(options) and not unset:
        saved = await edit_in_editor(site, shown)
        if saved is None:
            click.echo("Nothing was changed.", err=True)
            return None
    else:
        words = _changed(shown.definition, options, unset)
        try:
            saved = await jobs.edit_job(site, job=record.id, definition=words, version=shown.version)
        except FleetError as error:
            raise _placed(error, options["source"]) from None
    _show_saved(site, saved, as_json=as_json, verb="Saved")
    return None


def _changed(before: Words, options: dict[str, Any], unset: tuple[str, ...]) -> Words:
    words = words_of_file(options["source"]) if options["source"] is not None else before
    for key in unset:
        if words.pop(key, None) is None:
            raise click.UsageError(f'This job has no "{key}" to take away. It has: {", ".join(words)}.')
    return laid_over(words, options)


def _placed(error: FleetError, source: Path | None) -> FleetError:
    return error if source is None else in_file(error, source_name(source))


def _show_saved(site: Site, saved: SavedJob, *, as_json: bool, verb: str) -> None:
    if as_json:
        print_json(saved)
        return
    click.echo(f"{verb} {saved.name} ({saved.id})")
    for warning in saved.warnings:
        click.secho(f"Warning: {plain(warning)}", fg="yellow")
    for at in saved.next_times:
        click.echo(f"  {moment(at, site.clock.now())}")
    if verb == "Proposed":
        click.echo(f"It waits to be accepted: rota job accept {saved.name}")
