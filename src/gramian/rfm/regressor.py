"""The estimator for numbers."""

from __future__ import annotations

import os
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from gramian.core import threads
from gramian.features import Update
from gramian.kernels import Kernel
from gramian.rfm.attributes import FittedAttribute
from gramian.rfm.documentation import documented
from gramian.rfm.estimator import BaseRFM
from gramian.rfm.model import FittedRFM
from gramian.rfm.options import AnySolver, KernelName, PresetName, RandomState, SolverName, UpdateName, resolve_seed
from gramian.rfm.training.context import with_callbacks
from gramian.rfm.training.plan import threads_for
from gramian.rfm.training.target_scale import FittedScale, LossName, choose_scale
from gramian.rfm.uncertainty.regions import interval_reach
from gramian.tables import TableEncoder, read_target
from gramian.tables.blocks import Blocks
from gramian.tables.merging import MergedRows, counts_rows
from gramian.tables.raw_target import RawTarget
from gramian.tables.row_losses import MetricFunction, NumberMetric
from gramian.tables.scaling import Array
from gramian.tables.split_columns import split_condition
from gramian.tables.targets import NumericTarget, TargetTransform
from gramian.tables.types import EvalSet, TableLike, TargetLike, WeightsLike


@documented
class RFMRegressor(RegressorMixin, BaseRFM):  # type: ignore[misc]
    """Recursive feature machine for regression, with one or several targets.

    A kernel machine that learns a feature matrix M from the average gradient outer product of its own predictor, and
    is fitted again with the kernel ``φ(r)``, ``r² = (x − z)ᵀM(x − z)``, a few times. Takes raw frames, and needs no
    validation set.

    Parameters
    ----------
    {parameters}
    target_transform : "auto", "log", "shifted-log" or None, default="auto"
        The scale on which the target is fitted. ``"auto"`` takes a shifted logarithm of a single skewed target where
        that predicts left-out rows better on the target's own scale.
    loss : "auto", "squared" or "huber", default="auto"
        The loss of the fit. Huber's is linear beyond 1.345 robust standard deviations, so that no single row can pull
        the model far. ``"auto"`` takes it for a single heavy-tailed target where it predicts left-out rows better; the
        scale of the target is then its own unless ``target_transform`` names one.

    Attributes
    ----------
    {attributes}
    target_transform_ : TargetTransform
        The scale on which the target was fitted.
    loss_ : str
        The loss of the fit, ``"squared"`` or ``"huber"``.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = RFMRegressor(preset="fast").fit(X, X[:, 0] * X[:, 1])
    >>> sorted(np.argsort(model.feature_importances_)[-2:].tolist())
    [0, 1]
    """

    target_transform: Literal["auto", "log", "shifted-log"] | None
    loss: LossName

    target_transform_ = FittedAttribute(
        lambda model: _target(model).transform, "The scale on which the target was fitted."
    )
    loss_ = FittedAttribute(
        lambda model: "squared" if _target(model).bound is None else "huber", "The loss of the fit: squared or huber."
    )

    def __init__(
        self,
        *,
        preset: PresetName = "default",
        kernel: KernelName | Kernel = "auto",
        update: UpdateName | Update = "auto",
        n_rounds: int | Literal["auto"] = "auto",
        select_round: Literal["best", "last"] = "best",
        metric: Literal["auto"] | NumberMetric | MetricFunction = "auto",
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
        target_transform: Literal["auto", "log", "shifted-log"] | None = "auto",
        loss: LossName = "auto",
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
        """Fit to rows X (n, d) and targets y (n,) or (n, c).

        Parameters
        ----------
        X : array or frame (n, d)
            Numbers, booleans, dates, text, categories; entries may be missing. A NumPy memory map, a Parquet or Arrow
            file (its path, or a Dataset) or a Dask collection need not fit into memory.
            A scipy.sparse matrix is made dense where that fits into ``max_memory``.
        y : array (n,) or (n, c)
            Or the name of a column of a file or Dask frame.
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

    def predict(self, X: TableLike) -> Array:
        """Return predictions (n,) or (n, c), in the units of y.

        Those of a single target exceed the range of the training targets by at most half of that range.
        """
        model = self.fitted()
        return _target(model).predictions(model.outputs(X))

    def predict_interval(self, X: TableLike, coverage: float = 0.9) -> Array:
        """Return intervals that contain a new row's target with probability ``coverage``: (n, 2), or (n, c, 2).

        ``f(x) ± q``, where q is the conformal quantile of absolute errors on held-out rows (folds or evaluation set;
        leave-one-out given M where there are none), on the scale on which the target was fitted.

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(1200, 2))
        >>> y = X[:, 0] + rng.normal(size=1200)
        >>> low, high = RFMRegressor(preset="fast").fit(X[:200], y[:200]).predict_interval(X[200:], 0.8).T
        >>> bool(0.7 < np.mean((low <= y[200:]) & (y[200:] <= high)) < 0.9)
        True
        """
        model = self.fitted()
        reach = interval_reach(model, coverage)
        return np.stack(_target(model).interval(model.outputs(X), reach), axis=-1)

    def read_target(self, y: TargetLike, weights: Array | None) -> RawTarget:
        return RawTarget(read_target(y))

    def fit_target(self, raw: RawTarget, rows: MergedRows, Z: Array) -> tuple[NumericTarget, Array | None]:
        found = self._scale(rows.y, Z, rows.weights_or_ones, rows.copies, self._loss())
        pulled = None if found.pulled is None else found.pulled[:, None]
        return NumericTarget(found.transform, rows.y.ndim == 1, found.bound), pulled

    def stream_target(self, blocks: Blocks, y: TargetLike, Z: Array, weights: Array) -> NumericTarget:
        values = read_target(y)
        if self._loss() == "huber":
            raise ValueError('loss="huber" needs rows in memory: fit fewer rows, or raise max_memory')
        copies = weights if counts_rows(weights) else None
        return NumericTarget(self._scale(values, Z, weights, copies, "squared").transform, flat=values.ndim == 1)

    def _loss(self) -> LossName:
        if self.loss not in get_args(LossName):
            raise ValueError(f'loss must be "auto", "squared" or "huber", got {self.loss!r}')
        # The user's own metric compares rounds by the targets themselves, which are pulled in under Huber's loss.
        return "squared" if self.loss == "auto" and self.metric not in ("auto", "mae") else self.loss

    def _scale(self, y: Array, Z: Array, weights: Array, copies: Array | None, loss: LossName) -> FittedScale:
        name = "none" if self.target_transform is None else self.target_transform
        if y.ndim > 1:
            if loss == "huber":
                raise ValueError(f'loss="huber" takes a single target, and y has {y.shape[1]}: fit one model for each')
            return FittedScale(TargetTransform.fit("none" if name == "auto" else name, y, weights))
        with threads(threads_for(len(y), self.n_threads, self.n_jobs)):
            seed = resolve_seed(self.random_state)
            return choose_scale(Z, y, weights, seed, copies=copies, transform=name, loss=loss)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _target(model: FittedRFM) -> NumericTarget:
    assert isinstance(model.target, NumericTarget)
    return model.target
