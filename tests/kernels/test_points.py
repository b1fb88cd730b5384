"""Squared distances of near pairs."""

import torch

from gramian.kernels.points import Points, squared_distances


def test_near_pairs_keep_their_digits(rng):
    X = torch.randn(50, 10, generator=rng, dtype=torch.float64)
    gap = 1e-7
    Z = X.clone()
    Z[:, 0] += gap
    square = squared_distances(Points(X), Points(Z)).square.diagonal()
    torch.testing.assert_close(square.sqrt(), (Z - X)[:, 0], rtol=1e-9, atol=0)
