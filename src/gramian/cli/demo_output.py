"""Results of ``gramian demo`` on the terminal: scores, importances, and a picture made of characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from gramian.cli.shares import share_table
from gramian.display import Cell, Section, Table, to_rich

if TYPE_CHECKING:  # help needs none of it
    from gramian.demo import DemoResult, PairedComparison, ScoreEstimate

_SHADES = " ░▒▓█"
_VERDICTS = {
    "better": ("Feature learning helps", "green"),
    "worse": ("Feature learning hurts", "red"),
    "a tie": ("A tie", "yellow"),
}


def scores(comparison: PairedComparison) -> RenderableType:
    """Show both models with mean ± standard error, and one line with the verdict."""
    rounds = ", ".join(str(k) for k in comparison.best_rounds)
    table = Table(
        ["", "", ""],
        [
            ["plain kernel ridge", _plus_minus(comparison.ridge, comparison.metric), Cell("n_rounds=0", "quiet")],
            [
                "recursive features",
                _plus_minus(comparison.rfm, comparison.metric),
                Cell(f"selected rounds: {rounds}", "quiet"),
            ],
        ],
    )
    gain, splits = comparison.gain, len(comparison.rfm_scores)
    text, colour = _VERDICTS[comparison.verdict]
    scale, unit = _scale(comparison.metric)
    digits = 2 if unit else 3
    difference = f"difference {scale * gain.mean:+.{digits}f} ± {scale * gain.error:.{digits}f}"
    verdict = f"{text}: {difference}{unit and ' points'} over {splits} splits"
    return _indented(Group(to_rich([Section("", table)]), Text(verdict, style=f"bold {colour}")))


def importances(result: DemoResult) -> RenderableType:
    """Show the largest importances as bars; columns that are known to matter are marked."""
    true = set()
    if result.truth is not None:
        true = {result.names[i] for i in np.flatnonzero(np.abs(result.truth).sum(axis=1))}
    return _indented(to_rich([Section("", share_table(result.importances, marked=true))]))


def pixels(result: DemoResult) -> RenderableType:
    """Show the diagonal of the learned matrix as shades, two characters per pixel."""
    if result.image_shape is None:
        raise ValueError("result holds no pictures: image_shape is None")
    amount = np.diag(result.comparison.model.feature_matrix_).reshape(result.image_shape)
    level = np.rint(amount / (amount.max() or 1.0) * (len(_SHADES) - 1)).astype(int)
    lines = ["  │" + "".join(2 * _SHADES[i] for i in row) + "│" for row in level]
    return Text("\n".join(lines), style="magenta")


def _indented(shown: RenderableType) -> RenderableType:
    return Padding(shown, (0, 0, 0, 2))


def _scale(metric: str) -> tuple[float, str]:
    return (100.0, "%") if metric == "accuracy" else (1.0, "")


def _plus_minus(estimate: ScoreEstimate, metric: str) -> str:
    scale, unit = _scale(metric)
    digits = 2 if unit else 3
    return f"{metric} {scale * estimate.mean:.{digits}f} ± {scale * estimate.error:.{digits}f}{unit and ' ' + unit}"


def show_result(console: Console, result: DemoResult) -> None:
    """Print the result of a task: its scores, its importances, and what it found of the true directions."""
    console.print(Rule(result.title, align="left", style="cyan"))
    console.print(f"  {result.question}\n")
    console.print(scores(result.comparison))
    console.print()
    if result.image_shape is None:
        console.print("  Importances of the columns:")
        console.print(importances(result))
    else:
        console.print("  Importances of the pixels:")
        console.print(pixels(result))
    if result.recovered is not None:
        before = f"{result.unlearned:.0%} before learning"
        console.print(f"  {result.recovered:.1%} of the learned matrix is in the true directions ({before}).")
    console.print()
