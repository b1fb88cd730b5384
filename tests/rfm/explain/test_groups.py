"""Groups of correlated columns."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from gramian import RFMRegressor
from gramian.rfm.explain.groups import correlated_groups, rank_correlations

QUICK = {"preset": "fast", "n_rounds": 0}


def test_correlations_of_numbers_are_spearmans():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[:, 3] = np.round(X[:, 0] + X[:, 1])  # with ties
    model = RFMRegressor(**QUICK).fit(X, X[:, 0]).model_
    np.testing.assert_allclose(rank_correlations(model), np.abs(spearmanr(X).statistic), atol=1e-6)


def test_a_number_that_is_a_function_of_a_category_is_in_its_group():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    towns = rng.integers(0, 6, size=200)
    frame = pd.DataFrame(
        {"town": np.array(list("abcdef"))[towns], "index": rng.normal(size=6)[towns], "other": rng.normal(size=200)}
    )
    assert correlated_groups(RFMRegressor(**QUICK).fit(frame, frame["index"]).model_) == ((0, 1),)


def test_many_levels_of_few_rows_are_correlated_with_nothing():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"level": [f"l{i % 25}" for i in range(75)], "x": rng.normal(size=75)})
    assert correlated_groups(RFMRegressor(**QUICK).fit(frame, frame["x"]).model_) == ()


def test_every_pair_of_a_group_is_correlated():
    """A chain: neighbours are correlated, the ends are not."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(400, 8)) * [1, *[0.45] * 7], axis=1)
    model = RFMRegressor(**QUICK).fit(X, X[:, 0]).model_
    R = rank_correlations(model)
    groups = correlated_groups(model)
    assert groups
    assert R[0, 7] < 0.85 < R[0, 1]
    for group in groups:
        assert R[np.ix_(group, group)].min() > 0.85
    assert sum(map(len, groups)) <= 8


def test_one_column_has_no_group():
    X = np.arange(20.0)[:, None]
    assert correlated_groups(RFMRegressor(**QUICK).fit(X, X[:, 0]).model_) == ()
