"""``gramian demo``: what feature learning does, in under two minutes, without a network."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
from matplotlib.axes import Axes
from rich.rule import Rule

from gramian import __version__
from gramian.cli import demo_output
from gramian.cli.comparison import Estimate
from gramian.cli.interrupts import INTERRUPTED, noticing_interrupts
from gramian.cli.output import emit, make_console
from gramian.cli.picture import draw as draw_picture
from gramian.cli.tasks import TASKS, Result
from gramian.core.progress import progress
from gramian.report import plot_directions, plot_feature_matrix, plot_image_features, plot_importances, plot_rounds

_DPI = 150


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo-output"),
    show_default=True,
    help="Folder for the figures.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of splits and draws.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def demo(out: Path, seed: int, as_json: bool) -> None:
    """Fit kernel machines that learn features, and show what they learned.

    Four tasks on data that comes with scikit-learn or from a formula: a table with named columns, a formula whose
    answer is known, pictures, and pictures with distractors. Each is compared with plain kernel ridge on the same
    held-out rows. Figures of a task are there as soon as it is done.

    \b
    Examples:
      gramian demo
      gramian demo --out figures --seed 1
      gramian demo --json | jq '.tasks[].difference'
    """
    begin = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)  # before the work: a folder that cannot be written should not cost a minute
    console = make_console()
    results: list[Result] = []
    figures: list[Path] = []
    for task in TASKS:
        with progress(task.title, task.fits, show=not as_json) as tick, noticing_interrupts() as interrupted:
            try:
                result = task.run(seed, partial(_step, tick, interrupted))
            except KeyboardInterrupt:
                click.echo(f"Interrupted: figures of {len(results)} finished tasks are in {out}", err=True)
                raise click.exceptions.Exit(INTERRUPTED) from None
        results.append(result)
        figures += _figures(result, out)
        if not as_json:
            _show(console, result)
    seconds = time.perf_counter() - begin
    if as_json:
        record = {
            "gramian": __version__,
            "seed": seed,
            "seconds": round(seconds, 2),
            "tasks": [_record(result) for result in results],
            "figures": [str(path) for path in figures],
        }
        emit(record)
        return
    console.print(Rule(style="dim"))
    console.print(f"{len(figures)} figures in [bold]{out}/[/]: {', '.join(path.name for path in figures)}")
    console.print(
        f"{seconds:.0f} seconds. ± is the standard error over splits; a tie has 0 in its 95 % interval (Student's t)."
    )


@click.command()
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("docs/img/features.png"))
@click.option("--seed", type=click.IntRange(min=0), default=0)
def picture(out: Path, seed: int) -> None:
    """Draw the picture of the README."""
    out.parent.mkdir(parents=True, exist_ok=True)
    draw_picture(seed).savefig(out, dpi=160)
    make_console().print(f"{out}: {out.stat().st_size / 1000:.0f} kB")


def _step(tick: Callable[[], None], interrupted: Callable[[], bool]) -> None:
    """After a fit: one that Ctrl-C cut short has given what it had, and nobody wants the next."""
    tick()
    if interrupted():
        raise KeyboardInterrupt


def _show(console: Any, result: Result) -> None:
    console.print(Rule(result.title, align="left", style="cyan"))
    console.print(f"  {result.question}\n")
    console.print(demo_output.scores(result.comparison))
    console.print()
    if result.image_shape is None:
        console.print("  What the prediction depends on:")
        console.print(demo_output.importances(result))
    else:
        console.print("  Pixels the model learned to look at:")
        console.print(demo_output.pixels(result))
    if result.recovered is not None:
        before = f"{result.unlearned:.0%} before learning"
        console.print(f"  {result.recovered:.1%} of the learned matrix lies in the true directions ({before}).")
    console.print()


def _figures(result: Result, out: Path) -> list[Path]:
    """Draw the result's figures as PNG files and say where they are."""
    model = result.comparison.model
    axes: dict[str, Axes] = {"rounds": plot_rounds(model)}
    if result.image_shape is not None:
        axes["pixels"] = plot_image_features(model, result.image_shape, scale_bar=True)
    else:
        axes["importances"] = plot_importances(model, names=result.names)
        axes["matrix"] = plot_feature_matrix(model, names=result.names)
        axes["directions"] = plot_directions(model, names=result.names)
    paths = []
    for name, ax in axes.items():
        path = out / f"{result.key}-{name}.png"
        ax.figure.savefig(path, dpi=_DPI)  # type: ignore[union-attr]
        paths.append(path)
    return paths


def _record(result: Result) -> dict[str, Any]:
    comparison = result.comparison

    def estimate(e: Estimate) -> dict[str, float]:
        return {"mean": e.mean, "standard_error": e.error}

    record: dict[str, Any] = {
        "task": result.key,
        "metric": comparison.metric,
        "kernel_ridge": {**estimate(comparison.ridge), "scores": comparison.ridge_scores},
        "rfm": {**estimate(comparison.rfm), "scores": comparison.rfm_scores, "kept_rounds": comparison.kept_rounds},
        "difference": {**estimate(comparison.gain), "verdict": comparison.verdict},
        "importances": result.importances,
    }
    if result.recovered is not None:
        record["in_true_subspace"] = {"learned": result.recovered, "before": result.unlearned}
    return record
