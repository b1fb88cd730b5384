"""The entry point: the command group, its common options, and what happens to errors."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from functools import partial
from typing import Any

import click

from gramian import __version__
from gramian.cli.commands import ENTRIES
from gramian.cli.interrupts import INTERRUPTED

_YOURS = (ValueError, OSError, ImportError, RuntimeError, MemoryError)
"""Kinds of error that arguments, files and machines cause: one line says it all. Anything else is a bug of ours, and
its traceback is what a report of it needs."""
_NO_READER = 141
"""The exit code of a command whose reader has gone away (``| head``), as the shell gives it: 128 + SIGPIPE."""


class _Group(click.Group):
    """A group that turns errors the user can do something about into one line, unless ``--debug`` is given."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order in which one meets them, not of the alphabet

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # The one that is asked for is imported here; those that are only listed need no more than their line.
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and ENTRIES[str(name)].load(), rest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Wherever it stands: it is added to a command that has just failed, and that is at its end.
        mine = args[: args.index("--")] if "--" in args else args
        if "--debug" in mine:
            args = ["--debug", *(word for word in mine if word != "--debug"), *args[len(mine) :]]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _say_warning
                result = super().invoke(ctx)
                sys.stdout.flush()  # here, where a reader that has gone away can still be caught
                return result
        except KeyboardInterrupt:
            click.echo("Interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _discard_output()
            raise click.exceptions.Exit(_NO_READER) from None
        except (click.exceptions.Exit, click.Abort):
            raise
        except _YOURS as error:
            if ctx.params["debug"]:
                raise
            message = " ".join(str(error).split()) or type(error).__name__
            raise click.ClickException(f"{message} (--debug shows where)") from error


def _discard_output() -> None:
    """Let what is left in the buffer go nowhere: written at the end, it would fail once more, and loudly."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _say_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """One line, without the line of source it comes from: that is of no use here."""
    # Not by click.echo, which goes past the progress bar that may be on the screen and writes into its line.
    sys.stderr.write(f"Warning: {' '.join(str(message).split())}\n")


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gramian", message="%(prog)s %(version)s")
@click.option("-v", "--verbose", count=True, help="Say what is going on; twice for every detail.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error; may stand anywhere.")
@click.pass_context
def cli(ctx: click.Context, verbose: int, debug: bool) -> None:
    """Feature learning: kernel machines that learn which directions of the input matter, and instruments that show what
    a network has learned.

    \b
    Examples:
      gramian demo
      gramian fit houses.csv --target price --out houses.gramian
      gramian predict houses.gramian new.csv > predictions.csv
      gramian report houses.gramian --out houses.html
      gramian inspect weights.pt --model net:Net --data test.npz

    \b
    Exit codes:
      0    it is done
      1    the work failed; one line on standard error says why
      2    a command or option makes no sense
      130  Ctrl-C; what was finished is kept where that is possible

    --json, where there is one, prints one document on standard output and nothing else.
    """
    if verbose:
        from rich.console import Console
        from rich.logging import RichHandler

        handler = RichHandler(console=Console(stderr=True), show_path=False)
        log = logging.getLogger("gramian")
        before = log.level
        log.addHandler(handler)
        log.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
        ctx.call_on_close(partial(log.removeHandler, handler))
        ctx.call_on_close(partial(log.setLevel, before))


for _entry in ENTRIES.values():
    cli.add_command(_entry.listed())


def main() -> None:
    """Run the command line (the ``gramian`` script)."""
    try:
        cli(prog_name="gramian")
    except KeyboardInterrupt:  # while Tab waits for a command's options: the group is not running yet
        sys.exit(INTERRUPTED)
