"""The entry point: the command group, its common options, and what happens to errors."""

from __future__ import annotations

import logging
import warnings
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.logging import RichHandler

from gramian import __version__
from gramian.cli.bench import bench
from gramian.cli.demo import demo, picture
from gramian.cli.fit import fit
from gramian.cli.info import info
from gramian.cli.predict import explain, predict
from gramian.cli.reproduce import reproduce

_YOURS = (ValueError, OSError, ImportError, RuntimeError, MemoryError)
"""Kinds of error that arguments, files and machines cause: one line says it all. Anything else is a bug of ours, and
its traceback is what a report of it needs."""


class _Group(click.Group):
    """A group that turns errors the user can do something about into one line, unless ``--debug`` is given."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _say_warning
                return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click's own signals, and a reader that has gone away: click ends both quietly
        except _YOURS as error:
            if ctx.params["debug"]:
                raise
            message = " ".join(str(error).split()) or type(error).__name__
            raise click.ClickException(f"{message} (gramian --debug shows where)") from error


def _say_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """One line, without the line of source it comes from: that is of no use here."""
    click.echo(f"Warning: {' '.join(str(message).split())}", err=True)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gramian", message="%(prog)s %(version)s")
@click.option("-v", "--verbose", count=True, help="Say what is going on; twice for every detail.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(ctx: click.Context, verbose: int, debug: bool) -> None:
    """Kernel machines that learn which directions of the input matter."""
    if verbose:
        handler = RichHandler(console=Console(stderr=True), show_path=False)
        log = logging.getLogger("gramian")
        before = log.level
        log.addHandler(handler)
        log.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
        ctx.call_on_close(partial(log.removeHandler, handler))
        ctx.call_on_close(partial(log.setLevel, before))


cli.add_command(demo)
cli.add_command(picture)
cli.add_command(info)
cli.add_command(fit)
cli.add_command(predict)
cli.add_command(explain)
cli.add_command(bench)
cli.add_command(reproduce)


def main() -> None:
    """Run the command line (the ``gramian`` script)."""
    cli(prog_name="gramian")
