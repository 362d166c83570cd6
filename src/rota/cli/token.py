"""``rota token``: who may come in through the doors."""

from __future__ import annotations

import click

from rota.cli.command import Group
from rota.cli.shown import brief, moment, print_json
from rota.cli.store_command import Site, store_command
from rota.cli.table import Cell, print_table
from rota.operations.tokens import TokenView, create_token, list_tokens, revoke_token
from rota.ports.caller import Role


@click.group("token", cls=Group, examples=("rota token create ci --role operate --expires-in 30d", "rota token list"))
def command() -> None:
    """Make, show and revoke tokens for the API and the page."""


@command.command(
    "create",
    examples=("rota token create ci --role operate --expires-in 30d", "rota token create me --role admin --json"),
)
@click.argument("name")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]), help="What its holder may do.")
@click.option("--expires-in", metavar="DURATION", help="How long it is good for. Default: until revoked.")
@store_command("token.create")
async def create(site: Site, *, name: str, role: str, expires_in: str | None, as_json: bool) -> None:
    """Make a token for NAME. It is printed now and never again.

    read looks at everything; operate also runs, cancels, pauses and gives hints; admin may do everything.
    """
    made = await create_token(site, name=name, role=Role(role), expires_in=expires_in)
    if as_json:
        print_json(made)
        return
    click.echo(made.token)
    end = moment(made.expires_at, site.clock.now()) if made.expires_at else f"until: rota token revoke {made.id}"
    click.echo(
        f"{made.id}, {made.role}, good {'until ' if made.expires_at else ''}{end}. Keep it: it is not shown again.",
        err=True,
    )


@command.command("list", examples=("rota token list", "rota token list --json"))
@store_command("token.list")
async def list_all(site: Site, *, as_json: bool) -> None:
    """Show every token that was made, without its secret."""
    found = (await list_tokens(site)).items
    if as_json:
        print_json(found)
    elif found:
        now = site.clock.now()
        titles = ("token", "name", "role", "", "made", "by", "used")
        print_table(
            titles, ((*_row(one), brief(one.made_at, now), one.made_by, brief(one.used_at, now)) for one in found)
        )
    else:
        click.echo("No tokens. Make one: rota token create NAME --role read")


def _row(one: TokenView) -> tuple[Cell, ...]:
    state = "valid" if one.is_valid else "revoked" if one.revoked_at else "expired"
    return Cell(one.id), Cell(one.name), Cell(one.role), Cell(state, "green" if one.is_valid else "bright_black")


@command.command("revoke", examples=("rota token revoke ci",))
@click.argument("token", metavar="TOKEN")
@store_command("token.revoke")
async def revoke(site: Site, *, token: str, as_json: bool) -> None:
    """Make a token useless, by its id or its name."""
    gone = await revoke_token(site, token=token)
    if as_json:
        print_json(gone)
    else:
        click.echo(f"Revoked {gone.name} ({gone.id})")
