"""Order and shape of short curves, beside scipy."""

import numpy as np
import pytest
from scipy import stats

from gramian.experiments.e_gram.trends import fits_better, kendall, straightness


def test_trends_equal_those_of_scipy():
    x, y = np.random.default_rng(0).normal(size=(2, 12))
    assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)
    assert straightness(x, y) == pytest.approx(stats.linregress(x, y).rvalue ** 2)
    assert kendall(x, x**3) == 1.0
    assert kendall(x, -x) == -1.0
    assert kendall([1, 2, 3], [5, 5, 5]) == 0.0


def test_a_falling_or_peaked_curve_does_not_fit():
    x = np.arange(1.0, 20)
    assert fits_better(np.log(x), x, np.log(x), np.log(x)) > 0
    assert fits_better(np.log(x), x, -np.log(x), -np.log(x)) < -1.8
    assert fits_better(np.log(x), x, -x, -x) < -1.5  # nearer to a line in x, which is negative too
    peak = -((x - 6) ** 2)
    assert fits_better(np.log(x), x, peak, peak) < 0
    assert fits_better(x, np.log(x), x, 2 * x) == pytest.approx(0.1, abs=0.02)
