"""Groups of columns that carry nearly the same information: how they share importance is not determined by the data."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata

from gramian.rfm.model import FittedRFM

CORRELATED = 0.85
"""Rank correlation from which two columns are in one group."""
_ROWS, _COLUMNS = 1000, 300
"""Training rows from which correlations are computed, and columns up to which they are, at most."""

Groups = tuple[tuple[int, ...], ...]


def correlated_groups(model: FittedRFM, least: float = CORRELATED) -> Groups:
    """Return groups of at least two of the user's columns, in which every pair has a rank correlation above ``least``.

    The correlation of two numbers is Spearman's. A column of several encoded ones (the levels of a category) has the
    multiple correlation with the ranks of the other column, adjusted for the number of encoded columns: a number that
    is a function of a category is correlated with it. Groups are found by complete linkage; there are none in a table
    of more than 300 columns.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:, 2] = np.exp(X[:, 0])
    >>> correlated_groups(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 1]).model_)
    ((0, 2),)
    """
    p = len(model.columns.names)
    if not 2 <= p <= _COLUMNS:
        return ()
    R = rank_correlations(model)
    labels = fcluster(linkage(squareform(1 - R, checks=False), "complete"), 1 - least, "distance")
    members = [tuple(np.flatnonzero(labels == label).tolist()) for label in dict.fromkeys(labels.tolist())]
    return tuple(sorted(group for group in members if len(group) > 1))


def rank_correlations(model: FittedRFM) -> Float[np.ndarray, "p p"]:
    """Return the absolute rank correlations of the user's columns, from at most 1,000 of the model's training rows.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> rows = [[i, "low" if i < 20 else "high"] for i in range(40)]
    >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(rows, np.arange(40.0)).model_
    >>> rank_correlations(model).round(2)
    array([[1.  , 0.87],
           [0.87, 1.  ]])
    """
    Z, _ = model.center_rows(_ROWS)
    blocks = [_standardised(rankdata(Z[:, model.columns.groups == q], axis=0)) for q in range(len(model.columns.names))]
    R = np.eye(len(blocks))
    single = [q for q, block in enumerate(blocks) if block.shape[1] == 1]
    if single:
        plain = np.hstack([blocks[q] for q in single])
        R[np.ix_(single, single)] = np.abs(plain.T @ plain)
    for a, block in enumerate(blocks):
        if block.shape[1] < 2:
            continue
        basis, rank = _basis(block)
        for b, other in enumerate(blocks):
            if b != a and other.shape[1]:
                R[a, b] = R[b, a] = max(R[a, b], _multiple(basis, rank, other))
    np.fill_diagonal(R, 1.0)
    return R.clip(0.0, 1.0)


def _standardised(ranks: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n r"]:
    """Return columns of mean 0 and length 1; those that are constant are left out."""
    centred = ranks - ranks.mean(axis=0)
    size = np.linalg.norm(centred, axis=0)
    varies = size > 0
    out: Float[np.ndarray, "n r"] = centred[:, varies] / size[varies]
    return out


def _basis(block: Float[np.ndarray, "n q"]) -> tuple[Float[np.ndarray, "n r"], int]:
    U, values, _ = np.linalg.svd(block, full_matrices=False)
    rank = int((values > 1e-8 * values[0]).sum())
    return U[:, :rank], rank


def _multiple(basis: Float[np.ndarray, "n r"], rank: int, other: Float[np.ndarray, "n q"]) -> float:
    """Return the adjusted multiple correlation of columns with a basis, of columns of length 1."""
    n = len(basis)
    explained = float(np.square(basis.T @ other).sum()) / other.shape[1]
    if rank >= n - 1:
        return 0.0
    return float(np.sqrt(max(0.0, 1 - (1 - explained) * (n - 1) / (n - 1 - rank))))
