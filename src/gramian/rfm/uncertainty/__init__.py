"""Uncertainty of predictions from held-out rows: calibrated probabilities, conformal intervals and sets, reliability.

May import ``core``, ``kernels``, ``solvers``, ``tables``, ``display`` and :mod:`gramian.rfm.machine`.

>>> import numpy as np
>>> from gramian.rfm.uncertainty.conformal import conformal_quantile
>>> conformal_quantile(np.arange(1.0, 10.0), np.ones(9), 0.8)
8.0
"""
