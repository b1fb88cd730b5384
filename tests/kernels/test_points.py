"""Squared distances of near pairs."""

import torch

from gramian.kernels import points
from gramian.kernels.points import Points, squared_distances


def test_near_pairs_keep_their_digits(rng):
    X = torch.randn(50, 10, generator=rng, dtype=torch.float64)
    gap = 1e-7
    Z = X.clone()
    Z[:, 0] += gap
    square = squared_distances(Points(X), Points(Z)).square.diagonal()
    torch.testing.assert_close(square.sqrt(), (Z - X)[:, 0], rtol=1e-9, atol=0)


def test_near_pairs_have_the_same_distances_whether_they_are_few_or_many(rng, monkeypatch):
    """A row's prediction must not depend on how many of the others are near a training row."""
    for k in (1, 3, 8, 37, 1000):
        z = torch.randn(40, k, generator=rng, dtype=torch.float64)
        x = Points(z + 1e-9 * torch.randn(40, k, generator=rng, dtype=torch.float64))
        found = {}
        for share in (1, 10**9):
            monkeypatch.setattr(points, "_NEAR_SHARE", share)
            found[share] = squared_distances(x, Points(z)).square
        assert torch.equal(found[1], found[10**9])
