"""The laws behind the explanations of paper A's differences."""

import math

import pytest
import torch

from gramian.core import pearson
from gramian.experiments.a_alignment import fig2_why
from gramian.experiments.a_alignment.fig9 import corrupted_pearson
from gramian.nets.alignment import congruence, corrupted_ptk


@pytest.mark.parametrize(("spread", "power"), [(0.1, 2.0), (0.5, 2.0), (0.5, 0.5)])
def test_chance_leaves_the_correlation_that_contrast_and_participation_say(spread, power):
    rng = torch.Generator().manual_seed(0)
    k, pixels = 48, 2000
    norms = torch.exp(spread * torch.randn(pixels, generator=rng, dtype=torch.float64))
    W = torch.nn.functional.normalize(torch.randn(k, pixels, generator=rng, dtype=torch.float64), dim=0) * norms
    K = torch.diag(torch.arange(1, k + 1, dtype=torch.float64) ** -power)
    nfm = W.square().sum(0)
    drawn = [pearson(nfm, congruence(W, corrupted_ptk(K, rng)).diagonal()) for _ in range(10)]
    contrast, participation = float(nfm.std() / nfm.mean()), float(K.trace() ** 2 / K.square().sum())
    assert math.fsum(drawn) / 10 == pytest.approx(corrupted_pearson(contrast, participation, k), abs=0.02)


def test_ranges_are_named_by_the_scale_that_changes():
    spec = fig2_why.SecondLayer(((0.1, 1.0), (0.1, 0.01)), 20, n=32, d=8, width=16)
    numbers = fig2_why.run(spec, 0).numbers
    ends = [value for name, value in numbers.items() if name.endswith("UC-NFA")]
    assert numbers["20 steps, range over s₁"] == pytest.approx(max(ends) - min(ends))
    assert all(value > 0 for name, value in numbers.items() if name.endswith("moved"))
