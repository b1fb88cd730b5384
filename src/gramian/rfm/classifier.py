"""The estimator for labels."""

from __future__ import annotations

import math
import os
from numbers import Real
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight

from gramian.features import Update
from gramian.kernels import Kernel
from gramian.rfm.attributes import FittedAttribute
from gramian.rfm.documentation import documented
from gramian.rfm.estimator import BaseRFM
from gramian.rfm.model import FittedRFM
from gramian.rfm.options import AnySolver, KernelName, PresetName, RandomState, SolverName, UpdateName
from gramian.rfm.training.context import with_callbacks
from gramian.rfm.uncertainty.calibration import probability_losses
from gramian.rfm.uncertainty.regions import class_sets
from gramian.rfm.uncertainty.reliability import Reliability, reliability
from gramian.tables import TableEncoder, encode_labels, label_codes
from gramian.tables.blocks import Blocks
from gramian.tables.merging import MergedRows
from gramian.tables.raw_target import RawTarget
from gramian.tables.row_losses import ClassMetric, MetricFunction
from gramian.tables.scaling import Array
from gramian.tables.split_columns import split_condition
from gramian.tables.streaming import count_labels
from gramian.tables.targets import ClassTarget
from gramian.tables.types import EvalSet, Label, Labels, TableLike, TargetLike, WeightsLike


