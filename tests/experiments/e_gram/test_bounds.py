"""Kantorovich's ratio."""

import pytest
import torch

from gramian.experiments.e_gram import bounds


def test_kantorovich_against_eigenvalues(rng):
    values, y = torch.tensor([0.5, 2.0, 5.0], dtype=torch.float64), torch.randn(3, generator=rng, dtype=torch.float64)
    Q = torch.linalg.qr(torch.randn(3, 3, generator=rng, dtype=torch.float64))[0]
    c = (Q.mT @ y).square()
    expected = (c * values).sum() * (c / values).sum() / (5.5**2 / 10 * c.sum() ** 2)
    assert bounds.kantorovich(Q @ torch.diag(values) @ Q.mT, y) == pytest.approx(float(expected), rel=1e-12)
