"""Whether probabilities mean what they say: how often the predicted class is right, by how sure the model was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import norm

from gramian.display import Bar, Renderable, Section, Table, bars


@dataclass(frozen=True, eq=False)
class Reliability(Renderable):
    """Rows in bins of equal width by the probability of the predicted class; bins without rows are left out.

    ``confidence`` is the mean of those probabilities, ``accuracy`` the share of predictions that were right, ``low``
    and ``high`` Wilson's interval for it at ``level``, ``count`` the rows (those the weights amount to), and ``error``
    the expected calibration error ``Σ_b w_b |accuracy_b − confidence_b|``. ``source`` says which rows: the folds, an
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

    def to_pandas(self) -> Any:
        """A frame with one line per bin."""
        import pandas as pd

        names = ("confidence", "accuracy", "low", "high", "count")
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def sections(self) -> list[Section]:
        rows: list[list[str | Bar]] = [
            [f"{said:.1%}", bar, f"{right:.1%}", f"{low:.1%} – {high:.1%}", f"{count:,.0f}"]
            for said, bar, right, low, high, count in zip(
                self.confidence, bars((self.accuracy - self.confidence).tolist()), self.accuracy, self.low, self.high,
                self.count, strict=True,
            )
        ]  # fmt: skip
        note = f"calibration error {self.error:.1%}; {self.level:.0%} intervals; the bars are accuracy less confidence"
        headings = ["said", "", "was right", "interval", "rows"]
        return [Section(f"probabilities of the predicted class ({self.source})", Table(headings, rows), note)]


def reliability(
    p: Float[np.ndarray, "n c"],
    labels: Int[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    bins: int = 10,
    level: float = 0.9,
    source: str = "new rows",
) -> Reliability:
    """Probabilities ``(n, classes)`` beside the classes that came.

    >>> found = reliability(np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]]), np.array([0, 1, 1]), np.ones(3))
    >>> found.confidence.tolist(), found.accuracy.tolist()
    ([0.6, 0.9], [1.0, 0.5])
    """
    if not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins must be a positive integer, got {bins!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    sure, hit = p.max(axis=1), (p.argmax(axis=1) == labels).astype(np.float64)
    # Nine tenths are 8.99… tenths in binary: such a row belongs to the bin it begins.
    which = np.minimum((sure * bins + 1e-9).astype(int), bins - 1)
    mass = np.bincount(which, weights, minlength=bins)
    kept = mass > 0
    squares = np.bincount(which, weights**2, minlength=bins)[kept]
    confidence = np.bincount(which, weights * sure, minlength=bins)[kept] / mass[kept]
    accuracy = np.bincount(which, weights * hit, minlength=bins)[kept] / mass[kept]
    count = mass[kept] ** 2 / squares
    error = float(np.abs(accuracy - confidence) @ mass[kept] / mass.sum())
    low, high = wilson(accuracy, count, level)
    return Reliability(confidence, accuracy, low, high, count, error, level, source)


def wilson(share: Any, count: Any, level: float) -> tuple[Any, Any]:
    """Wilson's interval at ``level`` for a share of ``count`` rows: numbers, or arrays of equal shape.

    >>> [round(float(end), 3) for end in wilson(1.0, 10, 0.95)]
    [0.722, 1.0]
    """
    z = norm.ppf((1 + level) / 2)
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return np.minimum(middle - half, share).clip(min=0), np.maximum(middle + half, share).clip(max=1)


def rows_of(weights: Float[np.ndarray, " n"]) -> float:
    """How many rows the weights amount to, ``(Σ w)² / Σ w²``: n where all are equal.

    >>> rows_of(np.array([2.0, 2.0, 0.0]))
    2.0
    """
    return float(weights.sum() ** 2 / (weights @ weights))
