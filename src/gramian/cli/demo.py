"""``gramian demo``: a demonstration of feature learning in under two minutes, without a network."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gramian import __version__
from gramian.cli.interrupts import INTERRUPTED, noticing_interrupts
from gramian.core.atomic import atomic_write
from gramian.core.progress import progress

if TYPE_CHECKING:
    from gramian.demo import DemoResult


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo-output"),
    show_default=True,
    help="Folder for the figures.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of splits and data.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def demo(out: Path, seed: int, as_json: bool) -> None:
    """Fit kernel machines that learn features, and show the features.

    Four tasks on data that comes with scikit-learn or from a formula: a table with named columns, a known formula,
    images, and images with distractors. Each compares feature learning with kernel ridge regression on the same test
    rows. The figures of a task are written as soon as it is finished.

    \b
    Examples:
      gramian demo
      gramian demo --out figures --seed 1
      gramian demo --json | jq '.tasks[].difference'
    """
    begin = time.perf_counter()
    from rich.rule import Rule  # here: help needs none of it

    from gramian import demo as tasks
    from gramian.cli.demo_output import show_result
    from gramian.cli.output import emit, make_console
    from gramian.demo.figures import write_figures

    out.mkdir(parents=True, exist_ok=True)  # before the fits: a folder that cannot be written should not cost a minute
    console = make_console()
    results: list[DemoResult] = []
    figures: list[Path] = []
    for task in tasks.TASKS:
        with progress(task.title, task.fits, show=not as_json) as tick, noticing_interrupts() as interrupted:
            try:
                result = task.run(seed, partial(_step, tick, interrupted))
            except KeyboardInterrupt:
                click.echo(f"Interrupted: figures of {len(results)} finished tasks are in {out}", err=True)
                raise click.exceptions.Exit(INTERRUPTED) from None
        results.append(result)
        figures += write_figures(result, out)
        if not as_json:
            show_result(console, result)
    seconds = time.perf_counter() - begin
    if as_json:
        record = {
            "gramian": __version__,
            "seed": seed,
            "seconds": round(seconds, 2),
            "tasks": [result.as_record() for result in results],
            "figures": [str(path) for path in figures],
        }
        emit(record)
        return
    console.print(Rule(style="dim"))
    console.print(f"{len(figures)} figures in [bold]{out}/[/]: {', '.join(path.name for path in figures)}")
    console.print(
        f"{seconds:.0f} seconds. ± is the standard error over splits; in a tie the 95 % interval (Student) contains 0."
    )


@click.command()
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("docs/img/features.png"))
@click.option("--seed", type=click.IntRange(min=0), default=0)
def picture(out: Path, seed: int) -> None:
    """Draw the figure of the README."""
    from gramian.cli.output import make_console  # here: help needs none of it
    from gramian.demo.picture import draw as draw_picture

    suffix = out.suffix.lower().removeprefix(".") or "png"
    buffer = BytesIO()
    draw_picture(seed).savefig(buffer, dpi=160, format=suffix)
    atomic_write(out, buffer.getvalue())
    make_console().print(f"{out}: {out.stat().st_size / 1000:.0f} kB")


def _step(tick: Callable[[], None], interrupted: Callable[[], bool]) -> None:
    """Count a finished fit; after Ctrl-C, which a fit itself answers with its best round, stop here."""
    tick()
    if interrupted():
        raise KeyboardInterrupt
