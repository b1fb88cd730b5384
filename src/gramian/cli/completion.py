"""``gramian completion``: scripts for bash, zsh and fish, and completion of column names."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from gramian.tables.header import read_header

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the shell script that completes commands, options, files and columns.

    \b
    Examples:
      eval "$(gramian completion bash)"     # in ~/.bashrc
      eval "$(gramian completion zsh)"      # in ~/.zshrc, after compinit
      gramian completion fish > ~/.config/fish/completions/gramian.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    completer = found(click.get_current_context().find_root().command, {}, "gramian", "_GRAMIAN_COMPLETE")
    # The method of the base class: that of the bash class first runs bash for its version, and bash may be absent here.
    click.echo(ShellComplete.source(completer))


def complete_column(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete ``--target``, ``--drop`` and ``--keep`` with the columns of the table that the command line names.

    Only the first line of the table is read.
    """
    # An option without a value stops click before it names the arguments: they are in ctx.args then.
    places = [ctx.params.get("data"), *ctx.args]
    names = next((found for place in places if place is not None and (found := _header(ctx, str(place)))), [])
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _header(ctx: click.Context, place: str) -> list[str]:
    try:
        return read_header(Path(place), ctx.params.get("header") is not False) or []
    except (OSError, EOFError, ValueError):
        return []  # no such file, or no table: there is nothing to complete
