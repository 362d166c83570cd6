"""``rota completion``: what makes a shell complete commands, names and ids."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from rota.cli.command import Command

_EXAMPLES = (
    'eval "$(rota completion bash)"',
    "rota completion zsh > ~/.zfunc/_rota",
    "rota completion fish > ~/.config/fish/completions/rota.fish",
)


@click.command("completion", cls=Command, examples=_EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, *, shell: str) -> None:
    """Print a script that makes SHELL complete commands, job names, run ids, agents and pools."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    scripts = kind(context.find_root().command, {}, "rota", "_ROTA_COMPLETE")
    click.echo(scripts.source_template % scripts.source_vars())
