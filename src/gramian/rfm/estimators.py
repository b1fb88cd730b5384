"""The two estimators: scikit-learn at the border, torch inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from gramian.core import threads
from gramian.kernels import KernelOperator
from gramian.rfm.base import BaseRFM
from gramian.rfm.calibration import fit_temperature, log_probabilities
from gramian.rfm.data import Array, Table
from gramian.rfm.fitting import Fitted
from gramian.rfm.machine import KernelMachine
from gramian.solvers import Direct

_CALIBRATION_ROWS = 1000

_ARGUMENTS = """Parameters
    ----------
    preset : "fast", "default" or "best", default="default"
        What competes where ``kernel``, ``update`` and ``n_rounds`` are ``"auto"``, and how many machines may predict
        together: see :mod:`gramian.rfm.presets`.
    kernel : str or Kernel, default="auto"
        A name from :data:`gramian.kernels.BY_NAME` or an object such as ``Laplace(bandwidth=10.0)``. By default the
        Laplace, the ℓ1 and the Gaussian kernel compete.
    update : str or Update, default="auto"
        How the feature matrix is learned: ``"agop"``, ``"agop-diagonal"``, ``"agop-sqrt"``, ``"fact"``,
        ``"fact-geometric"``, or an object such as ``Agop(power=0.5)``. ``"auto"`` chooses between the full AGOP and
        its diagonal.
    n_rounds : int or "auto", default="auto"
        Rounds of feature learning after round 0, which is plain kernel ridge regression; 3 by default.
    select_round : "best" or "last", default="best"
        Keep the earliest round that is as good as the best on held-out rows, or simply the last.
    ridge : float or "auto", default="auto"
        λ in ``K + λI``; ``"auto"`` takes the one with the smallest exact leave-one-out error, anew in each round.
    ridge_scaling : None or "n", default=None
        ``"n"`` makes it ``K + nλI``.
    solver : "auto", "direct", "cg" or Solver, default="auto"
        Direct while the kernel matrix fits into ``max_memory``, conjugate gradients beyond (with a warning).
    standardize : bool, default=True
        Centre the columns and divide them by their standard deviation first.
    fit_intercept : bool, default=True
        Centre the target before the fit and put its mean back after.
    threshold : float, optional
        RFM-T: after the rounds keep only columns whose diagonal entry of M, scaled to [0, 1], exceeds this (0.05 in
        paper B), and fit the base kernel on them.
    bagging : bool or "auto", default="auto"
        Let the machines of the folds predict beside the one that was fitted on all rows; only ``preset="best"`` does.
    time_limit : float, optional
        Seconds after which nothing new is tried. Round 0 of the first kernel is always finished.
    dtype : "auto", "float32" or "float64", default="auto"
        Working format; ``"auto"`` is float64 up to 1,000 rows. Systems that need it are solved in float64 anyway.
    device : str, default="auto"
    max_memory : int or str, optional
        Bytes, or a string such as ``"8GB"``; 80 % of what is free by default.
    n_threads : int, optional
        Torch threads during fit and predict; put back afterwards. By default torch's own, and 1 up to 1,000 rows.
    n_jobs : int, optional
        Folds fitted side by side, one thread each. The result is the same for any number.
    random_state : int, RandomState or None, default=0
        For folds and samples. The same data gives the same model unless you ask for another.
    verbose : int, default=0
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    feature_matrix_ : ndarray (d, d)
        The learned M, in the coordinates of the standardised columns.
    agop_ : ndarray (d, d)
        Average gradient outer product of the fitted predictor, in the same coordinates. At a fixed point of the rounds
        it is proportional to M (or to a power of it).
    feature_importances_ : ndarray (d,)
        Its diagonal divided by its sum: the share of each column in the predictor's sensitivity.
    components_ : ndarray (k, d), explained_ : ndarray (k,)
        Learned directions and their weights: eigenvectors and eigenvalues of M, strongest first.
    rounds_ : list of Round
        One record per round: ridge, bandwidth, residual, leave-one-out error, held-out score, seconds, bytes.
    best_round_ : int
        The round that was kept.
    kernel_, update_, ridge_
        The kernel with its bandwidth, the update, and the ridge really added to K (``nλ`` with ``ridge_scaling="n"``).
    support_ : ndarray of bool (d,)
        Columns in use; not all of them only with ``threshold``.
    blend_ : Blend, machine_ : KernelMachine
        The machines that predict together, on torch tensors, and the strongest of them.
    row_index_ : ndarray of int
        Where each row the machines stand on is in the table they were fitted to (equal rows are merged).
    n_features_in_, feature_names_in_
        As in scikit-learn.
