"""Suites of data sets, and their splits into training and test rows.

A task is one data set with one split. Splits are those of the data's authors where they exist, otherwise seeded by
their number, so that every method gets the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import train_test_split

from gramian.bench.halves import Half, fresh, half_of
from gramian.datasets import (
    Dataset,
    Split,
    diamonds,
    grinsztajn,
    grinsztajn_names,
    uci,
    uci_names,
    uci_regression,
    uci_regression_names,
)
from gramian.datasets.base import names

CLASSIFICATION, REGRESSION = "classification", "regression"
_TRAIN_ROWS, _TEST_ROWS = 10_000, 50_000
_CLF_FOLDERS = ("clf_num", "clf_num_60pct", "clf_num_18pct")
_SKLEARN: dict[str, tuple[str, Callable[..., Any]]] = {
    "iris": (CLASSIFICATION, sklearn_datasets.load_iris),
    "wine": (CLASSIFICATION, sklearn_datasets.load_wine),
    "diabetes": (REGRESSION, sklearn_datasets.load_diabetes),
    "breast_cancer": (CLASSIFICATION, sklearn_datasets.load_breast_cancer),
    "digits": (CLASSIFICATION, sklearn_datasets.load_digits),
}
Folder = str | Path | None


@dataclass(frozen=True, eq=False)
class BenchTask:
    """Training and test rows of one data set.

    ``data`` is the whole data set, for protocols with splits of their own (:mod:`gramian.bench.uci_protocol`).
    """

    suite: str
    name: str
    kind: str
    data: Dataset
    split: Split

    @property
    def train(self) -> tuple[Any, NDArray[Any]]:
        """Training rows and targets."""
        return take(self.data.X, self.split.train), self.data.y[self.split.train]

    @property
    def test(self) -> tuple[Any, NDArray[Any]]:
        """Test rows and targets."""
        return take(self.data.X, self.split.test), self.data.y[self.split.test]

    @property
    def fallback(self) -> float:
        """Score of a method that fails: the accuracy of the most frequent training class, or R² = 0."""
        if self.kind == REGRESSION:
            return 0.0
        values, counts = np.unique(self.data.y[self.split.train], return_counts=True)
        return float(np.mean(self.data.y[self.split.test] == values[counts.argmax()]))


@dataclass(frozen=True)
class Suite:
    """A family of data sets. ``kind`` is "mixed" where it depends on the data set."""

    key: str
    title: str
    kind: str
    n_splits: int
    names: Callable[[Folder], list[str]]
    read: Callable[[str, Folder], tuple[str, Dataset]]
    paper: bool = False
    """True for the protocol of paper B, which tunes, instead of one fit per split."""
    revision: str = "1"
    """Part of the key of every cell: increase it when rows or splits change."""

    def task(self, name: str, split: int, folder: Folder = None) -> BenchTask:
        """Read the data set ``name`` with split number ``split``."""
        kind, data = self.read(name, folder)
        if data.splits and not split < len(data.splits):
            raise ValueError(f"{self.key} has {len(data.splits)} splits, there is no split={split}")
        return BenchTask(
            self.key, name, kind, data, data.splits[split] if data.splits else seeded_split(data.y, kind, split)
        )


def take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Select rows of an array or of a frame.

    >>> take(np.array([[1], [2], [3]]), np.array([2, 0])).tolist()
    [[3], [1]]
    """
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def seeded_split(y: NDArray[Any], kind: str, split: int) -> Split:
    """Split into 70 % training rows, at most 10,000, and test rows, at most 50,000; ``split`` is the seed.

    The split is stratified by class. The sizes are those of Grinsztajn et al. (2022) without validation rows, which
    untuned methods do not need.

    >>> part = seeded_split(np.arange(100.0), "regression", 0)
    >>> len(part.train), len(part.test), sorted({*part.train.tolist(), *part.test.tolist()}) == list(range(100))
    (70, 30, True)
    """
    n = len(y)
    train = min(_TRAIN_ROWS, int(0.7 * n))
    stratify = y if kind == CLASSIFICATION else None
    size = {"train_size": train, "test_size": min(_TEST_ROWS, n - train)}
    a, b = train_test_split(np.arange(n), **size, random_state=split, stratify=stratify)
    return Split(a.astype(np.int64), b.astype(np.int64))


def _read_uci(name: str, folder: Folder) -> tuple[str, Dataset]:
    return CLASSIFICATION, uci(name, folder)


