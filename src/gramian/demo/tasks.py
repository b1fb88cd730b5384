"""The tasks of the demonstration: a table with named columns, a known formula, images, and images with distractors.

All real data comes with scikit-learn; nothing is downloaded. The functions compute results; other modules display them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import StratifiedKFold

from gramian import RFMClassifier, RFMRegressor
from gramian.datasets import gated_product
from gramian.demo.comparison import DataSplit, PairedComparison, ScoreEstimate, compare

DIGIT_SHAPE = (8, 8)
CROWD_SHAPE = (8, 24)
"""Three digits next to each other."""


@dataclass(frozen=True, eq=False)
class DemoResult:
    """The result of a task."""

    key: str
    title: str
    question: str
    comparison: PairedComparison
    names: tuple[str, ...]
    truth: NDArray[np.float64] | None = None
    """Orthonormal basis (d, k) of the directions that the target depends on, if known."""
    image_shape: tuple[int, ...] | None = None

    @property
    def importances(self) -> dict[str, float]:
        """Columns and their importances, largest first."""
        values = self.comparison.model.feature_importances_
        return {self.names[i]: float(values[i]) for i in np.argsort(-values, kind="stable")}

    @property
    def recovered(self) -> float | None:
        """Share ``tr(UᵀMU) / tr(M)`` of the learned matrix in the true subspace U, if that is known."""
        if self.truth is None:
            return None
        M = self.comparison.model.feature_matrix_
        return float(np.trace(self.truth.T @ M @ self.truth) / np.trace(M))

    @property
    def unlearned(self) -> float | None:
        """Share of ``M = I``, the matrix before learning, in the true subspace: k/d."""
        return None if self.truth is None else self.truth.shape[1] / self.truth.shape[0]

    def as_record(self) -> dict[str, Any]:
        """Return scores, verdict and importances for a JSON document."""
        comparison = self.comparison

        def estimate(e: ScoreEstimate) -> dict[str, float]:
            return {"mean": e.mean, "standard_error": e.error}

        record: dict[str, Any] = {
            "task": self.key,
            "metric": comparison.metric,
            "kernel_ridge": {**estimate(comparison.ridge), "scores": comparison.ridge_scores},
            "rfm": {**estimate(comparison.rfm), "scores": comparison.rfm_scores, "best_rounds": comparison.best_rounds},
            "difference": {**estimate(comparison.gain), "verdict": comparison.verdict},
            "importances": self.importances,
        }
        if self.recovered is not None:
            record["in_true_subspace"] = {"learned": self.recovered, "before": self.unlearned}
        return record


@dataclass(frozen=True)
class DemoTask:
    """A task: its title, its number of fits, and the function that runs it."""

    title: str
    fits: int
    run: Callable[[int, Callable[[], None]], DemoResult]


def table(seed: int, tick: Callable[[], None], folds: int = 5) -> DemoResult:
    """Classify breast tumours as benign or malignant from 30 columns (569 rows), by stratified folds."""
    data = load_breast_cancer()
    X, y = data.data, data.target_names[data.target]
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y)
    drawn: Iterator[DataSplit] = ((X[a], y[a], X[b], y[b]) for a, b in splits)
    comparison = compare(RFMClassifier(random_state=seed), drawn, "accuracy", tick)
    return DemoResult(
        "breast-cancer",
        f"A table: breast cancer, {len(X)} rows × {X.shape[1]} named columns",
        f"Is the tumour benign or malignant? {folds} folds, default settings.",
        comparison,
        tuple(str(name) for name in data.feature_names),
    )


def formula(seed: int, tick: Callable[[], None], n: int = 400, held_out: int = 2000, draws: int = 3) -> DemoResult:
    """Fit a known formula of three columns among 17 columns of noise, by independent draws of all rows."""
    data = [gated_product(n=n + held_out, seed=seed + draw) for draw in range(draws)]
    drawn: Iterator[DataSplit] = ((d.X[:n], d.y[:n], d.X[n:], d.y[n:]) for d in data)
    comparison = compare(RFMRegressor(random_state=seed), drawn, "R²", tick)
    return DemoResult(
        "known-formula",
        f"A known formula: y = x0·x1 where x5 > 0, else 0; {n} rows × {data[0].X.shape[1]}",
        f"Which columns matter? {draws} independent draws, {held_out} test rows each.",
        comparison,
        data[0].feature_names,
        truth=data[0].subspace,
    )


def digits(seed: int, tick: Callable[[], None], n: int = 400, folds: int = 3) -> DemoResult:
    """Classify handwritten digits of 8 × 8 pixels, ten classes."""
    title = f"Images: handwritten digits, {n} rows × {math.prod(DIGIT_SHAPE)} pixels"
    return _classify_images("digits", title, "Which digit is it?", DIGIT_SHAPE, seed, tick, n, folds)


def crowded_digits(seed: int, tick: Callable[[], None], n: int = 400, folds: int = 3) -> DemoResult:
    """Classify the middle one of three digits: the outer two are distractors."""
    title = f"The same digits between two others, {n} rows × {math.prod(CROWD_SHAPE)} pixels"
    question = "Which digit is in the middle?"
    return _classify_images("crowded-digits", title, question, CROWD_SHAPE, seed, tick, n, folds)


def _classify_images(
    key: str,
    title: str,
    question: str,
    shape: tuple[int, int],
    seed: int,
    tick: Callable[[], None],
    n: int,
    folds: int,
) -> DemoResult:
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, *DIGIT_SHAPE)
    rng = np.random.default_rng(seed)
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(images, labels)

    def rows(at: NDArray[Any]) -> NDArray[Any]:
        # Neighbours come from the same side of the split, so that no test image is used in training.
        return with_neighbours(images[at], rng) if shape == CROWD_SHAPE else images[at].reshape(len(at), -1)

    def drawn() -> Iterator[DataSplit]:
        for train, test in splits:
            train = rng.permutation(train)[:n]
            yield rows(train), labels[train], rows(test), labels[test]

    comparison = compare(RFMClassifier(random_state=seed, n_rounds=2), drawn(), "accuracy", tick)
    names = tuple(f"{r},{c}" for r in range(shape[0]) for c in range(shape[1]))
    question = f"{question} {folds} folds, at most two rounds."
    return DemoResult(key, title, question, comparison, names, image_shape=shape)


def with_neighbours(images: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Put a random image on the left and on the right of each image (m, 8, 8), as rows (m, 192).

    >>> rows = with_neighbours(np.arange(128.0).reshape(2, 8, 8), np.random.default_rng(0))
    >>> bool((rows.reshape(2, 8, 24)[:, :, 8:16] == np.arange(128.0).reshape(2, 8, 8)).all())
    True
    """
    left, right = (images[rng.integers(len(images), size=len(images))] for _ in range(2))
    return np.concatenate([left, images, right], axis=2).reshape(len(images), -1)


TASKS = (
    DemoTask("a table with named columns", 10, table),
    DemoTask("a known formula", 6, formula),
    DemoTask("images", 6, digits),
    DemoTask("images with distractors", 6, crowded_digits),
)
"""The tasks in the order of the demonstration."""
