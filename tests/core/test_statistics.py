"""Paired comparison of errors, Wilson's interval, effective rows."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from gramian.core.statistics import effective_rows, wilson_interval, within_standard_error


@pytest.mark.parametrize(("hits", "count"), [(0, 10), (3, 10), (10, 10), (70, 100)])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_wilsons_interval_is_that_of_scipy(hits, count, level):
    low, high = wilson_interval(hits / count, count, level)
    expected = binomtest(hits, count).proportion_ci(level, method="wilson")
    assert float(low) == pytest.approx(expected.low, abs=1e-12)
    assert float(high) == pytest.approx(expected.high, abs=1e-12)


def test_intervals_of_arrays_are_those_of_their_entries():
    low, high = wilson_interval([0.1, 0.5], [10, 20], 0.9)
    for i, (share, count) in enumerate([(0.1, 10), (0.5, 20)]):
        assert (low[i], high[i]) == wilson_interval(share, count, 0.9)


def test_errors_within_one_standard_error_of_the_difference(rng):
    """With equal shares the standard error of the mean difference is its standard deviation over √n."""
    gap = torch.randn(50, generator=rng, dtype=torch.float64)
    gap = (gap - gap.mean()) / float(gap.std(unbiased=False))
    share, best = torch.full((50,), 1 / 50, dtype=torch.float64), torch.zeros(50, dtype=torch.float64)
    error = 1 / math.sqrt(50)
    assert within_standard_error(gap + 0.99 * error, best, share)
    assert not within_standard_error(gap + 1.01 * error, best, share)
    assert within_standard_error(best, best, share)
    assert within_standard_error(gap + 2.99 * error, best, share, times=3)
    assert not within_standard_error(gap + 3.01 * error, best, share, times=3)


def test_effective_rows_count_equal_weights_and_ignore_their_scale():
    assert effective_rows(np.full(7, 3.0)) == pytest.approx(7)
    weights = np.array([1.0, 2.0, 0.5])
    assert effective_rows(10 * weights) == pytest.approx(effective_rows(weights))
    assert 1 < effective_rows(weights) < 3
