"""The estimator for labels: scikit-learn at the border, torch inside."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from gramian.rfm.arguments import with_arguments
from gramian.rfm.base import BaseRFM, Ready
from gramian.rfm.calibration import fit_temperature, log_probabilities, probability_losses
from gramian.rfm.callbacks import watch_for, with_callbacks
from gramian.rfm.conformal import check_coverage, conformal_quantile
from gramian.rfm.data import Array
from gramian.rfm.judged import Judged
from gramian.rfm.reliability import Reliability, reliability
from gramian.rfm.streams import Labels, labels_of
from gramian.tables import encode_labels, label_codes
from gramian.tables.blocks import Blocks


@with_arguments
class RFMClassifier(ClassifierMixin, BaseRFM):
    """Recursive feature machine for classification, with two or more classes.

    Least squares on class codes (±1 for two classes, one-hot for more) with a kernel that learns its own features;
    probabilities come from a temperature fitted on rows the machine had not seen. Takes raw frames, and needs no
    validation set.

    {arguments}
    classes_ : ndarray
        The labels, sorted.
    temperature_ : float
        Divides the scores before the softmax. Fitted on the evaluation set or on held-out folds; where there are none,
        on leave-one-out scores given M.

    Besides the arguments above there is ``class_weight``: None (default), ``"balanced"``, or a dict from labels to
    weights, which multiply ``sample_weight``.

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
    class_weight: Any

    def __init__(
        self,
        *,
        preset: Any = "default",
        kernel: Any = "auto",
        update: Any = "auto",
        n_rounds: Any = "auto",
        select_round: Any = "best",
        ridge: Any = "auto",
        ridge_scaling: Any = None,
        solver: Any = "auto",
        encoder: Any = "auto",
        standardize: Any = True,
        fit_intercept: Any = True,
        threshold: Any = None,
        bagging: Any = "auto",
        time_limit: Any = None,
        checkpoint: Any = None,
        dtype: Any = "auto",
        device: Any = "auto",
        max_memory: Any = None,
        n_threads: Any = None,
        n_jobs: Any = None,
        cluster: Any = "auto",
        random_state: Any = 0,
        verbose: Any = 0,
        class_weight: Any = None,
    ) -> None:
        self._keep(locals())

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> RFMClassifier:
        """Fit to rows X (n, d) and labels y (n,).

        Parameters
        ----------
        X : array or frame (n, d)
            Numbers, booleans, dates, text, categories; entries may be missing. A NumPy memory map, a Parquet or Arrow
            file (its path, or a Dataset) or a Dask collection need not fit into memory.
        y : array (n,)
            Labels of any kind; at least two different ones. Or the name of a column of a file or Dask frame.
        sample_weight : array (n,), optional
            A weight of 2 is the same as having the row twice.
        eval_set : pair (X, y), optional
            Rows to choose the round by, instead of folds.
        """
        self.__dict__.pop("temperature_", None)
        watch = watch_for(self, X, y, sample_weight)
        self._fit_any(X, y, sample_weight, eval_set, watch)
        _ = self.temperature_  # now, so that predictions change nothing
        watch.end()
        return self

    def _ready(self, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> Ready:
        classes, labels = encode_labels(y)
        X = self._read_X_y(X, labels)
        factors = self._class_factors(classes, labels)
        rows = self._merged(X, labels.astype(np.float64), sample_weight, None if factors is None else factors[labels])
        present = np.unique(rows.y)
        if len(classes) < 2 or len(present) < 2:
            raise ValueError(
                f"the target holds one class only ({classes[int(present[0])]!r}): "
                "a classifier needs at least two classes"
            )
        self.classes_, self._factors = classes, factors
        self._fit_scaler(rows)
        labels = rows.y.astype(np.intp)
        evaluation = self._read_eval_set(eval_set)
        if evaluation is not None:
            try:
                evaluation = evaluation[0], self._codes(label_codes(evaluation[1], self.classes_))
            except ValueError as error:
                raise ValueError(f"eval_set: {error}") from error
        return Ready(rows, self._codes(labels), labels, evaluation)

    def _target_of(self, blocks: Blocks, y: Any, X: Array) -> Labels:
        """How labels become numbers: all of them are looked at, since a class may be rare."""
        classes, counts = labels_of(blocks)
        if len(classes) < 2:
            raise ValueError(
                f"the target holds one class only ({classes[0]!r}): a classifier needs at least two classes"
            )
        factors = self._class_factors(classes, np.arange(len(classes)))
        if isinstance(self.class_weight, str):
            factors = counts.sum() / (len(classes) * counts)
        self.classes_, self._factors = classes, factors
        return Labels(classes, factors)

    @cached_property
    def temperature_(self) -> float:
        """What divides the scores before the softmax."""
        check_is_fitted(self)
        judged = self._judged()
        return 1 / fit_temperature(judged.outputs, self._labels(judged.targets), judged.weights)

    def decision_function(self, X: Any) -> Array:
        """Scores: (n,) for two classes, positive for the second of them; else (n, classes)."""
        out = self._outputs(X)
        return out[:, 0] if out.shape[1] == 1 else out

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the class probabilities (n, classes)."""
        return log_probabilities(self._outputs(X), 1 / self.temperature_)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities (n, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        labels = self._labels(self._outputs(X))
        return self.classes_[labels]

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Sets of classes that hold a new row's label with probability ``coverage``: bool (n, classes).

        All classes whose probability is at least ``1 − q``, q the conformal quantile of ``1 − p(true class)`` on rows
        the model had not seen. A row may get no class at all: nothing the model knows is like it.

        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> sets = RFMClassifier(preset="fast").fit(X[::2], y[::2]).predict_set(X[1::2], coverage=0.9)
        >>> bool(sets[range(75), y[1::2]].mean() > 0.8)
        True
        """
        check_is_fitted(self)
        judged, log_p = self._judged(), self._judged_log_proba()
        true = np.exp(log_p)[np.arange(len(log_p)), self._labels(judged.targets)]
        limit = conformal_quantile(1 - true, judged.weights, check_coverage(coverage))
        return 1 - self.predict_proba(X) <= limit

    @property
    def held_out_losses_(self) -> dict[str, float]:
        """Log loss, Brier score, calibration error and error of the probabilities on rows the fit had not seen.

        The temperature was fitted on the same rows: one number, so they are hardly flattered.
        """
        check_is_fitted(self)
        judged = self._judged()
        return probability_losses(self._judged_log_proba(), self._labels(judged.targets), judged.weights)

    def reliability(self, X: Any = None, y: Any = None, bins: int = 10, level: float = 0.9) -> Reliability:
        """How often the predicted class is right, by how probable the model said it was.

        Parameters
        ----------
        X, y : table (n, d) and labels (n,), optional
            New rows; those the fit had not seen (folds or evaluation set, else leave-one-out) by default.
        bins : int
            Of equal width.
        level : float
            Of the intervals around the share that was right.

        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> found = RFMClassifier(preset="fast").fit(X, y).reliability()
        >>> found.source, bool((found.low <= found.high).all())
        ('folds', True)
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together, or neither")
        if X is None:
            judged = self._judged()
            p, labels = np.exp(self._judged_log_proba()), self._labels(judged.targets)
            return reliability(p, labels, judged.weights, bins, level, judged.how)
        labels = label_codes(y, self.classes_)
        p = self.predict_proba(X)
        if len(p) != len(labels):
            raise ValueError(f"X and y must have as many rows, got {len(p)} and {len(labels)}")
        return reliability(p, labels, np.ones(len(labels)), bins, level)

    def _judged_log_proba(self) -> Array:
        return log_probabilities(self._judged().outputs, 1 / self.temperature_)

    def _codes(self, labels: NDArray[np.intp]) -> Array:
        if len(self.classes_) == 2:
            return np.where(labels == 1, 1.0, -1.0)[:, None]
        return np.eye(len(self.classes_))[labels]

    @staticmethod
    def _labels(scores: Array) -> NDArray[np.intp]:
        """The class with the highest score; of codes, the class itself."""
        return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)

    def _class_factors(self, classes: NDArray[Any], labels: NDArray[np.intp]) -> Array | None:
        """What ``class_weight`` multiplies the weights of each class by."""
        if self.class_weight is None:
            return None
        if not (isinstance(self.class_weight, dict) or self.class_weight == "balanced"):
            raise ValueError(f'class_weight must be None, "balanced" or a dict from labels, got {self.class_weight!r}')
        each = compute_class_weight(self.class_weight, classes=classes, y=classes[labels])
        return np.asarray(each, dtype=np.float64)

    def _judged(self) -> Judged:
        """As they come, not as ``class_weight`` weighs them: coverage and losses are about real rows."""
        judged = super()._judged()
        if self._factors is None or judged.how == "evaluation set":
            return judged
        return replace(judged, weights=judged.weights / self._factors[self._labels(judged.targets)])