"""


class RFMRegressor(RegressorMixin, BaseRFM):
    """Recursive feature machine for regression, with one or several targets.

    A kernel machine that learns a feature matrix M from the average gradient outer product of its own predictor, and
    is fitted again with the kernel ``φ(r)``, ``r² = (x − z)ᵀM(x − z)``, a few times. Needs no validation set.

    {arguments}

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = RFMRegressor(n_rounds=3).fit(X, X[:, 0] * X[:, 1])
    >>> sorted(np.argsort(model.feature_importances_)[-2:].tolist())
    [0, 1]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> RFMRegressor:
        """Fit to rows X (n, d) and targets y (n,) or (n, c).

        Parameters
        ----------
        X : array or frame (n, d)
        y : array (n,) or (n, c)
        sample_weight : array (n,), optional
            A weight of 2 is the same as having the row twice.
        eval_set : pair (X, y), optional
            Rows to choose the round by, instead of folds.
        """
        X, y = self._check_X_y(X, y, multi_output=True, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        self._flat = y.ndim == 1
        rows = self._merged(X, y, sample_weight)
        evaluation = self._eval_arrays(eval_set, 1 if self._flat else y.shape[1])
        if evaluation is not None:
            evaluation = evaluation[0], evaluation[1].astype(np.float64).reshape(len(evaluation[1]), -1)
        self._fit_rows(rows, rows.y.reshape(len(rows), -1), None, evaluation)
        return self

    def predict(self, X: Any) -> Array:
        """Predictions (n,) or (n, c), in the units of y."""
        out = self._outputs(X)
        return out[:, 0] if self._flat else out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class RFMClassifier(ClassifierMixin, BaseRFM):
    """Recursive feature machine for classification, with two or more classes.

    Least squares on class codes (±1 for two classes, one-hot for more) with a kernel that learns its own features;
    probabilities come from a temperature fitted on rows the machine had not seen. Needs no validation set.

    {arguments}
    classes_ : ndarray
        The labels, sorted.
    temperature_ : float
        Divides the scores before the softmax. Fitted on the evaluation set or on held-out folds; where there are none,
        on leave-one-out scores given M.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import RFMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RFMClassifier(n_rounds=1).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _scales_target = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> RFMClassifier:
        """Fit to rows X (n, d) and labels y (n,).

        Parameters
        ----------
        X : array or frame (n, d)
        y : array (n,)
            Labels of any kind; at least two different ones.
        sample_weight : array (n,), optional
            A weight of 2 is the same as having the row twice.
        eval_set : pair (X, y), optional
            Rows to choose the round by, instead of folds.
        """
        X, y = self._check_X_y(X, y)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        self.classes_, labels = np.unique(y, return_inverse=True)
        rows = self._merged(X, labels.astype(np.float64), sample_weight)
        present = np.unique(rows.y)
        if len(self.classes_) < 2 or len(present) < 2:
            raise ValueError(
                f"the target holds one class only ({self.classes_[int(present[0])]!r}): "
                "a classifier needs at least two classes"
            )
        labels = rows.y.astype(np.intp)
        evaluation, evaluated_labels = self._eval_arrays(eval_set, 1), None
        if evaluation is not None:
            evaluated_labels = self._encode(evaluation[1].ravel())
            evaluation = evaluation[0], self._codes(evaluated_labels)
        fitted = self._fit_rows(rows, self._codes(labels), labels, evaluation)
        with threads(self._threads(len(rows))):
            self.temperature_ = 1 / self._inverse_temperature(fitted, rows, labels, evaluated_labels)
        return self

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
        out = self._outputs(X)
        best = (out[:, 0] > 0).astype(int) if out.shape[1] == 1 else out.argmax(axis=1)
        return self.classes_[best]

    def _codes(self, labels: NDArray[np.intp]) -> Array:
        if len(self.classes_) == 2:
            return np.where(labels == 1, 1.0, -1.0)[:, None]
        return np.eye(len(self.classes_))[labels]

    def _encode(self, y: NDArray[Any]) -> NDArray[np.intp]:
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(f"eval_set holds the label {y[unknown][0]!r}, which the training rows do not")
        return np.searchsorted(self.classes_, y)

    def _inverse_temperature(
        self, fitted: Fitted, rows: Table, labels: NDArray[np.intp], evaluated: NDArray[np.intp] | None
    ) -> float:
        """Fitted on the evaluation set, on folds, or on exact leave-one-out scores, whichever there is."""
        weights = rows.weights_or_ones
        if fitted.evaluated is not None and evaluated is not None:
            scores, chosen, weights = fitted.evaluated, evaluated, np.ones(len(evaluated))
        elif fitted.held_out is not None:
            at = fitted.held_out.rows.cpu().numpy()
            scores, chosen, weights = fitted.held_out.outputs, labels[at], weights[at]
        else:
            scores, at = self._leave_one_out(fitted.blend.best, labels)
            chosen, weights = labels[at], weights[at]
        return fit_temperature(self._target_scaler.undo(scores.cpu().numpy().astype(np.float64)), chosen, weights)

    def _leave_one_out(self, machine: KernelMachine, labels: NDArray[np.intp]) -> tuple[Tensor, NDArray[np.intp]]:
        """Exact leave-one-out scores of some rows, given M; within a random part where n² is beyond the budget."""
        order = torch.randperm(machine.n, generator=torch.Generator().manual_seed(0)).to(machine.X.device)
        Y = torch.as_tensor(self._target_scaler.apply(self._codes(labels)), device=machine.X.device)
        most = machine.n
        while machine.max_bytes is not None and Direct().bytes_needed(most, machine.X.dtype) > machine.max_bytes:
            most //= 2
        part = order[:most] if most < machine.n else order.sort().values
        weights = None if machine.weights is None else machine.weights[part]
        operator = KernelOperator(machine.kernel, machine.X[part], machine.metric, machine.max_bytes)
        rows = torch.randperm(most, generator=torch.Generator().manual_seed(1))[:_CALIBRATION_ROWS].to(part.device)
        loo = Direct().loo(operator, Y[part], self.ridge_, rows, weights=weights)
        return Y[part][rows] - loo, part[rows].cpu().numpy()


for _estimator in (RFMRegressor, RFMClassifier):
    if _estimator.__doc__ is not None:  # python -OO strips docstrings
        _estimator.__doc__ = _estimator.__doc__.replace("{arguments}", _ARGUMENTS.rstrip())
