"""Recursive feature machines: rounds, the choice among them, and the two estimators.

May import ``core``, ``kernels``, ``solvers``, ``features``, ``tables`` and ``files``.

>>> import numpy as np
>>> from gramian.rfm import RFMRegressor
>>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 3))
>>> RFMRegressor(n_rounds=1).fit(X, X[:, 0] ** 2).feature_importances_.argmax()
np.int64(0)
"""

from gramian.core.rows import Rows
from gramian.rfm import kept as kept  # what may stand in a model file
from gramian.rfm.classifier import RFMClassifier
from gramian.rfm.machine import KernelMachine
from gramian.rfm.regressor import RFMRegressor
from gramian.rfm.rounds import Problem, Round, rounds
from gramian.rfm.saving import load

__all__ = ["KernelMachine", "Problem", "RFMClassifier", "RFMRegressor", "Round", "Rows", "load", "rounds"]
