"""Cosines with all powers of a matrix from its eigenvalues."""

import math

import pytest
import torch

from gramian.core import cosine, psd_power
from gramian.nets.power_family import PowerCosines, PowerFamily

RNG = torch.Generator().manual_seed(0)


def test_cosines_are_those_of_the_powers():
    A, B = (M @ M.mT for M in torch.randn(2, 4, 4, generator=RNG, dtype=torch.float64))
    values, V = torch.linalg.eigh(B)
    found = PowerCosines(values, (V * (A @ V)).sum(0), float(A.norm()))
    for power in (0.1, 0.5, 1.0, 2.0):
        assert found.cosine(power) == pytest.approx(cosine(A, psd_power(B, power)), abs=1e-9)
    power, best = found.best()
    assert best == pytest.approx(found.cosine(power))
    assert best >= max(found.cosine(float(s)) for s in torch.logspace(-1.6, 0.47, 200)) - 1e-6


def test_zero_matrices_have_no_cosine():
    nothing = PowerCosines(torch.empty(0), torch.empty(0), 1.0)
    assert math.isnan(nothing.cosine(1.0))
    assert math.isnan(nothing.best()[1])
    assert math.isnan(PowerCosines(torch.ones(1), torch.ones(1), 0.0).cosine(0.5))
    assert math.isnan(PowerFamily(nothing, torch.empty(0), 0.0, 4, ()).pearson(1.0))
