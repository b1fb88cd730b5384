"""Loss of a score when the entries of a column are permuted over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from gramian.rfm.explain.groups import Groups
from gramian.rfm.model import FittedRFM
from gramian.tables.scaling import Array
from gramian.tables.targets import ClassTarget

Outputs = Callable[[Array], Array]
"""A function from standardised rows (m, d) to outputs (m, c) in the units of the target codes."""


def measure_name(model: FittedRFM) -> str:
    """Return the name of the score: "R²", or "explained log loss" for a classifier.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> measure_name(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).model_)
    'R²'
    """
    return "R²" if model.classes is None else "explained log loss"


def explained_score(model: FittedRFM, outputs: Array, codes: Array, weights: Float[np.ndarray, " m"]) -> float:
    """Return ``1 − loss / loss₀``: 1 for perfect predictions, 0 for the best constant ones, whose loss is ``loss₀``.

    The loss of a regressor is the squared error on the scale the target was fitted on, so that this is R², averaged
    over targets. The loss of a classifier is the log loss of its probabilities. NaN where all targets are equal.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).model_
    >>> codes = np.array([[0.0], [2.0]])
    >>> explained_score(model, codes, codes, np.ones(2)), explained_score(model, 0 * codes + 1, codes, np.ones(2))
    (1.0, 0.0)
    """
    w = weights / weights.sum()
    if isinstance(model.target, ClassTarget):
        labels = model.target.indices(codes)
        shares = np.bincount(labels, w, minlength=len(model.target.classes))
        present = shares[shares > 0]
        entropy = -float(present @ np.log(present))
        loss = -float(w @ model.log_probabilities(outputs)[np.arange(len(labels)), labels])
        return 1 - loss / entropy if entropy > 0 else float("nan")
    spread = w @ (codes - w @ codes) ** 2
    varies = spread > 0
    if not varies.any():
        return float("nan")
    errors = w @ (model.target.bounded(outputs) - codes) ** 2
    return 1 - float(np.mean(errors[varies] / spread[varies]))


def permutation_drops(
    model: FittedRFM,
    outputs: Outputs,
    Z: Float[np.ndarray, "m d"],
    codes: Float[np.ndarray, "m c"],
    weights: Float[np.ndarray, " m"],
    columns: Sequence[int],
    groups: Groups,
    rng: np.random.Generator,
) -> tuple[float, Float[np.ndarray, " q"]]:
    """Return the score of standardised rows, and its loss for each of the user's columns, then for each group.

    The encoded columns of a column, and the columns of a group, are permuted together. Only ``columns`` are permuted;
    the others have NaN.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).model_
    >>> Z, rng = model.preprocessing.transform(X), np.random.default_rng(0)
    >>> _, drops = permutation_drops(model, model.outputs_at, Z, X[:, :1], np.ones(80), [0, 1], (), rng)
    >>> bool(drops[0] > 1 > 0.1 > drops[1])
    True
    """
    score = explained_score(model, outputs(Z), codes, weights)
    owner, p = model.columns.groups, len(model.columns.names)
    drops = np.full(p + len(groups), np.nan)
    together = [(j, (j,)) for j in columns] + [(p + g, group) for g, group in enumerate(groups)]
    for at, group in together:
        own = np.isin(owner, group)
        permuted = Z.copy()
        permuted[:, own] = Z[rng.permutation(len(Z))][:, own]
        drops[at] = score - explained_score(model, outputs(permuted), codes, weights)
    return score, drops
