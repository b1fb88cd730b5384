"""Paired comparison of two models: the same rows for both, differences within splits, verdicts."""

import math

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from gramian import RFMRegressor
from gramian.demo import PairedComparison, ScoreEstimate, compare


def comparison(ridge, rfm) -> PairedComparison:
    return PairedComparison("accuracy", tuple(ridge), tuple(rfm), model=None, best_rounds=(0,) * len(rfm))


def test_estimate_is_mean_and_standard_error():
    values = [0.2, 0.5, 0.9, 0.4]
    estimate = ScoreEstimate.of(values)
    assert estimate.mean == pytest.approx(0.5)
    assert estimate.error == pytest.approx(np.std(values, ddof=1) / 2)
    assert math.isnan(ScoreEstimate.of([1.0]).error)


def test_the_difference_is_paired():
    gain = comparison([0.1, 0.9], [0.2, 1.0]).gain
    assert gain.mean == pytest.approx(0.1)
    assert gain.error == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("ridge", "rfm", "verdict"),
    [
        ([0.5, 0.5], [0.6, 0.6], "better"),
        ([0.6, 0.6], [0.5, 0.5], "worse"),
        ([0.5, 0.5], [0.5, 0.5], "a tie"),
        ([0.5, 0.5, 0.5], [0.4, 0.7, 0.5], "a tie"),
        ([0.5, 0.5, 0.5], [0.52, 0.54, 0.56], "a tie"),  # 3.5 standard errors, of three splits
        ([0.5] * 6, [0.52, 0.54, 0.56] * 2, "better"),
    ],
)
def test_the_verdict_is_a_tie_if_the_interval_contains_zero(ridge, rfm, verdict):
    assert comparison(ridge, rfm).verdict == verdict


def test_one_split_proves_nothing():
    assert comparison([0.5], [0.9]).verdict == "a tie"


def test_compare_fits_both_on_the_same_rows(rng):
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = X[:, 0] * X[:, 1]
    model = RFMRegressor(n_rounds=2, update="agop", kernel="gaussian")
    ticks = []
    parts = [(X[:40], y[:40], X[40:], y[40:]), (X[40:], y[40:], X[:40], y[:40])]
    result = compare(model, parts, "R²", lambda: ticks.append(1))
    assert len(ticks) == 4
    plain = RFMRegressor(n_rounds=0, update="agop", kernel="gaussian").fit(X[:40], y[:40])
    assert result.ridge_scores[0] == plain.score(X[40:], y[40:])
    assert result.rfm_scores[0] == result.model.score(X[40:], y[40:])
    assert not hasattr(model, "machine_"), "the caller's model stays unfitted"


def test_compare_needs_a_split():
    with pytest.raises(ValueError, match="splits must"):
        compare(Ridge(), [], "R²", lambda: None)
