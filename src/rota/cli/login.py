"""``rota login``: a link that lets a browser in."""

from __future__ import annotations

import click

from rota.app import PORT
from rota.cli.command import Command
from rota.cli.shown import moment, print_json
from rota.cli.store_command import Site, store_command
from rota.operations.sessions import make_login_link
from rota.ports.caller import Role


@click.command("login", cls=Command, examples=("rota login", "rota login --role read --url https://rota.example.org"))
@click.option("--role", default=Role.ADMIN.value, show_default=True, type=click.Choice([role.value for role in Role]))
@click.option("--url", default=f"http://127.0.0.1:{PORT}", show_default=True, help="Where the page is.")
@store_command("token.link")
async def command(site: Site, *, role: str, url: str, as_json: bool) -> None:
    """Print a link that lets one browser in, once, within ten minutes. What it then holds lasts 30 days."""
    link = await make_login_link(site, role=Role(role))
    if as_json:
        print_json(link)
        return
    click.echo(f"{url.rstrip('/')}{link.path}")
    click.echo(f"{link.role}, good for one browser until {moment(link.expires_at, site.clock.now())}", err=True)
