"""Conformal quantiles."""

import numpy as np
import pytest

from gramian.rfm.uncertainty.conformal import conformal_quantile


def test_the_conformal_quantile_counts_the_new_row():
    scores = np.random.default_rng(0).normal(size=99)
    assert conformal_quantile(scores, np.ones(99), 0.9) == np.sort(scores)[89]
    assert conformal_quantile(np.repeat(scores, 2), np.ones(198), 0.9) == pytest.approx(
        conformal_quantile(scores, np.full(99, 2.0), 0.9), abs=0.2
    )
