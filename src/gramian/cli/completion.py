"""``gramian completion``: scripts for bash, zsh and fish, and completion of column names."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

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
    """Complete ``--target`` and ``--drop`` with the column names of the table that is named on the command line."""
    # An option without a value stops click before it names the arguments: they are in ctx.args then.
    places = [place for place in (ctx.params.get("data"), *ctx.args) if place is not None]
    return [CompletionItem(name) for place in places[:1] for name in _header(place) if name.startswith(incomplete)]


def _header(path: Any) -> list[str]:
    path = Path(str(path))
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors="strict") as file:
            first = file.readline()
    except (OSError, EOFError, UnicodeDecodeError):
        return []  # no such file, or no text file: there is nothing to complete
    mark = "," if "," in first else ";" if ";" in first else "\t"
    return [name.strip() for name in next(csv.reader([first], delimiter=mark), [])]