@documented
class RFMClassifier(ClassifierMixin, BaseRFM):  # type: ignore[misc]
    """Recursive feature machine for classification, with two or more classes.

    Least squares on class codes (±1 for two classes, one-hot for more) with a kernel that learns its own features;
    probabilities come from a link fitted on held-out rows. Takes raw frames, and needs no validation set.

    Parameters
    ----------
    {parameters}
    class_weight : None, "balanced" or dict, default=None
        Weights of classes, which multiply ``sample_weight``. They favour classes in predictions; probabilities have the
        smallest log loss without them, also where a class is rare.

    Attributes
    ----------
    {attributes}
    classes_ : ndarray
        The labels, sorted.
    link_ : SoftmaxLink or PowerLink
        The map from scores to probabilities. Fitted on the evaluation set or on held-out rows; where there are none, on
        leave-one-out scores given M.
    held_out_losses_ : dict
        Log loss, Brier score, calibration error and error of the probabilities on held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import RFMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RFMClassifier(preset="fast").fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _scales_target = False
    class_weight: Literal["balanced"] | dict[Label, float] | None

    classes_ = FittedAttribute(lambda model: _target(model).classes, "The labels, sorted.")
    link_ = FittedAttribute(lambda model: model.link, "The map from scores to probabilities.")
    held_out_losses_ = FittedAttribute(
        lambda model: _holdout_losses(model), "Log loss, Brier score, calibration error and error on held-out rows."
    )

    def __init__(
        self,
        *,
        preset: PresetName = "default",
        kernel: KernelName | Kernel = "auto",
        update: UpdateName | Update = "auto",
        n_rounds: int | Literal["auto"] = "auto",
        select_round: Literal["best", "last"] = "best",
        metric: Literal["auto"] | ClassMetric | MetricFunction = "auto",
        ridge: float | Literal["auto"] = "auto",
        ridge_scaling: Literal["n"] | None = None,
        solver: SolverName | AnySolver = "auto",
        encoder: Literal["auto"] | TableEncoder = "auto",
        standardize: bool = True,
        fit_intercept: bool = True,
        feature_threshold: float | None = None,
        bagging: bool | Literal["auto"] = "auto",
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        dtype: Literal["auto", "float32", "float64"] = "auto",
        device: str = "auto",
        max_memory: int | str | None = None,
        n_threads: int | None = None,
        n_jobs: int | None = None,
        cluster: Literal["auto"] | None = "auto",
        random_state: RandomState = 0,
        verbose: int = 0,
        class_weight: Literal["balanced"] | dict[Label, float] | None = None,
    ) -> None:
        self._store_params(locals())

    @with_callbacks
    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: WeightsLike = None,
        eval_set: EvalSet = None,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Self:
        """Fit to rows X (n, d) and labels y (n,).

        Parameters
        ----------
        X : array or frame (n, d)
            Numbers, booleans, dates, text, categories; entries may be missing. A NumPy memory map, a Parquet or Arrow
            file (its path, or a Dataset) or a Dask collection need not fit into memory.
            A scipy.sparse matrix is made dense where that fits into ``max_memory``.
        y : array (n,)
            Labels of any kind; at least two different ones. Or the name of a column of a file or Dask frame.
        sample_weight : array (n,), optional
            A weight of 2 is the same as a repeated row.
        eval_set : pair (X, y), optional
            Rows on which rounds and candidates are compared, instead of folds.
        groups : array (n,), optional
            Rows of one group (a patient, a household) are fitted or held out together wherever something is selected.
        time : array (n,), optional
            Numbers or dates: held-out rows come later than the rows that are fitted.
        """
        self._fit(X, y, sample_weight, eval_set, split_condition(groups, time))
        return self

    def read_target(self, y: TargetLike, weights: Array | None) -> RawTarget:
        classes, indices = encode_labels(y)
        factors = self._class_factors(classes, np.bincount(indices, weights).astype(np.float64))
        return RawTarget(indices.astype(np.float64), classes, factors)

    def fit_target(self, raw: RawTarget, rows: MergedRows, Z: Array) -> tuple[ClassTarget, None]:
        assert raw.classes is not None
        present = np.unique(rows.y)
        if len(raw.classes) < 2 or len(present) < 2:
            raise ValueError(_one_class(raw.classes[int(present[0])]))
        return ClassTarget(raw.classes, raw.factors), None

    def stream_target(self, blocks: Blocks, y: TargetLike, Z: Array, weights: Array) -> ClassTarget:
        classes, counts = count_labels(blocks)  # of all rows: a class may be rare
        if len(classes) < 2:
            raise ValueError(_one_class(classes[0]))
        return ClassTarget(classes, self._class_factors(classes, counts))

    def _class_factors(self, classes: Labels, totals: Array) -> Array | None:
        """Return the factors by which ``class_weight`` multiplies the weights of each class, from their totals."""
        if self.class_weight is None:
            return None
        if not (isinstance(self.class_weight, dict) or self.class_weight == "balanced"):
            raise ValueError(f'class_weight must be None, "balanced" or a dict from labels, got {self.class_weight!r}')
        if isinstance(self.class_weight, str):
            return np.asarray(totals.sum() / (len(classes) * totals))
        for label, weight in self.class_weight.items():
            if not (isinstance(weight, Real) and 0 < weight < math.inf):
                raise ValueError(f"class_weight[{label!r}] must be a positive number, got {weight!r}")
        each = compute_class_weight(self.class_weight, classes=classes, y=classes)
        return np.asarray(each, dtype=np.float64)

    def decision_function(self, X: TableLike) -> Array:
        """Return scores: (n,) for two classes, positive for the second of them; else (n, classes)."""
        out = self.fitted().outputs(X)
        return out[:, 0] if out.shape[1] == 1 else out

    def predict_log_proba(self, X: TableLike) -> Array:
        """Return logarithms of the class probabilities (n, classes)."""
        model = self.fitted()
        return model.log_probabilities(model.outputs(X))

    def predict_proba(self, X: TableLike) -> Array:
        """Return class probabilities (n, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: TableLike) -> Labels:
        """Return the most probable class of each row."""
        model = self.fitted()
        return _target(model).predictions(model.outputs(X))

    def predict_set(self, X: TableLike, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return sets of classes that contain a new row's label with probability ``coverage``: bool (n, classes).

        A set holds all classes whose probability is at least ``1 − q``, where q is the conformal quantile of
        ``1 − p(true class)`` on held-out rows. A set may be empty: the row resembles no training row.

        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> sets = RFMClassifier(preset="fast").fit(X[::2], y[::2]).predict_set(X[1::2], coverage=0.9)
        >>> bool(sets[range(75), y[1::2]].mean() > 0.8)
        True
        """
        return class_sets(self.fitted(), self.predict_proba(X), coverage)

    def reliability(self, X: TableLike = None, y: TargetLike = None, bins: int = 10, level: float = 0.9) -> Reliability:
        """Return the share of correct predictions as a function of the predicted probability.

        Parameters
        ----------
        X, y : table (n, d) and labels (n,), optional
            New rows; the held-out rows of the fit by default (leave-one-out where there are none).
        bins : int
            Bins of equal width.
        level : float
            Coverage of the intervals around the observed shares.

        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> found = RFMClassifier(preset="fast").fit(X, y).reliability()
        >>> found.source, bool((found.low <= found.high).all())
        ('folds', True)
        """
        model = self.fitted()
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together, or neither")
        if X is None:
            held = model.holdout
            p, labels = np.exp(model.log_probabilities(held.outputs)), ClassTarget.indices(held.targets)
            return reliability(p, labels, held.weights, bins, level, held.source, held.copies)
        labels = label_codes(y, self.classes_)
        p = self.predict_proba(X)
        if len(p) != len(labels):
            raise ValueError(f"X and y must have as many rows, got {len(p)} and {len(labels)}")
        return reliability(p, labels, np.ones(len(labels)), bins, level)


def _one_class(label: object) -> str:
    label = label.item() if isinstance(label, np.generic) else label
    return f"the target holds one class only ({label!r}): a classifier needs at least two classes"


def _target(model: FittedRFM) -> ClassTarget:
    assert isinstance(model.target, ClassTarget)
    return model.target


def _holdout_losses(model: FittedRFM) -> dict[str, float]:
    """Return losses of the probabilities on held-out rows, to which the one or two numbers of the link were fitted."""
    held = model.holdout
    return probability_losses(model.log_probabilities(held.outputs), ClassTarget.indices(held.targets), held.weights)
