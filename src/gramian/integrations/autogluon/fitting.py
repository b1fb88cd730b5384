"""Estimators from AutoGluon's terms: problem type, hyperparameters, validation rows, seconds, cores and memory."""

from __future__ import annotations

from collections.abc import Mapping

from gramian.rfm.classifier import RFMClassifier
from gramian.rfm.regressor import RFMRegressor
from gramian.tables.types import EvalSet, TableLike, TargetLike, WeightsLike

PROBLEM_TYPES: dict[str, type[RFMClassifier] | type[RFMRegressor]] = {
    "binary": RFMClassifier,
    "multiclass": RFMClassifier,
    "regression": RFMRegressor,
}
"""AutoGluon's problem types, each with its estimator."""
METRICS = {
    "log_loss": "log_loss",
    "roc_auc": "auc",
    "root_mean_squared_error": "rmse",
    "mean_absolute_error": "mae",
}
"""AutoGluon's names of metrics by which an estimator can select rounds and candidates.

Accuracy is not among them: it counts whole rows, so that rounds often tie on a few hundred validation rows. The squared
error of the coded target, the estimator's default, is used instead.
"""
MEMORY_SHARE = 0.8
"""Share of the free memory that a fit may use: the share that the estimators themselves take by default."""
_TIME_SHARE = 0.9
"""Share of the seconds that is passed on; the rest is headroom, since a fit finishes the step it is in."""


def make_estimator(
    problem_type: str,
    params: Mapping[str, object] | None = None,
    *,
    metric: str = "auto",
    time_limit: float | None = None,
    n_threads: int | None = None,
    free_bytes: float | None = None,
    device: str = "cpu",
) -> RFMClassifier | RFMRegressor:
    """Return an estimator that has not been fitted; hyperparameters overrule everything else.

    Parameters
    ----------
    problem_type : "binary", "multiclass" or "regression"
    params : mapping, optional
        Parameters of the estimator by name; options of kernel and update as ``kernel__bandwidth_scale``, so that a
        configuration consists of names and numbers only.
    metric : str
        AutoGluon's name of the metric that selects rounds; see :data:`METRICS`.
    time_limit : float, optional
        Seconds of the whole fit; a tenth of them is left for the work around the estimator.
    n_threads : int, optional
    free_bytes : float, optional
        Memory that is free; the estimator may use 80 % of it.
    device : str
        The torch device.

    >>> make_estimator("binary", {"kernel": "lp", "kernel__p": 1.5}, n_threads=2, metric="roc_auc")
    RFMClassifier(device='cpu', kernel=Lp(...p=1.5...), metric='auc', n_threads=2)
    >>> make_estimator("quantile")
    Traceback (most recent call last):
    ValueError: problem_type must be one of 'binary', 'multiclass', 'regression', got 'quantile'
    """
    if problem_type not in PROBLEM_TYPES:
        raise ValueError(f"problem_type must be one of {', '.join(map(repr, PROBLEM_TYPES))}, got {problem_type!r}")
    settings: dict[str, object] = {
        "metric": METRICS.get(metric, "auto"),
        "n_threads": n_threads,
        "device": device,
        "time_limit": None if time_limit is None else _TIME_SHARE * time_limit,
        "max_memory": None if free_bytes is None else int(MEMORY_SHARE * free_bytes),
    }
    return PROBLEM_TYPES[problem_type]().set_params(**{**settings, **(params or {})})


def fit_estimator(
    problem_type: str,
    X: TableLike,
    y: TargetLike,
    *,
    eval_set: EvalSet = None,
    sample_weight: WeightsLike = None,
    params: Mapping[str, object] | None = None,
    metric: str = "auto",
    time_limit: float | None = None,
    n_threads: int | None = None,
    free_bytes: float | None = None,
    device: str = "cpu",
) -> RFMClassifier | RFMRegressor:
    """Fit the estimator of :func:`make_estimator` to rows X (n, d) and targets y (n,).

    ``eval_set`` is the pair of validation rows and their targets: rounds and candidates are compared on them. Without
    it the estimator makes folds of its own.

    >>> X = [[float(i)] for i in range(30)]
    >>> y = [2 * x for [x] in X]
    >>> model = fit_estimator("regression", X, y, params={"preset": "fast"}, eval_set=([[4.5]], [9.0]))
    >>> model.plan_.validation, model.predict([[4.5]]).round(1)
    ('evaluation set', array([9.]))
    """
    estimator = make_estimator(
        problem_type,
        params,
        metric=metric,
        time_limit=time_limit,
        n_threads=n_threads,
        free_bytes=free_bytes,
        device=device,
    )
    estimator.fit(X, y, sample_weight=sample_weight, eval_set=eval_set)
    return estimator
