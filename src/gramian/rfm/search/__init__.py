"""Search for kernels, bandwidths, ridges and updates with optuna, an optional extra (``gramian[search]``).

Contents: :class:`RFMSearch` is an estimator that searches on folds and refits the best parameters on all rows;
:func:`published_space` is the search space of xRFM's published results, and the default. Every trial is one kernel with
one ridge. Its rounds run on all folds at the same time; after each round the mean score on held-out rows is reported,
and a trial below the median of the others is stopped. The number of rounds is therefore selected without searching.

May import the estimators (:mod:`gramian.rfm.estimator`) and everything below them.

>>> import numpy as np
>>> from gramian import RFMRegressor
>>> from gramian.rfm.search import RFMSearch
>>> X = np.random.default_rng(0).normal(size=(60, 3))
>>> search = RFMSearch(RFMRegressor(preset="fast"), n_trials=3, n_rounds=1, cv=2).fit(X, X[:, 0] ** 2)
>>> search.best_score_ >= search.own_score_
True
"""

from gramian.rfm.search.search import RFMSearch
from gramian.rfm.search.space import published_space

__all__ = ["RFMSearch", "published_space"]
