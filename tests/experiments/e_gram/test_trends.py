"""Order and shape of short curves, beside scipy."""

import numpy as np
import pytest
from scipy import stats

from gramian.experiments.e_gram.trends import kendall, straightness


def test_trends_equal_those_of_scipy():
    x, y = np.random.default_rng(0).normal(size=(2, 12))
    assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)
    assert straightness(x, y) == pytest.approx(stats.linregress(x, y).rvalue ** 2)
    assert kendall(x, x**3) == 1.0
    assert kendall(x, -x) == -1.0
    assert kendall([1, 2, 3], [5, 5, 5]) == 0.0
