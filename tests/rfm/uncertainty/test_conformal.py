"""Conformal quantiles: the coverage that is stated, for rows that can be exchanged."""

import numpy as np
import pytest

from gramian.rfm.uncertainty.conformal import check_coverage, conformal_quantile


def test_the_conformal_quantile_counts_the_new_row():
    scores = np.random.default_rng(0).normal(size=99)
    assert conformal_quantile(scores, np.ones(99), 0.9) == np.sort(scores)[89]
    assert conformal_quantile(np.repeat(scores, 2), np.ones(198), 0.9) == pytest.approx(
        conformal_quantile(scores, np.full(99, 2.0), 0.9), abs=0.2
    )


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_a_new_score_is_covered_as_often_as_stated(coverage):
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(4000, 40))
    hits = [row[-1] <= conformal_quantile(row[:-1], np.ones(39), coverage) for row in draws]
    assert np.mean(hits) == pytest.approx(coverage, abs=0.025)


def test_too_few_scores_give_an_infinite_quantile():
    assert conformal_quantile(np.arange(8.0), np.ones(8), 0.9) == np.inf
    assert conformal_quantile(np.arange(9.0), np.ones(9), 0.9) == 8.0


def test_a_row_without_weight_does_not_count():
    scores = np.arange(20.0)
    weights = np.where(scores < 10, 1.0, 1e-12)
    assert conformal_quantile(scores, weights, 0.8) <= 10


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_scores_of_several_rows_are_as_many_scores(coverage):
    rng = np.random.default_rng(2)
    scores, counts = rng.normal(size=12), rng.integers(1, 9, size=12)
    expected = conformal_quantile(scores.repeat(counts), np.ones(counts.sum()), coverage)
    for unit in (1.0, 0.5):
        assert conformal_quantile(scores, unit * counts, coverage, counts.astype(float)) == expected


@pytest.mark.parametrize("coverage", [0, 1, 95, -0.1, float("nan")])
def test_a_coverage_that_is_no_share_is_refused(coverage):
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        check_coverage(coverage)
