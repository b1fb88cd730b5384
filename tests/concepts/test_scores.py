"""Shares of correctly ordered pairs equal scikit-learn's AUC, and intervals cover differences as they should."""

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from gramian.concepts.scores import auc, auc_interval, paired_interval, resampled_auc


def sample(n=80, c=1, seed=0):
    rng = torch.Generator().manual_seed(seed)
    Y = (torch.rand(n, c, generator=rng) > 0.5).float()
    return Y, Y + torch.randn(n, c, generator=rng)


@pytest.mark.parametrize("c", [1, 3])
def test_auc_equals_that_of_scikit_learn_with_ties(c):
    Y, scores = sample(c=c)
    scores = (scores * 3).round()
    expected = np.mean([roc_auc_score(Y[:, j], scores[:, j]) for j in range(c)])
    assert auc(scores, Y) == pytest.approx(expected, abs=1e-12)


def test_probabilities_of_0_and_1_are_classes_and_grades_give_kendalls_order():
    Y, scores = sample()
    assert auc(scores, Y, "soft") == auc(scores, Y)
    grades = torch.rand(80, 1, generator=torch.Generator().manual_seed(1))
    tau = kendalltau(grades[:, 0], scores[:, 0]).statistic
    assert auc(scores, grades, "graded") == pytest.approx((tau + 1) / 2)
    # Expected AUC over labels drawn from the probabilities.
    rng = torch.Generator().manual_seed(2)
    drawn = (torch.rand(80, 400, generator=rng) < grades).float()
    mean = np.mean([auc(scores, drawn[:, j : j + 1]) for j in range(400)])
    assert auc(scores, grades, "soft") == pytest.approx(mean, abs=5e-3)


def test_resamplings_are_those_of_rows():
    Y, scores = sample(n=30)
    counts = np.random.default_rng(5).multinomial(30, np.full(30, 1 / 30), size=4)
    expected = []
    for count in counts:
        rows = np.repeat(np.arange(30), count)
        expected.append(roc_auc_score(Y[rows, 0], scores[rows, 0]))
    np.testing.assert_allclose(resampled_auc(scores, Y, "classes", resamples=4, seed=5), expected)


def test_intervals_contain_the_value_and_pairing_makes_them_narrow():
    Y, scores = sample(n=200)
    one = auc_interval(scores, Y)
    assert one.low < one.value < one.high
    nearly = scores + 0.01 * torch.randn(200, 1, generator=torch.Generator().manual_seed(3))
    paired = paired_interval(scores, nearly, Y)
    assert paired.low <= paired.value <= paired.high
    assert paired.high - paired.low < 0.2 * (one.high - one.low)
