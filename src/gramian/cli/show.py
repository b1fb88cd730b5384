"""Showing results on the terminal: tables, bars, and a picture made of characters."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.bar import Bar
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:  # help needs none of it
    from gramian.demo import DemoResult, PairedComparison, ScoreEstimate

_SHADES = " ░▒▓█"
_WIDTH = 30
_SHOWN = 5e-4
"""A share below this would read 0.0 %."""


def make_console() -> Console:
    """A console on standard output: colour on a terminal, plain text in a pipe."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a pipe without Unicode shows ? for a bar, and does not fail
    return _Console(highlight=False)


class _Console(Console):
    """A console that leaves it to the command group what becomes of a reader that has gone away."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise BrokenPipeError


def scores(comparison: PairedComparison) -> RenderableType:
    """Both models with mean ± standard error, and one line that says who won."""
    lines = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    lines.add_column(style="bold")
    lines.add_column(justify="right")
    lines.add_column(style="dim")
    splits = len(comparison.rfm_scores)
    lines.add_row("plain kernel ridge", _plus_minus(comparison.ridge, comparison.metric), "n_rounds=0")
    rounds = ", ".join(str(k) for k in comparison.best_rounds)
    lines.add_row("recursive features", _plus_minus(comparison.rfm, comparison.metric), f"selected rounds: {rounds}")
    gain = comparison.gain
    colour = {"better": "green", "worse": "red", "a tie": "yellow"}[comparison.verdict]
    text = {
        "better": "Feature learning helps",
        "worse": "Feature learning hurts",
        "a tie": "A tie",
    }[comparison.verdict]
    scale, unit = _scale(comparison.metric)
    verdict = (
        f"{text}: difference {scale * gain.mean:+.{2 if unit else 3}f} ± {scale * gain.error:.{2 if unit else 3}f}"
    )
    return Group(lines, Text(f"  {verdict}{unit and ' points'} over {splits} splits", style=f"bold {colour}"))


def importances(result: DemoResult, top: int = 8) -> RenderableType:
    """The largest importances as named bars; columns known to matter are marked."""
    true = set()
    if result.truth is not None:
        true = {result.names[i] for i in np.flatnonzero(np.abs(result.truth).sum(axis=1))}
    return bars(result.importances, top, true)


def bars(shares: Mapping[str, float], top: int = 8, true: AbstractSet[str] = frozenset()) -> RenderableType:
    """Shares by name, largest first, as bars; what is beyond the ``top`` is summed up."""
    entries = list(shares.items())
    top = max(1, min(top, sum(value >= _SHOWN for _, value in entries)))
    largest = entries[0][1] or 1.0
    lines = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    lines.add_column()
    lines.add_column(width=_WIDTH)
    lines.add_column(justify="right")
    lines.add_column(style="green")
    for name, value in entries[:top]:
        colour = "green" if name in true else "blue"
        lines.add_row(
            Text(name), Bar(largest, 0, value, width=_WIDTH, color=colour), f"{value:.1%}", "✓" if name in true else ""
        )
    left = len(entries) - top
    if left > 0:
        rest = Text(f"{left} more column{'s' if left > 1 else ''}", style="dim")
        lines.add_row(rest, "", Text(f"{sum(v for _, v in entries[top:]):.1%}", style="dim"), "")
    return lines


def pixels(result: DemoResult) -> RenderableType:
    """The diagonal of the learned matrix as shades, two characters a pixel."""
    if result.image_shape is None:
        raise ValueError("result holds no pictures: image_shape is None")
    amount = np.diag(result.comparison.model.feature_matrix_).reshape(result.image_shape)
    level = np.rint(amount / (amount.max() or 1.0) * (len(_SHADES) - 1)).astype(int)
    lines = ["  │" + "".join(2 * _SHADES[i] for i in row) + "│" for row in level]
    return Text("\n".join(lines), style="magenta")


def number(value: float) -> str:
    """Four digits, and thousands in full.

    >>> number(0.43217), number(10451.7), number(2.5e-7), number(3e8)
    ('0.4322', '10,452', '2.5e-07', '3e+08')
    """
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.4g}"


@dataclass(frozen=True)
class Rows:
    """A table of numbers whose columns go on in another table below where the screen ends."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        first, *rest = self.columns
        runs: list[list[str]] = [[]]
        used = start = self._width(first)
        for name in rest:
            if runs[-1] and used + self._width(name) > options.max_width:
                runs.append([])
                used = start
            runs[-1].append(name)
            used += self._width(name)
        for run in runs:
            table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
            for name in (first, *run):
                table.add_column(name.replace("_", " "), justify="left" if name == first else "right", no_wrap=True)
            for row in self.rows:
                table.add_row(*(Text(_cell(row.get(name))) for name in (first, *run)))
            yield table

    def _width(self, name: str) -> int:
        return 2 + max(len(name), *(len(_cell(row.get(name))) for row in self.rows))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.3f}"
    return "–" if value is None else str(value)


def _scale(metric: str) -> tuple[float, str]:
    return (100.0, "%") if metric == "accuracy" else (1.0, "")


def _plus_minus(estimate: ScoreEstimate, metric: str) -> str:
    scale, unit = _scale(metric)
    digits = 2 if unit else 3
    return f"{metric} {scale * estimate.mean:.{digits}f} ± {scale * estimate.error:.{digits}f}{unit and ' ' + unit}"
