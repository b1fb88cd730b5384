"""Sets of classes and intervals for rows whose outputs are known, with a stated coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gramian.rfm.uncertainty.conformal import check_coverage, conformal_quantile
from gramian.tables.scaling import Array
from gramian.tables.targets import ClassTarget

if TYPE_CHECKING:
    from gramian.rfm.model import FittedRFM


def class_sets(model: FittedRFM, probabilities: Array, coverage: float) -> NDArray[np.bool_]:
    """Return which classes belong to the set of each row, ``(n, classes)``, for probabilities ``(n, classes)``.

    A set holds all classes whose probability is at least ``1 − q``, where q is the conformal quantile of
    ``1 − p(true class)`` on held-out rows.
    """
    held = model.holdout
    p, labels = np.exp(model.log_probabilities(held.outputs)), ClassTarget.indices(held.targets)
    true = p[np.arange(len(p)), labels]
    limit = conformal_quantile(1 - true, held.weights, check_coverage(coverage), held.copies)
    return 1 - probabilities <= limit


def interval_reach(model: FittedRFM, coverage: float) -> Array:
    """Return q ``(c,)`` of the intervals ``f(x) ± q``: the conformal quantile of absolute errors on held-out rows."""
    held, target = model.holdout, model.target
    outputs = held.outputs if isinstance(target, ClassTarget) else target.bounded(held.outputs)
    errors = np.abs(outputs - held.targets)
    coverage = check_coverage(coverage)
    return np.array([conformal_quantile(column, held.weights, coverage, held.copies) for column in errors.T])