def _uci_small(folder: Folder) -> list[str]:
    return uci_names(folder, small=True, by_rows=True)


def _uci_rest(folder: Folder) -> list[str]:
    small = _uci_small(folder)
    return [name for name in uci_names(folder, by_rows=True) if name not in small]


def _read_uci_rest(name: str, folder: Folder) -> tuple[str, Dataset]:
    """Read a set with at most 10,000 of the training rows of each of the authors' splits."""
    data = uci(name, folder)
    thinned = []
    for number, split in enumerate(data.splits):
        order = np.random.default_rng(number).permutation(split.train)
        thinned.append(Split(np.sort(order[:_TRAIN_ROWS]), split.test))
    return CLASSIFICATION, replace(data, splits=tuple(thinned))


def _clf_folders(folder: Folder) -> dict[str, str]:
    found = {}
    for kind in _CLF_FOLDERS:
        try:
            found.update(dict.fromkeys(grinsztajn_names(kind, folder), kind))
        except ValueError:  # the full benchmark has only the first of these folders
            continue
    return found


def _read_clf(name: str, folder: Folder) -> tuple[str, Dataset]:
    kinds = _clf_folders(folder)
    if name not in kinds:
        raise ValueError(f"{name!r} is not among the grinsztajn classification sets: {', '.join(kinds)}")
    return CLASSIFICATION, grinsztajn(name, kinds[name], folder)


def _read_sklearn(name: str, folder: Folder) -> tuple[str, Dataset]:
    kind, load = _SKLEARN[name]
    X, y = load(return_X_y=True)
    y = y.astype(np.float64) if kind == REGRESSION else y.astype(np.int64)
    return kind, Dataset(X, y, names(X.shape[1]), f"scikit-learn's {name}: {len(X)} rows, {X.shape[1]} columns")


_ALL = (
    Suite(
        "uci-small",
        "UCI classification sets with at most 5,000 rows, folds without leaks",
        CLASSIFICATION,
        4,
        _uci_small,
        _read_uci,
    ),
    Suite(
        "uci-rest",
        "the other UCI classification sets, at most 10,000 training rows; no rule was chosen on them",
        CLASSIFICATION,
        4,
        lambda folder: fresh(_uci_rest(folder)),
        _read_uci_rest,
    ),
    Suite(
        "uci-regression",
        "UCI regression tables, at most 10,000 training rows; no rule was chosen on them",
        REGRESSION,
        4,
        lambda folder: fresh(uci_regression_names(folder)),
        lambda name, folder: (REGRESSION, uci_regression(name, folder)),
    ),
    Suite(
        "uci-paper",
        "UCI classification sets, protocol of paper B (it leaks: for comparison with the paper only)",
        CLASSIFICATION,
        1,
        lambda folder: _uci_small(folder) + _uci_rest(folder),
        _read_uci,
        paper=True,
    ),
    Suite(
        "grinsztajn-reg",
        "Grinsztajn et al.: regression on numeric columns, at most 10,000 training rows",
        REGRESSION,
        1,
        lambda folder: grinsztajn_names("reg_num", folder),
        lambda name, folder: (REGRESSION, grinsztajn(name, "reg_num", folder)),
    ),
    Suite(
        "grinsztajn-clf",
        "Grinsztajn et al.: two classes, numeric columns, at most 10,000 training rows",
        CLASSIFICATION,
        1,
        lambda folder: list(_clf_folders(folder)),
        _read_clf,
    ),
    Suite(
        "frames",
        "raw frames with categories, at most 10,000 training rows",
        REGRESSION,
        1,
        lambda folder: ["diamonds"],
        lambda name, folder: (REGRESSION, diamonds(folder)),
    ),
    Suite("sklearn", "sets that come with scikit-learn", "mixed", 4, lambda folder: list(_SKLEARN), _read_sklearn),
)


def _half_suite(suite: Suite, half: Half) -> Suite:
    return replace(
        suite,
        key=f"{suite.key}-{half}",
        title=f"{suite.title}; the {half} half",
        names=lambda folder: half_of(suite.names(folder), half),
    )


_HALVED = [suite for suite in _ALL if suite.key in ("uci-small", "grinsztajn-reg", "grinsztajn-clf")]
_HALVES = [_half_suite(suite, half) for suite in _HALVED for half in get_args(Half)]
SUITES: dict[str, Suite] = {suite.key: suite for suite in (*_ALL, *_HALVES)}
"""Suites by name."""
