"""Comparison of methods by their losses: log loss for classes, root mean squared error for numbers.

A loss is normalised on each data set: 1 for the best method, 0 for a model that knows only the shares of the classes or
the mean of the target (or for the worst method, if that is better). Differences between two methods are paired: one
number per data set, with an interval over data sets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.table import Table
from scipy.stats import t as student

from gramian.bench import metrics
from gramian.bench.summary import splits_of_all
from gramian.bench.tasks import CLASSIFICATION, REGRESSION
from gramian.records import Record

_LEVEL = 0.95
_FIFTH = 4
Losses = Float[np.ndarray, "sets methods"]


@dataclass(frozen=True)
class PairedDifference:
    """The mean over data sets of a difference between two methods, with a 95 % interval of Student's t."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Float[np.ndarray, " sets"]) -> PairedDifference:
        """Compute mean and interval of one difference per data set.

        >>> found = PairedDifference.of(np.array([1.0, 2.0, 3.0]))
        >>> round(found.low, 2), found.mean, round(found.high, 2)
        (-0.48, 2.0, 4.48)
        """
        mean = float(values.mean())
        if len(values) < 2:
            return cls(mean, -math.inf, math.inf)
        half = float(student.ppf((1 + _LEVEL) / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))
        return cls(mean, mean - half, mean + half)

    def text(self, digits: int = 3) -> str:
        """Return the numbers as text, with their signs."""
        return f"{self.mean:+.{digits}f} ({self.low:+.{digits}f} to {self.high:+.{digits}f})"


@dataclass(frozen=True, eq=False)
class LossComparison:
    """Losses of the methods that have them on every data set that all of them finished.

    Attributes
    ----------
    suites : tuple of str
    kind : str
        "classification" (log loss) or "regression" (root mean squared error over the standard deviation of the test
        targets, which is ``√(1 − R²)``).
    sets, methods : tuple of str
        Methods are ordered by their mean normalised loss.
    losses : array (sets, methods)
        Means over splits.
    floors : array (sets,)
        Loss of a model that knows only the shares of the classes, or the mean of the target.
    accuracies, aucs : array (sets, methods)
        Accuracy or R², and area under the ROC curve (NaN where it does not exist), both means over splits.
    seconds, processor_seconds : array (methods,)
        Mean wall and processor time of a fit.
    """

    suites: tuple[str, ...]
    kind: str
    sets: tuple[str, ...]
    methods: tuple[str, ...]
    losses: Losses
    floors: Float[np.ndarray, " sets"]
    accuracies: Losses
    aucs: Losses
    seconds: Float[np.ndarray, " methods"]
    processor_seconds: Float[np.ndarray, " methods"]

    @property
    def loss_name(self) -> str:
        """Name of the loss."""
        return "log loss" if self.kind == CLASSIFICATION else "RMSE / σ"

    @property
    def title(self) -> str:
        """Title of the table."""
        return f"{', '.join(self.suites)}: {self.kind} by {self.loss_name}, {len(self.sets)} sets"

    @property
    def normalized(self) -> Losses:
        """Each loss between 0 (the floor, or the worst method) and 1 (the best method) of its data set."""
        worst = np.minimum(self.losses.max(axis=1), self.floors)[:, None]
        best = self.losses.min(axis=1)[:, None]
        span = np.where(worst - best > 0, worst - best, np.inf)
        return np.clip((worst - self.losses) / span, 0, 1)

    def ranks(self) -> Float[np.ndarray, " methods"]:
        """Mean rank of each method, 1 for the lowest loss."""
        return metrics.friedman_rank(-self.losses)

    def difference(self, first: str, second: str) -> PairedDifference:
        """Return the normalised loss of one method minus that of another; positive: the first is better."""
        a, b = self._column(first), self._column(second)
        return PairedDifference.of(self.normalized[:, a] - self.normalized[:, b])

    def log_ratio(self, first: str, second: str) -> PairedDifference:
        """Return the mean of ``log(loss of first / loss of second)``; negative: the first is better."""
        a, b = self._column(first), self._column(second)
        return PairedDifference.of(np.log(self.losses[:, a] / self.losses[:, b]))

    def wins(self, first: str, second: str) -> int:
        """Count the data sets on which the first method has the lower loss."""
        a, b = self._column(first), self._column(second)
        return int((self.losses[:, a] < self.losses[:, b]).sum())

    def rows(self) -> list[dict[str, Any]]:
        """Return the columns of the table by name, one entry per method."""
        normalized, ranks = self.normalized.mean(axis=0), self.ranks()
        best = metrics.wins(-self.losses)
        aucs = self.aucs[~np.isnan(self.aucs).any(axis=1)]  # of the sets on which every method has one
        mean_aucs = aucs.mean(axis=0) if len(aucs) else np.full(len(self.methods), math.nan)
        out = []
        for j, method in enumerate(self.methods):
            row = {"method": method, "rank": float(ranks[j]), "normalised": float(normalized[j])}
            row |= {"best on": int(best[j]), self.loss_name: float(self.losses[:, j].mean())}
            if self.kind == CLASSIFICATION:
                row |= {"AUC": float(mean_aucs[j]), "accuracy": float(self.accuracies[:, j].mean())}
            else:
                row["R²"] = float(self.accuracies[:, j].mean())
            out.append(row | {"fit s": float(self.seconds[j]), "processor s": float(self.processor_seconds[j])})
        return out

    def markdown(self) -> str:
        """Return the table in Markdown."""
        rows = self.rows()
        head = list(rows[0])
        lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
        lines += ["| " + " | ".join(_cell(name, row[name]) for name in head) + " |" for row in rows]
        return f"**{self.title}**\n\n" + "\n".join(lines) + "\n"

    def table(self) -> Table:
        """Return the table for the terminal."""
        rows = self.rows()
        table = Table(title=self.title, title_justify="left", box=None, padding=(0, 1, 0, 0))
        for name in rows[0]:
            table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
        for row in rows:
            style = "cyan" if row["method"].startswith("gramian") else None
            table.add_row(*(_cell(name, value) for name, value in row.items()), style=style)
        return table

    def as_dict(self) -> dict[str, Any]:
        """Return the table and all losses for a JSON file."""
        lines = zip(self.sets, self.losses.tolist(), strict=True)
        return {
            "suites": list(self.suites),
            "kind": self.kind,
            "methods": [{k: None if v != v else v for k, v in row.items()} for row in self.rows()],
            "losses": {name: dict(zip(self.methods, line, strict=True)) for name, line in lines},
            "floors": dict(zip(self.sets, self.floors.tolist(), strict=True)),
        }

    def _column(self, method: str) -> int:
        if method not in self.methods:
            raise ValueError(f"there are no losses of {method!r}: the methods are {', '.join(self.methods)}")
        return self.methods.index(method)


