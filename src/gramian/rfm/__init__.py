"""Recursive feature machines: the two estimators, the fitted model as a value, and the training pipeline.

``classifier`` and ``regressor`` are scikit-learn's contract over ``estimator``; a fit reads the table
(:mod:`gramian.tables`), plans and trains (``training``), and stores a frozen ``FittedRFM`` (``model``). Explanations
(``explain``), intervals and probabilities (``uncertainty``), ``compression``, files and predictors without torch
(``export``) take that value. ``search`` tries other parameters.

May import ``core``, ``display``, ``kernels``, ``solvers``, ``features``, ``tables`` and ``files``.

>>> import numpy as np
>>> from gramian.rfm import RFMRegressor
>>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 3))
>>> RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 0] ** 2).feature_importances_.argmax()
np.int64(0)
"""

from gramian.core.rows import Rows
from gramian.rfm.classifier import RFMClassifier
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import FittedRFM
from gramian.rfm.options import TreePartition
from gramian.rfm.regressor import RFMRegressor
from gramian.rfm.search import RFMSearch
from gramian.rfm.serialization import load
from gramian.rfm.training.plan import Plan
from gramian.rfm.training.rounds import Candidate, Round, rounds
from gramian.rfm.training.tuning import FixedParams

__all__ = [
    "Candidate",
    "FittedRFM",
    "FixedParams",
    "KernelMachine",
    "Plan",
    "RFMClassifier",
    "RFMRegressor",
    "RFMSearch",
    "Round",
    "Rows",
    "TreePartition",
    "load",
    "rounds",
]
