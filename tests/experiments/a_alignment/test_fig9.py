"""Fig. 9 on images: missing data, and the formula for corrupted kernels."""

import math

import pytest
import torch

from gramian.core import pearson
from gramian.experiments.a_alignment import fig9
from gramian.experiments.a_alignment.fig9 import corrupted_pearson
from gramian.nets.alignment import congruence, corrupted_ptk


def test_missing_images_name_the_environment_variable_of_the_data_folder(monkeypatch):
    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="GRAMIAN_DATA"):
        fig9.run(fig9.ImageNetwork("mnist"), 0)


@pytest.mark.parametrize(("spread", "power"), [(0.1, 2.0), (0.5, 2.0), (0.5, 0.5)])
def test_the_formula_predicts_the_correlation_left_by_random_eigenvectors(spread, power):
    rng = torch.Generator().manual_seed(0)
    k, pixels = 48, 2000
    norms = torch.exp(spread * torch.randn(pixels, generator=rng, dtype=torch.float64))
    W = torch.nn.functional.normalize(torch.randn(k, pixels, generator=rng, dtype=torch.float64), dim=0) * norms
    K = torch.diag(torch.arange(1, k + 1, dtype=torch.float64) ** -power)
    nfm = W.square().sum(0)
    drawn = [pearson(nfm, congruence(W, corrupted_ptk(K, rng)).diagonal()) for _ in range(10)]
    contrast, participation = float(nfm.std() / nfm.mean()), float(K.trace() ** 2 / K.square().sum())
    assert math.fsum(drawn) / 10 == pytest.approx(corrupted_pearson(contrast, participation, k), abs=0.02)
