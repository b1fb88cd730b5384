"""Selection of centres."""

import pytest
import torch

from gramian.core.rows import MemoryRows, Rows
from gramian.kernels import Identity, Laplace
from gramian.solvers.centers import choose_centers


def test_the_weights_of_centres_are_the_rows_they_represent(rng):
    """Weighted by what they speak for, centres have the mean of all rows, however they were drawn."""
    X = torch.cat([torch.randn(3000, 2, generator=rng), 6 + torch.randn(100, 2, generator=rng)])
    source = MemoryRows(Rows(X, torch.zeros(len(X), 1).double()))
    drawn = [choose_centers(Laplace(1.0), Identity(2), source, 300, "leverage", 0.1, seed) for seed in range(10)]
    far = [float(c.weights[c.X[:, 0] > 3].sum()) for c in drawn]
    assert sum(far) / 10 == pytest.approx(100, rel=0.25)
    count = sum(int((c.X[:, 0] > 3).sum()) for c in drawn) / 10
    assert count > 1.3 * 300 * 100 / 3100  # rows that nobody speaks for are drawn more often