@dataclass(frozen=True)
class SeedDifference:
    """The losses of two fits that differ in their seed only, beside the distance from the first to the fifth method."""

    set: str
    difference: float
    first_to_fifth: float

    @property
    def is_small(self) -> bool:
        """True if the seed changes the loss by no more than this distance."""
        return self.difference <= self.first_to_fifth


def seed_differences(compared: LossComparison, again: LossComparison, method: str) -> list[SeedDifference]:
    """Compare a method with itself under another seed, on each data set that both comparisons have.

    Parameters
    ----------
    compared : LossComparison
        Of at least five methods, with the first seed.
    again : LossComparison
        Has the same method with another seed.
    method : str
    """
    if len(compared.methods) <= _FIFTH:
        raise ValueError(f"the distance to the fifth method needs five methods, there are {len(compared.methods)}")
    other = dict(zip(again.sets, again.losses[:, again._column(method)].tolist(), strict=True))
    out = []
    for name, losses in zip(compared.sets, compared.losses, strict=True):
        if name in other:
            ordered = np.sort(losses)
            mine = float(losses[compared._column(method)])
            out.append(SeedDifference(name, abs(mine - other[name]), float(ordered[_FIFTH] - ordered[0])))
    return out


def compare_losses(records: Sequence[Record], suites: Sequence[str], methods: Sequence[str] = ()) -> LossComparison:
    """Compare the losses of methods over the data sets of one or several suites of one kind.

    Parameters
    ----------
    records : sequence of dict
        Records of :class:`gramian.bench.cell.BenchCell`. Of several for one cell the last counts.
    suites : sequence of str
    methods : sequence of str
        By default all methods in the records that have a loss everywhere.
    """
    found = [r for r in records if r["suite"] in suites]
    kinds = {r["kind"] for r in found}
    if len(kinds) != 1:
        raise ValueError(f"a comparison needs records of one kind of task, got {', '.join(sorted(kinds)) or 'none'}")
    cells = {(r["set"], r["method"], r["split"]): r for r in found}
    present = list(dict.fromkeys(r["method"] for r in found))
    without = {r["method"] for r in found if _loss(r) is None}
    chosen = list(methods) or [name for name in present if name not in without]
    common = splits_of_all(found, chosen)
    complete = [name for name in common if common[name]]
    if not complete or not chosen:
        raise ValueError("no data set is finished by every method")

    def mean(what: str) -> Losses:
        def of(name: str, method: str) -> float:
            parts = [cells[name, method, s] for s in common[name]]
            values = [_loss(r) if what == "loss" else r.get(what) for r in parts]
            return math.nan if None in values else float(np.mean(values))  # type: ignore[arg-type]

        return np.array([[of(name, method) for method in chosen] for name in complete])

    losses = mean("loss")
    if np.isnan(losses).any():
        missing = [m for m, values in zip(chosen, losses.T, strict=True) if np.isnan(values).any()]
        raise ValueError(f"{', '.join(missing)} has no loss on some data sets: name other methods")
    floors = np.array([np.mean([_floor(cells[name, chosen[0], s]) for s in common[name]]) for name in complete])
    each = [[cells[name, m, s] for name in complete for s in common[name]] for m in chosen]
    made = LossComparison(
        tuple(suites),
        kinds.pop(),
        tuple(complete),
        tuple(chosen),
        losses,
        floors,
        mean("score"),
        mean("auc"),
        np.array([np.mean([r["fit_seconds"] for r in part]) for part in each]),
        np.array([np.mean([r.get("fit_processor_seconds") or math.nan for r in part]) for part in each]),
    )
    return _ordered(made)


def _ordered(made: LossComparison) -> LossComparison:
    order = np.argsort(-made.normalized.mean(axis=0), kind="stable")
    return replace(
        made,
        methods=tuple(made.methods[j] for j in order),
        losses=made.losses[:, order],
        accuracies=made.accuracies[:, order],
        aucs=made.aucs[:, order],
        seconds=made.seconds[order],
        processor_seconds=made.processor_seconds[order],
    )


def _loss(record: Record) -> float | None:
    if record["kind"] == REGRESSION:
        return None if math.isnan(record["score"]) else math.sqrt(max(0.0, 1 - record["score"]))
    return record["log_loss"]


def _floor(record: Record) -> float:
    """Return the loss of a model that knows the mean of the target (1) or the shares of the classes."""
    return 1.0 if record["kind"] == REGRESSION else float(record["prior_log_loss"])


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "–"
    return f"{value:.2f}" if name in ("rank", "fit s", "processor s") else f"{value:.3f}"
