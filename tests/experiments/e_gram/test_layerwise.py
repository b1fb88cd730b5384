"""The profile of a network: its parts against definitions."""

import numpy as np
import pytest
import torch

from gramian.experiments.e_gram import layerwise
from gramian.experiments.e_gram.small_nets import perceptron


def test_the_profile_of_a_small_network(rng):
    spec = layerwise.Interpolation(20, 5, 6, 10, segments=5)
    X, y = layerwise.task(spec, rng)
    assert float(y.mean()) == pytest.approx(0, abs=1e-12)
    torch.testing.assert_close(X.norm(dim=1), torch.ones(20, dtype=torch.float64))
    model = perceptron((5, 6, 6, 1), "relu", rng, bias=False, dtype=torch.float64)
    profile = layerwise.measure(model, X, y, spec.segments, rng)
    Z = X @ model[0].weight.detach().T
    assert profile.surrogate[0] == pytest.approx(float((Z.T @ y).square().sum().log()))
    fitted = X @ torch.linalg.lstsq(X, y[:, None]).solution
    error = float((y[:, None] - fitted).square().sum() / y.square().sum())
    assert profile.linearity[0] == pytest.approx(1 - error, rel=1e-9)
    assert profile.nfa[-1] == pytest.approx(1)  # the readout: WᵀW is the AGOP
    assert profile.crossings[-1] == 0
    assert 0 < profile.lemma <= 1
    assert np.isfinite(profile.surrogate).all()
