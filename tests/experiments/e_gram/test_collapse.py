"""The saturation of the surrogate is a cosine between n × n matrices."""

import pytest
import torch

from gramian.core import cosine
from gramian.experiments.e_gram import collapse


def test_saturation_is_the_cosine_of_the_gram_matrices(rng):
    Z, Y = (torch.randn(9, k, generator=rng, dtype=torch.float64) for k in (4, 3))
    A, B = (M - M.mean(0) for M in (Z, Y))
    assert collapse.saturation(Z, Y) == pytest.approx(cosine(A @ A.mT, B @ B.mT), rel=1e-12)


def test_a_simplex_saturates_and_noise_does_not(rng):
    assert collapse.saturation(*collapse.simplex(100, rng)) == pytest.approx(1, abs=1e-12)
    assert collapse.saturation(*collapse.simplex(100, rng, spread=0.5)) < 0.9
