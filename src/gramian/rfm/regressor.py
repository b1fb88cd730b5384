"""The estimator for numbers: scikit-learn at the border, torch inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gramian.core import threads
from gramian.rfm.arguments import with_arguments
from gramian.rfm.base import BaseRFM, Ready, seed_of
from gramian.rfm.callbacks import watch_for, with_callbacks
from gramian.rfm.conformal import check_coverage, conformal_quantile
from gramian.rfm.data import Array
from gramian.rfm.streams import Numbers
from gramian.rfm.targets import TargetTransform, choose_transform
from gramian.tables import read_target
from gramian.tables.blocks import Blocks


@with_arguments
class RFMRegressor(RegressorMixin, BaseRFM):
    """Recursive feature machine for regression, with one or several targets.

    A kernel machine that learns a feature matrix M from the average gradient outer product of its own predictor, and
    is fitted again with the kernel ``φ(r)``, ``r² = (x − z)ᵀM(x − z)``, a few times. Takes raw frames, and needs no
    validation set.

    {arguments}
    target_transform_ : TargetTransform
        The scale the target was fitted on; see ``target_transform``, an argument of the regressor alone: ``"auto"``
        (default) takes a shifted logarithm of a single skewed target where that predicts left-out rows better on the
        target's own scale, ``"log"`` and ``"shifted-log"`` always do, None never.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = RFMRegressor(preset="fast").fit(X, X[:, 0] * X[:, 1])
    >>> sorted(np.argsort(model.feature_importances_)[-2:].tolist())
    [0, 1]
    """

    target_transform: Any

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
        target_transform: Any = "auto",
    ) -> None:
        self._keep(locals())

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> RFMRegressor:
        """Fit to rows X (n, d) and targets y (n,) or (n, c).

        Parameters
        ----------
        X : array or frame (n, d)
            Numbers, booleans, dates, text, categories; entries may be missing. A NumPy memory map, a Parquet or Arrow
            file (its path, or a Dataset) or a Dask collection need not fit into memory.
        y : array (n,) or (n, c)
            Or the name of a column of a file or Dask frame.
        sample_weight : array (n,), optional
            A weight of 2 is the same as having the row twice.
        eval_set : pair (X, y), optional
            Rows to choose the round by, instead of folds.
        """
        watch = watch_for(self, X, y, sample_weight)
        self._fit_any(X, y, sample_weight, eval_set, watch)
        watch.end()
        return self

    def _ready(self, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> Ready:
        y = read_target(y)
        X = self._read_X_y(X, y)
        self._flat = y.ndim == 1
        rows = self._merged(X, y, sample_weight)
        self._fit_scaler(rows)
        self.target_transform_ = self._transform(rows.y, self._scaler.apply(rows.X), rows.weights_or_ones)
        evaluation = self._read_eval_set(eval_set)
        if evaluation is not None:
            target = read_target(evaluation[1])
            if target.shape[1:] != y.shape[1:]:
                raise ValueError(f"eval_set has a target of shape {target.shape}, and y has {y.shape}")
            evaluation = evaluation[0], self.target_transform_.apply(target).reshape(len(target), -1)
        return Ready(rows, self.target_transform_.apply(rows.y).reshape(len(rows), -1), None, evaluation)

    def _target_of(self, blocks: Blocks, y: Any, X: Array) -> Numbers:
        """How targets become numbers, from those of some standardised rows X."""
        y = read_target(y)
        self._flat = y.ndim == 1
        self.target_transform_ = self._transform(y, X, np.ones(len(y)))
        return Numbers(self.target_transform_)

    def predict(self, X: Any) -> Array:
        """Predictions (n,) or (n, c), in the units of y."""
        return self._on_y_scale(self._outputs(X))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Intervals that hold a new row's target with probability ``coverage``: (n, 2), or (n, c, 2).

        ``f(x) ± q``, q the conformal quantile of absolute errors on rows the model had not seen (folds or evaluation
        set; leave-one-out given M where there were none), on the scale the target was fitted on.

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(1200, 2))
        >>> y = X[:, 0] + rng.normal(size=1200)
        >>> low, high = RFMRegressor(preset="fast").fit(X[:200], y[:200]).predict_interval(X[200:], 0.8).T
        >>> bool(0.7 < np.mean((low <= y[200:]) & (y[200:] <= high)) < 0.9)
        True
        """
        check_is_fitted(self)
        judged = self._judged()
        errors = np.abs(judged.outputs - judged.targets)
        coverage = check_coverage(coverage)
        reach = [conformal_quantile(column, judged.weights, coverage) for column in errors.T]
        outputs = self._outputs(X)
        ends = [self._on_y_scale(outputs + side * np.array(reach), clip=False) for side in (-1, 1)]
        return np.stack(ends, axis=-1)

    def _on_y_scale(self, outputs: Array, clip: bool = True) -> Array:
        return self.target_transform_.undo(outputs[:, 0] if self._flat else outputs, clip=clip)

    def _transform(self, y: Array, X: Array, weights: Array) -> TargetTransform:
        name = "none" if self.target_transform is None else self.target_transform
        if name != "auto":
            return TargetTransform.learn(name, y)
        if y.ndim > 1:
            return TargetTransform("none")
        with threads(self._threads(len(y))):
            return choose_transform(X, y, weights, seed_of(self.random_state))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
