"""Reliability of probabilities: the share of correct predictions as a function of the predicted probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from gramian.core.statistics import wilson_interval
from gramian.display import Bar, Plottable, Section, Table, bars

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Plottable):
    """Rows in bins of equal width by the probability of the predicted class; bins without rows are left out.

    ``confidence`` is the mean of those probabilities, ``accuracy`` the share of correct predictions, ``low`` and
    ``high`` Wilson's interval for it at ``level``, ``count`` the effective number of rows, and ``error`` the expected
    calibration error ``Σ_b w_b |accuracy_b − confidence_b|``. ``source`` names the rows: folds, splits,
    evaluation set, leave-one-out, or new rows.
    """

    confidence: Float[np.ndarray, " b"]
    accuracy: Float[np.ndarray, " b"]
    low: Float[np.ndarray, " b"]
    high: Float[np.ndarray, " b"]
    count: Float[np.ndarray, " b"]
    error: float
    level: float
    source: str

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per bin."""
        import pandas as pd

        names = ("confidence", "accuracy", "low", "high", "count")
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def sections(self) -> list[Section]:
        """Return a table with one line per bin."""
        rows: list[list[str | Bar]] = [
            [f"{predicted:.1%}", bar, f"{observed:.1%}", f"{low:.1%} – {high:.1%}", f"{count:,.0f}"]
            for predicted, bar, observed, low, high, count in zip(
                self.confidence, bars((self.accuracy - self.confidence).tolist()), self.accuracy, self.low, self.high,
                self.count, strict=True,
            )
        ]  # fmt: skip
        note = f"calibration error {self.error:.1%}; {self.level:.0%} intervals; the bars are accuracy less confidence"
        headings = ["predicted", "", "observed", "interval", "rows"]
        return [Section(f"probabilities of the predicted class ({self.source})", Table(headings, rows), note)]


def reliability(
    p: Float[np.ndarray, "n c"],
    labels: Int[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    bins: int = 10,
    level: float = 0.9,
    source: str = "new rows",
    copies: Float[np.ndarray, " n"] | None = None,
) -> Reliability:
    """Compare probabilities ``(n, classes)`` with the observed classes.

    ``copies (n,)`` are the numbers of rows of a table that each row stands for; one each by default.

    >>> found = reliability(np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]]), np.array([0, 1, 1]), np.ones(3))
    >>> found.confidence.tolist(), found.accuracy.tolist()
    ([0.6, 0.9], [1.0, 0.5])
    """
    if not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins must be a positive integer, got {bins!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    confidences, hit = p.max(axis=1), (p.argmax(axis=1) == labels).astype(np.float64)
    # Nine tenths are 8.99… tenths in binary; such a row belongs to the bin that begins there.
    which = np.minimum((confidences * bins + 1e-9).astype(int), bins - 1)
    mass = np.bincount(which, weights, minlength=bins)
    kept = mass > 0
    squares = np.bincount(which, weights**2 if copies is None else weights**2 / copies, minlength=bins)[kept]
    confidence = np.bincount(which, weights * confidences, minlength=bins)[kept] / mass[kept]
    accuracy = np.bincount(which, weights * hit, minlength=bins)[kept] / mass[kept]
    count = mass[kept] ** 2 / squares
    error = float(np.abs(accuracy - confidence) @ mass[kept] / mass.sum())
    low, high = wilson_interval(accuracy, count, level)
    return Reliability(confidence, accuracy, low, high, count, error, level, source)
