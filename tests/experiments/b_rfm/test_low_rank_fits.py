"""Networks for targets of low rank."""

import pytest
import torch

from gramian.experiments.b_rfm import low_rank_fits as f
from gramian.experiments.stacked import Descent


def rows(n=30, d=3, seed=0):
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return X, (X[:, 0] * X[:, 1])[:, None]


def test_a_network_is_trained_from_a_small_first_layer():
    X, Y = rows(40)
    start = f.network(X, Y, (64,), Descent(0.1), epochs=0, seed=3, first_std=1e-3)
    assert float(start.weights[0].std()) == pytest.approx(1e-3, rel=0.2)
    end = f.network(X, Y, (64,), Descent(0.1), epochs=400, seed=3, first_std=1e-3)
    assert f.r2(end.outputs(X.float())[0], Y) > 0.5 > f.r2(start.outputs(X.float())[0], Y)
    V = end.weights[0][0].double()
    torch.testing.assert_close(f.first_gram(end), V @ V.mT)
    assert f.share(f.first_gram(end), 2) > 0.8
