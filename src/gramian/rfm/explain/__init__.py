"""Explanations of a fitted model, exact and without refitting: contributions, importances, directions, dependence.

Contents: :func:`explain` splits one prediction into contributions of columns and of training rows; :func:`importances`
are shares of the user's columns in the sensitivity of the predictions, with intervals; :func:`directions` and
:func:`interactions` describe the learned matrix; :func:`partial_dependence_along` averages predictions along a learned
direction; :func:`summarise` collects the facts of a fit. All of them take a :class:`~gramian.rfm.model.FittedRFM`,
which an estimator has as ``model_``. Results can be printed and displayed by a notebook, and most of them converted by
``to_pandas()``. They describe sensitivity, never causes.

May import ``core``, ``display``, ``tables``, :mod:`gramian.rfm.model` and modules that this imports.

>>> import numpy as np
>>> from gramian import RFMRegressor
>>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 3))
>>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, 4 * X[:, 0]).model_
>>> [round(float(c)) for c in explain(model, [0.5, 0.5, 0.5]).contributions]
[2, 0, 0]
"""

from gramian.rfm.explain.contributions import explain, explain_standardised
from gramian.rfm.explain.dependence import Along, along, partial_dependence_along
from gramian.rfm.explain.directions import Directions, Interactions, directions, interactions, learned_matrix
from gramian.rfm.explain.explanation import Explanation, Explanations
from gramian.rfm.explain.importances import (
    Importances,
    feature_importances,
    importances,
    squared_gradients,
    top_columns,
)
from gramian.rfm.explain.influence import Influence, LeaveOneOut
from gramian.rfm.explain.output import Output
from gramian.rfm.explain.permutation import PermutationImportances, permutation_importances
from gramian.rfm.explain.refits import shares
from gramian.rfm.explain.summary import Summary, summarise

__all__ = [
    "Along",
    "Directions",
    "Explanation",
    "Explanations",
    "Importances",
    "Influence",
    "Interactions",
    "LeaveOneOut",
    "Output",
    "PermutationImportances",
    "Summary",
    "along",
    "directions",
    "explain",
    "explain_standardised",
    "feature_importances",
    "importances",
    "interactions",
    "learned_matrix",
    "partial_dependence_along",
    "permutation_importances",
    "shares",
    "squared_gradients",
    "summarise",
    "top_columns",
]
