"""The share of a matrix that is circulant."""

import pytest
import torch

from gramian.experiments.d_fact import modular


def test_the_circulant_share_of_random_and_of_circulant_matrices():
    rng = torch.Generator().manual_seed(0)
    p = 31
    noise = torch.randn(p, p, generator=rng, dtype=torch.float64)
    assert modular.circulant_share(noise) == pytest.approx(1 / p, abs=0.03)
    first = torch.randn(p, generator=rng, dtype=torch.float64)
    i = torch.arange(p)
    circulant = first[(i[:, None] - i) % p]
    assert modular.circulant_share(circulant) == pytest.approx(1)
    assert modular.circulant_share(circulant.flip(1)) < 0.2
