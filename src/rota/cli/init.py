"""``rota init``: a first fleet file."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from rota.app import machine_zone
from rota.cli.asking import answer, is_terminal
from rota.cli.command import Command
from rota.cli.shown import print_json
from rota.cli.store_command import Site, store_command
from rota.core.zone import zone_named
from rota.errors import ConflictError, InputError, StoreError
from rota.operations.starting import example_fleet, fleet_name

_EXAMPLES = ("rota init", "rota init ~/agents --yes", "rota init --force")
_PROGRAMS = ("claude", "codex", "gemini")


@click.command("init", cls=Command, examples=_EXAMPLES)
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", "is_forced", is_flag=True, help="Write over a fleet file that is there.")
@click.option("--yes", "is_sure", is_flag=True, help="Ask nothing; take what is found on this machine.")
@store_command("fleet.example", is_open=False)
async def command(site: Site, *, folder: Path | None, is_forced: bool, is_sure: bool, as_json: bool) -> None:
    """Write a first fleet file into FOLDER, by default this one. It works at once, and explains itself."""
    place = (folder or Path.cwd()).expanduser().absolute()
    name, zone = fleet_name(str(place)), machine_zone()
    programs = tuple(program for program in _PROGRAMS if shutil.which(program))
    _refuse_to_overwrite(place, is_forced=is_forced)
    if not is_sure and not as_json and is_terminal():
        name = answer("Name of the fleet", default=name)
        zone = answer("Time zone", default=zone, check=_zone)
    example = await example_fleet(site, programs=programs, timezone=zone, folder=name)
    path = place / example.file
    try:
        place.mkdir(parents=True, exist_ok=True)
        path.write_text(example.text, "utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from None
    if as_json:
        print_json({"file": str(path), "timezone": zone, "programs": programs})
        return
    click.echo(f"Wrote {path} (time zone {zone}{', found ' + ', '.join(programs) if programs else ''}).")
    _say_what_next(place)


def _refuse_to_overwrite(place: Path, *, is_forced: bool) -> None:
    there = next((place / name for name in ("rota.yaml", "rota.yml") if (place / name).exists()), None)
    if there is not None and not is_forced:
        raise ConflictError(f"{there} is there already. Write over it: rota init --force")


def _zone(text: str) -> str:
    try:
        zone_named(text)
    except InputError as error:
        raise click.UsageError(str(error)) from None
    return text


def _say_what_next(place: Path) -> None:
    lines = [] if place == Path.cwd() else [f"cd {place}"]
    lines += ["rota check     # is anything wrong with it?", "rota up        # start the engine, which applies it"]
    click.echo("What to do next:")
    for line in lines:
        click.echo(f"  {line}")
