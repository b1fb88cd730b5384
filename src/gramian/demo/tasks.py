"""The tasks of the demo: a named table, a formula whose answer is known, pictures, and pictures with distractors.

All real data comes with scikit-learn; nothing is downloaded. Each task is computed here and recorded; showing and
drawing happen elsewhere.
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
from gramian.cli.comparison import Comparison, Part, compare
from gramian.datasets import gated_product

DIGIT_SHAPE = (8, 8)
CROWD_SHAPE = (8, 24)
"""Three digits side by side."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a task gave, ready to be shown, drawn or written as JSON."""

    key: str
    title: str
    question: str
    comparison: Comparison
    names: tuple[str, ...]
    truth: NDArray[np.float64] | None = None
    """Orthonormal basis (d, k) of the directions that matter, where they are known."""
    image_shape: tuple[int, ...] | None = None

    @property
    def importances(self) -> dict[str, float]:
        """Columns and their shares of the sensitivity, largest first."""
        values = self.comparison.model.feature_importances_
        return {self.names[i]: float(values[i]) for i in np.argsort(-values, kind="stable")}

    @property
    def recovered(self) -> float | None:
        """Share ``tr(UᵀMU) / tr(M)`` of the learned matrix inside the true subspace U, where that is known."""
        if self.truth is None:
            return None
        M = self.comparison.model.feature_matrix_
        return float(np.trace(self.truth.T @ M @ self.truth) / np.trace(M))

    @property
    def unlearned(self) -> float | None:
        """The same share for ``M = I``, from which learning starts: k/d."""
        return None if self.truth is None else self.truth.shape[1] / self.truth.shape[0]


@dataclass(frozen=True)
class Task:
    """A task by name, how many fits it takes, and the function that runs it."""

    title: str
    fits: int
    run: Callable[[int, Callable[[], None]], Result]


def table(seed: int, tick: Callable[[], None], folds: int = 5) -> Result:
    """Breast tumours from 30 measured columns (569 rows), benign or malignant, by stratified folds."""
    data = load_breast_cancer()
    X, y = data.data, data.target_names[data.target]
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y)
    parts: Iterator[Part] = ((X[a], y[a], X[b], y[b]) for a, b in splits)
    comparison = compare(RFMClassifier(random_state=seed), parts, "accuracy", tick)
    return Result(
        "breast-cancer",
        f"A table: breast cancer, {len(X)} rows × {X.shape[1]} named columns",
        f"Is the tumour benign or malignant? {folds} folds, default settings.",
        comparison,
        tuple(str(name) for name in data.feature_names),
    )


def formula(seed: int, tick: Callable[[], None], n: int = 400, held_out: int = 2000, draws: int = 3) -> Result:
    """A known formula behind 17 columns of noise, by independent draws of all rows."""
    data = [gated_product(n=n + held_out, seed=seed + draw) for draw in range(draws)]
    parts: Iterator[Part] = ((d.X[:n], d.y[:n], d.X[n:], d.y[n:]) for d in data)
    comparison = compare(RFMRegressor(random_state=seed), parts, "R²", tick)
    return Result(
        "known-formula",
        f"A known answer: y = x0·x1 where x5 > 0, else 0; {n} rows × {data[0].X.shape[1]}",
        f"Which columns matter? {draws} independent draws, {held_out} held-out rows each.",
        comparison,
        data[0].feature_names,
        truth=data[0].subspace,
    )


def digits(seed: int, tick: Callable[[], None], n: int = 400, folds: int = 3) -> Result:
    """Handwritten digits of 8 × 8 pixels, ten classes."""
    title = f"Pictures: handwritten digits, {n} rows × {math.prod(DIGIT_SHAPE)} pixels"
    return _pictures("digits", title, "Which digit is it?", DIGIT_SHAPE, seed, tick, n, folds)


def crowd(seed: int, tick: Callable[[], None], n: int = 400, folds: int = 3) -> Result:
    """The same digits between two others: only the middle one is asked for."""
    title = f"The same digits between two others, {n} rows × {math.prod(CROWD_SHAPE)} pixels"
    question = "Which digit stands in the middle?"
    return _pictures("crowded-digits", title, question, CROWD_SHAPE, seed, tick, n, folds)


def _pictures(
    key: str,
    title: str,
    question: str,
    shape: tuple[int, int],
    seed: int,
    tick: Callable[[], None],
    n: int,
    folds: int,
) -> Result:
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, *DIGIT_SHAPE)
    rng = np.random.default_rng(seed)
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(images, labels)

    def rows(at: NDArray[Any]) -> NDArray[Any]:
        # Neighbours come from the same side of the split: nothing of a held-out picture is ever seen.
        return crowded(images[at], rng) if shape == CROWD_SHAPE else images[at].reshape(len(at), -1)

    def parts() -> Iterator[Part]:
        for train, out in splits:
            train = rng.permutation(train)[:n]
            yield rows(train), labels[train], rows(out), labels[out]

    comparison = compare(RFMClassifier(random_state=seed, n_rounds=2), parts(), "accuracy", tick)
    names = tuple(f"{r},{c}" for r in range(shape[0]) for c in range(shape[1]))
    question = f"{question} {folds} folds, two rounds at most."
    return Result(key, title, question, comparison, names, image_shape=shape)


def crowded(images: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Each image (m, 8, 8) with a random other one on its left and on its right, as rows (m, 192).

    >>> rows = crowded(np.arange(128.0).reshape(2, 8, 8), np.random.default_rng(0))
    >>> bool((rows.reshape(2, 8, 24)[:, :, 8:16] == np.arange(128.0).reshape(2, 8, 8)).all())
    True
    """
    left, right = (images[rng.integers(len(images), size=len(images))] for _ in range(2))
    return np.concatenate([left, images, right], axis=2).reshape(len(images), -1)


TASKS = (
    Task("a table with named columns", 10, table),
    Task("a formula whose answer is known", 6, formula),
    Task("pictures", 6, digits),
    Task("pictures with distractors", 6, crowd),
)
"""In the order of the demo."""
