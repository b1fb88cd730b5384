"""``gramian completion``: Tab in bash, zsh and fish; and what Tab offers for the columns of a table."""

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
    """Print the script that lets Tab complete commands, options, files and columns.

    \b
    Examples:
      eval "$(gramian completion bash)"     # in ~/.bashrc
      eval "$(gramian completion zsh)"      # in ~/.zshrc, after compinit
      gramian completion fish > ~/.config/fish/completions/gramian.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    made = kind(click.get_current_context().find_root().command, {}, "gramian", "_GRAMIAN_COMPLETE")
    # The base class': that of bash first runs bash to see how old it is, which the machine that prints may not have.
    click.echo(ShellComplete.source(made))


def complete_column(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names in the first line of the table that was named before, for ``--target`` and ``--drop``."""
    # An option that still lacks its value stops click before it gives arguments their names: they are in ctx.args then.
    places = [place for place in (ctx.params.get("data"), *ctx.args) if place is not None]
    return [CompletionItem(name) for place in places[:1] for name in _header(place) if name.startswith(incomplete)]


def _header(path: Any) -> list[str]:
    path = Path(str(path))
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors="strict") as file:
            first = file.readline()
    except (OSError, EOFError, UnicodeDecodeError):
        return []  # no such file, or none of text: nothing to offer, and no place to say so
    mark = "," if "," in first else ";" if ";" in first else "\t"
    return [name.strip() for name in next(csv.reader([first], delimiter=mark), [])]
