"""``rota job chain``: the jobs that lead to a job, and those that follow from it."""

from __future__ import annotations

import click

from rota.cli.arguments import job_argument
from rota.cli.command import Command
from rota.cli.plain import one_line
from rota.cli.shown import COLOURS, print_json
from rota.cli.store_command import Site, store_command
from rota.operations.chains import MISSING, Chain, ChainJob, ChainLink, show_chain


@click.command("chain", cls=Command, examples=("rota job chain report", "rota job chain report --json"))
@job_argument()
@store_command("job.chain")
async def chain(site: Site, *, job: str, as_json: bool) -> None:
    """Show the jobs that lead to a job, those that follow from it, and on which conditions."""
    found = await show_chain(site, job=job)
    if as_json:
        print_json(found)
        return
    _print(found)
    if not found.links:
        click.echo("It is linked with no other job. One follows it by: --schedule 'after NAME on success'")


def _print(chain: Chain) -> None:
    """A tree: each job under the one that it follows."""
    following: dict[str, list[ChainLink]] = {}
    for link in chain.links:
        following.setdefault(link.parent, []).append(link)
    by_name = {one.name: one for one in chain.jobs}
    left: list[tuple[int, ChainJob, ChainLink | None]] = [(0, chain.jobs[0], None)]
    while left:
        level, one, came_by = left.pop()
        click.echo(_line(level, one, came_by))
        left += [(level + 1, by_name[after.child], after) for after in reversed(following.pop(one.name, []))]


def _line(level: int, one: ChainJob, link: ChainLink | None) -> str:
    name = click.style(one_line(one.name), bold=one.is_self)
    status = click.style(one.status, fg="red" if one.status == MISSING else COLOURS.get(one.status))
    return f"{'  ' * level}{name}  {status}{_condition(link)}"


def _condition(link: ChainLink | None) -> str:
    if link is None:
        return ""
    words = [f"on {link.on}", f"after {link.delay}" if link.delay else "", f"when {link.when}" if link.when else ""]
    return click.style(f"  {', '.join(one_line(word) for word in words if word)}", dim=True)
