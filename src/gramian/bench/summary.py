"""Tables from records: a matrix of scores per type of task, its metrics, and its output formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.table import Table

from gramian.bench import metrics
from gramian.bench.tasks import CLASSIFICATION, REGRESSION
from gramian.records import Record

_FORMATS = {
    "average": "{:.2f}",
    "R²": "{:.4f}",
    "normalised R²": "{:.3f}",
    "rank": "{:.2f}",
    "PMA": "{:.1f}",
    "P90": "{:.1f}",
    "P95": "{:.1f}",
    "ADTM": "{:.2f}",
    "wins": "{:.0f}",
    "log loss": "{:.3f}",
    "fit s": "{:.2f}",
    "predict s": "{:.2f}",
    "failures": "{:.0f}",
}
_SHORT = {"average": "avg", "normalised R²": "norm", "log loss": "logl", "predict s": "pred", "failures": "fail"}
"""Short column names for a terminal of 80 columns."""


@dataclass(frozen=True, eq=False)
class SuiteSummary:
    """Methods × metrics on the data sets and splits that every method has finished.

    ``rows`` has one entry per method, best average first: the columns of the table by name. ``scores`` are means over
    splits, sets × methods in the order of ``sets`` and ``rows``. ``unfinished`` are sets that a method lacks.
    """

    suite: str
    kind: str
    sets: tuple[str, ...]
    unfinished: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    scores: Float[np.ndarray, "sets methods"]

    @property
    def title(self) -> str:
        """Title of the table."""
        left = f"; {len(self.unfinished)} more not finished by all" if self.unfinished else ""
        return f"{self.suite}, {self.kind}: {len(self.sets)} sets{left}"

    def as_dict(self) -> dict[str, Any]:
        """Return the table for a JSON file."""
        order = [row["method"] for row in self.rows]
        return {
            "suite": self.suite,
            "kind": self.kind,
            "methods": [{k: v if _known(v) else None for k, v in row.items()} for row in self.rows],
            "scores": {
                name: dict(zip(order, line, strict=True))
                for name, line in zip(self.sets, self.scores.tolist(), strict=True)
            },
            "unfinished": list(self.unfinished),
        }

    def markdown(self) -> str:
        """Return the table in Markdown."""
        head = ["method", *self._columns()]
        lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
        lines += ["| " + " | ".join(self._cells(row)) + " |" for row in self.rows]
        return f"**{self.title}**\n\n" + "\n".join(lines) + "\n"

    def table(self) -> Table:
        """Return the table for the terminal."""
        table = Table(title=self.title, title_justify="left", box=None, padding=(0, 1, 0, 0))
        table.add_column("method", style="bold", no_wrap=True)
        for name in self._columns():
            table.add_column(_SHORT.get(name, name), justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*self._cells(row), style="cyan" if row["method"].startswith("gramian") else None)
        return table

    def _columns(self) -> list[str]:
        return [name for name in self.rows[0] if name != "method"]

    def _cells(self, row: dict[str, Any]) -> list[str]:
        return [
            row["method"],
            *(_FORMATS[name].format(row[name]) if _known(row[name]) else "–" for name in self._columns()),
        ]


def summarize(records: Sequence[Record], suite: str, methods: Sequence[str] = ()) -> list[SuiteSummary]:
    """Return one summary per type of task in a suite.

    Parameters
    ----------
    records : sequence of dict
        Records of :class:`gramian.bench.cell.BenchCell`. Of several for one cell (another version) the last counts.
    suite : str
    methods : sequence of str
        Methods to compare; all methods in the records by default.
    """
    cells = {(r["method"], r["set"], r["split"]): r for r in records if r["suite"] == suite}
    chosen = list(methods) or list(dict.fromkeys(method for method, _, _ in cells))
    found = [cell for cell in cells.values() if cell["method"] in chosen]
    kinds = [kind for kind in (CLASSIFICATION, REGRESSION) if any(r["kind"] == kind for r in found)]
    return [_summary(suite, kind, chosen, [r for r in found if r["kind"] == kind]) for kind in kinds]


def splits_of_all(records: Sequence[Record], methods: Sequence[str]) -> dict[str, list[int]]:
    """Return the splits of each data set that every method has: methods are compared on the same rows.

    >>> done = [("iris", "SVM", 0), ("iris", "SVM", 1), ("iris", "tree", 1), ("wine", "SVM", 0)]
    >>> splits_of_all([{"set": name, "method": m, "split": s} for name, m, s in done], ["SVM", "tree"])
    {'iris': [1], 'wine': []}
    """
    done = {(r["set"], r["method"], r["split"]) for r in records}
    splits = sorted({r["split"] for r in records})
    sets = dict.fromkeys(r["set"] for r in records)
    return {name: [s for s in splits if all((name, m, s) in done for m in methods)] for name in sets}


def _summary(suite: str, kind: str, methods: Sequence[str], records: Sequence[Record]) -> SuiteSummary:
    cells = {(r["set"], r["method"], r["split"]): r for r in records}
    common = splits_of_all(records, methods)
    complete = [name for name in common if common[name]]
    if not complete:
        return SuiteSummary(suite, kind, (), tuple(common), (), np.zeros((0, 0)))
    x = np.array([[np.mean([cells[name, m, s]["score"] for s in common[name]]) for m in methods] for name in complete])
    rows = []
    columns = _metrics(x, kind)
    for j, method in enumerate(methods):
        mine = [cells[name, method, s] for name in complete for s in common[name]]
        rows.append(
            {"method": method, **{name: float(values[j]) for name, values in columns.items()}, **_costs(mine, kind)}
        )
    order = sorted(range(len(rows)), key=lambda j: -x[:, j].mean())
    return SuiteSummary(
        suite,
        kind,
        tuple(complete),
        tuple(name for name in common if name not in complete),
        tuple(rows[j] for j in order),
        x[:, order],
    )


def _metrics(x: Float[np.ndarray, "sets methods"], kind: str) -> dict[str, Float[np.ndarray, " methods"]]:
    if kind == REGRESSION:
        first = {"R²": metrics.average(x), "normalised R²": metrics.normalized_r2(x)}
    else:
        first = {"average": 100 * metrics.average(x)}
    return first | {
        "rank": metrics.friedman_rank(x),
        "PMA": metrics.pma(x),
        "P90": metrics.within(x, 90),
        "P95": metrics.within(x, 95),
        "ADTM": metrics.adtm(x),
        "wins": metrics.wins(x),
    }


def _costs(records: Sequence[Record], kind: str) -> dict[str, float]:
    """Mean log loss (if every cell has one), mean seconds, number of failures."""
    losses = [r["log_loss"] for r in records]
    known = bool(losses) and None not in losses
    predict = [r["predict_seconds"] for r in records if r["predict_seconds"] is not None]
    out = {"log loss": float(np.mean(losses)) if known else math.nan} if kind == CLASSIFICATION else {}
    return out | {
        "fit s": float(np.mean([r["fit_seconds"] for r in records])),
        "predict s": float(np.mean(predict)) if predict else math.nan,
        "failures": float(sum(r["error"] is not None for r in records)),
    }


def _known(value: Any) -> bool:
    return not (isinstance(value, float) and math.isnan(value))
