"""Baselines equal their definitions and scikit-learn's, and folds never read held-out labels."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from gramian.concepts.baselines import BASELINES, baseline, logistic
from gramian.concepts.row_space import RowSpace


def sample(n=60, d=90):
    rng = torch.Generator().manual_seed(0)
    y = (torch.arange(n) % 2).double()[:, None]
    X = torch.randn(n, d, generator=rng)
    X[:, 0] += 2 * y[:, 0]
    folds = [(torch.arange(n)[torch.arange(n) % 5 != k], torch.arange(n)[torch.arange(n) % 5 == k]) for k in range(5)]
    return X, RowSpace.of(X), y, folds


def test_logistic_regressions_are_those_of_scikit_learn():
    _, space, y, _ = sample()
    Z = space.Z / space.Z.square().sum(dim=1).mean().sqrt()
    masks = torch.stack([torch.ones(60, dtype=torch.bool), torch.arange(60) % 5 != 0])
    penalties = torch.tensor([1.0, 10.0], dtype=torch.float64)
    W, bias = logistic(Z, y[:, 0], masks, penalties)
    for k in range(2):
        peer = LogisticRegression(C=1 / float(penalties[k]), tol=1e-10, max_iter=5000)
        peer.fit(Z[masks[k]].numpy(), y[masks[k], 0].numpy())
        np.testing.assert_allclose(W[:, k], peer.coef_[0], atol=2e-3)
        assert float(bias[k]) == pytest.approx(float(peer.intercept_[0]), abs=2e-3)


def test_directions_in_the_coordinates_of_the_rows():
    X, space, y, folds = sample()
    X, on = X.double(), y[:, 0] > 0
    found = {
        name: space.back(X.float(), baseline(name, space.Z, y, folds).weights)[:, 0].double() for name in BASELINES
    }
    difference = X[on].mean(dim=0) - X[~on].mean(dim=0)
    assert float(torch.cosine_similarity(found["mean_difference"], difference, dim=0)) > 0.9999
    leading = torch.linalg.svd(X - X.mean(dim=0)).Vh[0]
    assert float(torch.cosine_similarity(found["pca"], leading, dim=0).abs()) > 0.999
    for vector in found.values():  # the sign comes from the labels
        assert float((X[on] @ vector).mean()) > float((X[~on] @ vector).mean())


@pytest.mark.parametrize("name", BASELINES)
def test_a_held_out_label_is_not_read_by_its_fold(name):
    _, space, y, folds = sample()
    changed = y.clone()
    changed[folds[0][1]] = 1 - changed[folds[0][1]]
    first, second = (baseline(name, space.Z, labels, folds[:1]).outputs[folds[0][1]] for labels in (y, changed))
    if name == "logistic":  # one ridge for all rows of the fold: outputs may differ by it, but not in their order
        assert float(torch.corrcoef(torch.stack([first[:, 0], second[:, 0]]))[0, 1]) > 0.9
    else:
        assert torch.equal(first, second)
    with pytest.raises(ValueError, match="baseline must be one of"):
        baseline("ridge", space.Z, y, folds)
