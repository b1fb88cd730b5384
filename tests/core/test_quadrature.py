"""Gauss–Legendre quadrature on [0, 1]."""

import numpy as np
import pytest

from gramian.core.quadrature import gauss_legendre


@pytest.mark.parametrize("nodes", [1, 2, 5, 12])
def test_polynomials_up_to_degree_2n_minus_1_are_integrated_exactly(nodes):
    t, w = map(np.array, gauss_legendre(nodes))
    assert ((t > 0) & (t < 1)).all()
    for degree in range(2 * nodes):
        assert w @ t**degree == pytest.approx(1 / (degree + 1), rel=1e-12)
