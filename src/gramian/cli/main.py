"""The entry point: the command group, its common options, and its handling of errors."""

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

_USER_ERRORS = (ValueError, OSError, ImportError, RuntimeError, MemoryError)
"""Errors caused by arguments, files and hardware, which are printed as one line. All others are bugs of gramian and
keep their traceback."""
_BROKEN_PIPE = 141
"""The exit code of a command whose output pipe was closed (``| head``), as shells give it: 128 + SIGPIPE."""


class _Group(click.Group):
    """A group that prints errors of the user as one line, unless ``--debug`` is given."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of ``ENTRIES``, not of the alphabet

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # Only the command that is called is imported; the others are listed by their entries.
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and ENTRIES[str(name)].load(), rest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # --debug may stand anywhere: people append it to a command that has just failed.
        mine = args[: args.index("--")] if "--" in args else args
        if "--debug" in mine:
            args = ["--debug", *(word for word in mine if word != "--debug"), *args[len(mine) :]]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _print_warning
                result = super().invoke(ctx)
                sys.stdout.flush()  # here, where a closed pipe can still be caught
                return result
        except KeyboardInterrupt:
            click.echo("Interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _discard_output()
            raise click.exceptions.Exit(_BROKEN_PIPE) from None
        except (click.exceptions.Exit, click.Abort):
            raise
        except _USER_ERRORS as error:
            if ctx.params["debug"]:
                raise
            message = " ".join(str(error).split()) or type(error).__name__
            raise click.ClickException(f"{message} (--debug shows where)") from error


def _discard_output() -> None:
    """Redirect standard output to the null device: the rest of its buffer would fail again at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _print_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """Print a warning as one line, without the source line that raised it."""
    # click.echo would write into the line of a progress bar that is on the screen.
    sys.stderr.write(f"Warning: {' '.join(str(message).split())}\n")


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gramian", message="%(prog)s %(version)s")
@click.option("-v", "--verbose", count=True, help="Print log messages; twice for all details.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error; may be given anywhere.")
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
      0    success
      1    the command failed; one line on standard error gives the reason
      2    a command or option is not valid
      130  interrupted by Ctrl-C; finished results are kept if possible

    --json, where a command has it, prints one document on standard output and nothing else.
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
    except KeyboardInterrupt:  # during completion, before the group handles interrupts
        sys.exit(INTERRUPTED)
